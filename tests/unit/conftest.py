"""What tests of one module share lies beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder
