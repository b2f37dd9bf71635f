"""The merges of small scopes as cases for mutants."""

from __future__ import annotations

import itertools

from tools.selfcheck.catalogue import load_catalogue
from tools.selfcheck.fault import Area
from tools.selfcheck.scope_cases import of_rows, scope_cases


def test_scopes_take_turns_in_an_order_of_the_seed() -> None:
    first = [case.id for case in itertools.islice(scope_cases(("quick", "evolve"), 1), 6)]
    assert [name.partition("-")[0] for name in first] == ["quick", "evolve"] * 3
    assert first == [case.id for case in itertools.islice(scope_cases(("quick", "evolve"), 1), 6)]
    assert first[0] != next(scope_cases(("quick",), 2)).id


def test_mutants_of_rows_are_chosen() -> None:
    areas = {fault.area for fault in of_rows(load_catalogue())}
    assert areas == {Area.MATCHING, Area.CLAUSES, Area.INSERT_ONLY, Area.CDF, Area.METRICS}
