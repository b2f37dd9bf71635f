"""``python -m mergecheck``: the command line, also where the environment's scripts are not on the path."""

import sys
from pathlib import Path

if not sys.flags.safe_path and sys.path[:1] == [str(Path.cwd())]:
    del sys.path[0]  # -m puts the working folder first, and nothing else of it may hide an installed module

from mergecheck.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
