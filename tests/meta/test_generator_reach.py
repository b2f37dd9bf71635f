"""The generator reaches every line of the list of what real MERGE bugs needed; fixed streams, no engine."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.strategies import samples

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder

from generator_reach import BY_DESIGN, LINES, PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.strategies import DrawnCase

    Streams = Mapping[str, tuple[DrawnCase, ...]]

NUM_CASES = 1_200
SEED = 7
NUM_FAVOURED = {
    "ON over one side": 450,
    "assignments": 60,
    "duplicate source keys": 150,
    "many rows": 12,
    "partial expressions": 200,
    "refused or failing": 160,
}


@pytest.fixture(scope="module")
def streams() -> Streams:
    """Draw one stream per line that needs its own, and the default one under the empty name."""
    default = tuple(islice(samples(SEED), NUM_CASES))
    favoured = {
        line: tuple(islice(samples(SEED, profile=profile), NUM_FAVOURED[line])) for line, profile in PROFILES.items()
    }
    return {"": default, **favoured}


@pytest.mark.parametrize(("line", "item"), [(line, item) for line, items in LINES.items() for item in items])
def test_the_stream_contains_it(streams: Streams, line: str, item: str) -> None:
    """Each item of each line is there within the first cases of a stream."""
    stream = (*streams.get(line, ()), *streams[""])
    assert any(LINES[line][item](each) for each in stream)


def test_large_tables_are_rare_by_default(streams: Streams) -> None:
    """They cost Spark seconds: less than one in a hundred, and not none."""
    assert 0 < sum("rows:beyond-a-batch" in each.features for each in streams[""]) < NUM_CASES / 100


def test_what_is_out_of_reach_has_a_reason() -> None:
    """No line is on both lists, and each reason says something."""
    assert not BY_DESIGN.keys() & LINES.keys()
    assert all(len(reason.split()) > 4 for reason in BY_DESIGN.values())
