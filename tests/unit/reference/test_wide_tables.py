"""Wide tables: the reference's work grows with the columns, and not with their pairs."""

from __future__ import annotations

import sys
from itertools import combinations

import pytest

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.reference.analysis.values.assignments import first_conflict

_HEAD = "MERGE INTO target t USING source s ON t.c0 = s.c0 WHEN MATCHED THEN UPDATE SET"


def _calls(num_columns: int, assigned: str) -> int:
    """Count the calls of Python's functions, which do not depend on the machine as seconds do."""
    schema = parse_schema(", ".join(f"c{i} INT" for i in range(num_columns)))
    row = tuple(range(num_columns))
    case = Case(
        id="wide",
        target=Target(schema=schema, files=((row,),)),
        source=Source(schema=schema, rows=(row, tuple(cell + 1 for cell in row))),
        sql=f"{_HEAD} {assigned} WHEN NOT MATCHED THEN INSERT *",
    )
    count = 0

    def seen(_frame: object, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(seen)
    try:
        answer = MergeReference().evaluate(case).answer
    finally:
        sys.setprofile(None)
    assert isinstance(answer, Prediction)
    return count


@pytest.mark.parametrize("listed", [False, True], ids=["star", "list"])
def test_twice_the_columns_take_twice_the_work(*, listed: bool) -> None:
    """A statement over twice the columns calls about twice as many functions."""
    texts = {n: ", ".join(f"c{i} = s.c{i}" for i in range(n)) if listed else "*" for n in (100, 400, 800)}
    _calls(100, texts[100])  # imports all modules on the way

    assert _calls(800, texts[800]) < 2.2 * _calls(400, texts[400])


@pytest.mark.parametrize(
    "paths",
    [
        [],
        [("a",), ("b",)],
        [("a",), ("b",), ("a",)],
        [("a", "x"), ("b",), ("a",)],
        [("b",), ("a",), ("a", "x", "y"), ("b", "z")],
        [("a", "x"), ("a", "y"), ("a", "x", "z"), ("a", "y")],
        [("c", "d"), ("a", "b"), ("c",), ("a", "b"), ("c", "d")],
    ],
)
def test_the_first_conflict_is_that_of_all_pairs(paths: list[tuple[str, ...]]) -> None:
    """The pair is the first in which one path is the other one or the beginning of it (R-210)."""
    pairs = [
        (left, right)
        for left, right in combinations(paths, 2)
        if left[: min(len(left), len(right))] == right[: min(len(left), len(right))]
    ]
    assert first_conflict(paths) == next(iter(pairs), None)
