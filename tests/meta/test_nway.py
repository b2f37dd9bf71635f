"""Random cases reach each value of each dimension, and nothing that is called impossible.

The quick form of benchmarks.generators.nway.
"""

from __future__ import annotations

from itertools import islice

import pytest

from mergecheck.harness.coverage.nway.case_values import values_of
from mergecheck.harness.coverage.nway.counting import pairs_together, threes_together
from mergecheck.harness.coverage.nway.dimensions import DIMENSIONS, grouped
from mergecheck.harness.coverage.nway.impossible import PAIRS, THREES
from mergecheck.reference.merge_reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, samples

NUM_CASES = 400
SEED = 27


@pytest.fixture(scope="module")
def cases() -> tuple[frozenset[str], ...]:
    """What the cases have that the reference can judge."""
    reference = MergeReference()
    found = (values_of(drawn.case, reference) for drawn in islice(samples(SEED, profile=FULL_PROFILE), NUM_CASES))
    return tuple(values for values in found if values is not None)


def test_each_value_occurs(cases: tuple[frozenset[str], ...]) -> None:
    """Also the coarse ones."""
    seen = {value for case in cases for coarse in (False, True) for value in grouped(case, coarse=coarse)}
    assert {value for each in DIMENSIONS for value in (*each.pairs(), *each.threes())} - seen == set()


def test_nothing_impossible_occurs(cases: tuple[frozenset[str], ...]) -> None:
    """The table of what cannot be is true, for pairs and for threes."""
    fine = [grouped(case, coarse=False) for case in cases]
    coarse = [grouped(case, coarse=True) for case in cases]
    assert pairs_together(fine, [each.pairs() for each in DIMENSIONS], PAIRS).contradicted == {}
    assert threes_together(coarse, [each.threes() for each in DIMENSIONS], (*PAIRS, *THREES)).contradicted == {}


def test_most_pairs_occur(cases: tuple[frozenset[str], ...]) -> None:
    """In 400 cases two in three of the possible pairs; 20,000 cases show all, often (docs/generators.md)."""
    found = pairs_together([grouped(case, coarse=False) for case in cases], [d.pairs() for d in DIMENSIONS], PAIRS)
    assert len(found.below(1)) < len(found.possible) / 3
