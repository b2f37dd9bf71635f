"""Random cases reach each value of each dimension, and nothing that is called impossible.

The quick form of tools.benchmarks.generators.nway.
"""

from __future__ import annotations

from itertools import islice

from mergecheck.reference.merge_reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, samples
from tools.nway.case_values import values_of
from tools.nway.counting import pairs_together, triples_together
from tools.nway.dimensions import DIMENSIONS, grouped
from tools.nway.impossible import PAIRS, TRIPLES

NUM_CASES = 400
SEED = 27


def test_values_and_pairs_of_random_cases() -> None:
    """Each value occurs, the coarse ones, too; what cannot be does not; and two in three of the possible pairs occur.

    20,000 cases show all pairs, often (docs/generators.md). One test, as the cases take half a minute to draw.
    """
    reference = MergeReference()
    found = (values_of(drawn.case, reference) for drawn in islice(samples(SEED, profile=FULL_PROFILE), NUM_CASES))
    cases = [values for values in found if values is not None]  # those that the reference can judge
    fine = [grouped(case, coarse=False) for case in cases]
    coarse = [grouped(case, coarse=True) for case in cases]
    possible = {value for each in DIMENSIONS for value in (*each.pairs(), *each.triples())}
    assert possible - {value for case in (*fine, *coarse) for value in case} == set()
    pairs = pairs_together(fine, [each.pairs() for each in DIMENSIONS], PAIRS)
    assert pairs.contradicted == {}
    assert triples_together(coarse, [each.triples() for each in DIMENSIONS], (*PAIRS, *TRIPLES)).contradicted == {}
    assert len(pairs.below(1)) < len(pairs.possible) / 3
