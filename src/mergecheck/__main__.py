"""``python -m mergecheck``: the command line, also where the environment's scripts are not on the path."""

import sys

from mergecheck.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
