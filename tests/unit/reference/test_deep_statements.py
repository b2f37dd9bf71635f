"""Long and deeply nested statements have an answer of the reference, if only that it does not know."""

from __future__ import annotations

import pytest

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

SCHEMA = parse_schema("id INT, v INT")


def answer(on: str, source: str = "source") -> object:
    """Evaluate a statement on two tables of one row."""
    case = Case(
        id="deep",
        target=Target(schema=SCHEMA, files=(((1, 2),),)),
        source=Source(schema=SCHEMA, rows=((1, 3),)),
        sql=f"MERGE INTO target t USING {source} s ON {on} WHEN MATCHED THEN UPDATE SET v = s.v",
    )
    return MergeReference().evaluate(case).answer


@pytest.mark.parametrize(
    ("on", "source"),
    [
        ("t.id = " + "(" * 100 + "s.id" + ")" * 100, "source"),
        ("t.id = " + "(" * 5000 + "s.id" + ")" * 5000, "source"),
        ("t.id = s.id" + " + 1" * 1500, "source"),
        ("t.id = s.id" + " + 1" * 10_000, "source"),
        ("NOT " * 3000 + "t.id = s.id", "source"),
        ("CASE WHEN " * 2000 + "t.id", "source"),
        ("t.id = s.id", "(" * 500 + "SELECT * FROM source" + ")" * 500),
    ],
)
def test_what_is_too_deep_or_too_long_is_unsupported(on: str, source: str) -> None:
    """No statement may exhaust Python's stack or memory."""
    assert isinstance(answer(on, source), Unsupported)


def test_long_lists_are_read() -> None:
    """A list is not deep, however long."""
    assert isinstance(answer(f"t.id IN ({', '.join(map(str, range(2000)))})"), Prediction)
