"""Helpers of the tests of engines are modules beside them, and beside those of the command line."""

from __future__ import annotations

import sys
from pathlib import Path

# import mode importlib adds no folder
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cli")]
