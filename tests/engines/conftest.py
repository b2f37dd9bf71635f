"""Helpers of the tests of engines are modules next to them, and next to the command line's."""

from __future__ import annotations

import sys
from pathlib import Path

# import mode importlib adds no folder
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cli")]
