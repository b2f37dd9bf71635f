"""Multisets of rows against each other: equal or not, and which rows are likely the same with another cell."""

from __future__ import annotations

from typing import Any

import pytest

from mergecheck.harness.compare.rows import difference, same_rows
from mergecheck.model.types.ddl import parse_schema

FOUR = parse_schema("a INT, b INT, c INT, d INT")


@pytest.mark.parametrize(
    ("left", "right", "differs"),
    [
        ((), (), False),
        ((1, 2, 2), (2, 1, 2), False),
        ((1, 2), (1,), True),
        ((1,), (1, 2), True),
        ((1, 2, 2), (1, 1, 2), True),
        ((10, None), (11, None), True),
    ],
)
def test_bags_of_rows_are_equal_or_differ(left: Any, right: Any, differs: Any) -> None:
    """A row too many, one too few, or another number of the same is enough, to either side."""
    schema = parse_schema("a INT")
    multisets = [tuple((value,) for value in values) for values in (left, right)]
    assert same_rows(multisets[0], multisets[1], schema) is not differs
    assert bool(difference(multisets[0], multisets[1], wanted_schema=schema, found_schema=schema)) is differs


def test_missing_rows_are_in_natural_order() -> None:
    """NULL first, 9 before 10, NaN behind the numbers; a text after its own text."""
    schema = parse_schema("a DOUBLE, b STRING")
    rows = ((10.0, "b"), (float("nan"), "a"), (9.0, "z"), (None, "c"), (10.0, "a"), (-2.5, None))
    found = difference(rows, (), wanted_schema=schema, found_schema=schema).missing
    assert [repr(row) for row in found] == [repr(rows[i]) for i in (3, 5, 2, 4, 0, 1)]


def test_rows_with_most_equal_cells_are_paired_first() -> None:
    """Each row once: a pair of fewer equal cells does not take a row that a better one needs."""
    wanted, got = ((1, 1, 1, 1), (2, 2, 8, 8)), ((1, 1, 8, 8), (1, 1, 1, 9))
    differing = difference(wanted, got, wanted_schema=FOUR, found_schema=FOUR)
    assert (differing.missing, differing.extra) == ((), ())
    assert differing.changed == ((wanted[0], got[1]), (wanted[1], got[0]))


@pytest.mark.parametrize(
    ("wanted", "got", "tied", "pairs"),
    [
        ((1, 2, 3, 4), (1, 2, 8, 9), None, True),
        ((1, 2, 3, 4), (1, 7, 8, 9), None, False),
        ((1, 2, 3, 4), (1, 7, 8, 4), 3, False),
        ((1, 2, 3, 4), (1, 2, 8, 4), 3, True),
        ((1, 2, 3, 4), (1, 2, 3, 9), 3, False),
    ],
)
def test_half_of_the_free_cells_make_a_changed_row(wanted: Any, got: Any, tied: Any, pairs: Any) -> None:
    """The tied cell must be equal, and does not count."""
    differing = difference((wanted,), (got,), wanted_schema=FOUR, found_schema=FOUR, tied=tied)
    assert bool(differing.changed) is pairs
    assert bool(differing.missing) is bool(differing.extra) is not pairs


@pytest.mark.parametrize("tied", [None, 2])
def test_with_a_tied_cell_half_of_the_others_are_enough(tied: Any) -> None:
    """One of two others differs; of three, one would be too few."""
    schema = parse_schema("a INT, b INT, c INT")
    differing = difference(
        ((1, 2, 3),), ((1, 9, 3 if tied else 9),), wanted_schema=schema, found_schema=schema, tied=tied
    )
    assert bool(differing.changed) is bool(tied)
