"""Cases that the tests of the generator share: drawing them is what these tests spend their time on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder

from drawn_on_demand import DrawnOnDemand


@pytest.fixture(scope="session")
def default_stream() -> DrawnOnDemand:
    """Return the first cases of the default profile."""
    return DrawnOnDemand(1_600, seed=20)
