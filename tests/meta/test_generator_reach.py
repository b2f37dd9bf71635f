"""The generator reaches every line of the list of what real MERGE bugs needed; fixed streams, no engine."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from drawn_on_demand import DrawnOnDemand
from generator_reach import BY_DESIGN, LINES, PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping

    Streams = Mapping[str, DrawnOnDemand]

SEED = 7
NUM_FAVOURED = {
    "ON over one side": 450,
    "assignments": 60,
    "duplicate source keys": 150,
    "many rows": 18,
    "partial expressions": 200,
    "refused or failing": 260,
}


@pytest.fixture(scope="module")
def favoured() -> Streams:
    """Streams of the lines that need their own."""
    return {line: DrawnOnDemand(NUM_FAVOURED[line], seed=SEED, profile=profile) for line, profile in PROFILES.items()}


@pytest.mark.parametrize(("line", "item"), [(line, item) for line, items in LINES.items() for item in items])
def test_the_stream_contains_it(favoured: Streams, default_stream: DrawnOnDemand, line: str, item: str) -> None:
    """Each item of each line is there within the first cases of a stream."""
    assert any(LINES[line][item](each) for each in chain(favoured.get(line, ()), default_stream))


def test_what_is_out_of_reach_has_a_reason() -> None:
    """No line is on both lists, and no reason is empty."""
    assert not BY_DESIGN.keys() & LINES.keys()
    assert all(len(reason.split()) > 4 for reason in BY_DESIGN.values())
