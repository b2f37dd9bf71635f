"""The merges of small scopes as cases for mutants."""

from __future__ import annotations

import itertools

from tools.selfcheck.catalogue import load_catalogue
from tools.selfcheck.fault import Area
from tools.selfcheck.scope_cases import Scopes, of_rows


def test_scopes_take_turns_in_an_order_of_the_seed() -> None:
    first = [drawn.case.id for drawn in itertools.islice(Scopes(("quick", "evolve")).cases(1), 6)]
    assert [name.partition("-")[0] for name in first] == ["quick", "evolve"] * 3
    assert first == [drawn.case.id for drawn in itertools.islice(Scopes(("quick", "evolve")).cases(1), 6)]
    assert first[0] != next(Scopes(("quick",)).cases(2)).case.id


def test_a_statement_may_have_fewer_pairs() -> None:
    """The same ones for a seed; a piece of a statement has some of them."""
    few, again, others = (list(itertools.islice(Scopes(("quick",), 9).cases(seed), 4)) for seed in (1, 1, 2))
    assert few == again
    assert few != others
    assert {len(drawn.singles) or 1 for drawn in few} <= set(range(1, 10))


def test_mutants_of_rows_are_chosen() -> None:
    areas = {fault.area for fault in of_rows(load_catalogue())}
    assert areas == {Area.MATCHING, Area.CLAUSES, Area.INSERT_ONLY, Area.CDF, Area.METRICS}
