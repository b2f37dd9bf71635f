"""The beginning of a dotted name: qualifier, column or field (R-118, R-120, R-824)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import types as t

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.binding import bind
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.scope import Relation, Scope, Side

TARGET = t.StructType([t.StructField("id", t.LongType()), t.StructField("s", t.StructType())])
SOURCE = t.StructType([t.StructField("id", t.LongType()), t.StructField("t", t.StructType())])


def scope(target: tuple[str, ...] = ("t",), source: tuple[str, ...] = ("u",), *, case_sensitive: bool = False) -> Scope:
    return Scope(
        relations=(
            Relation(side=Side.TARGET, qualifier=target, schema=TARGET),
            Relation(side=Side.SOURCE, qualifier=source, schema=SOURCE),
        ),
        case_sensitive=case_sensitive,
    )


@pytest.mark.parametrize(
    ("name", "qualifier", "found"),
    [
        ("t.id", ("t",), ("t.id", 2)),
        ("T.ID", ("t",), ("t.id", 2)),
        ("db.t.id", ("db", "t"), ("db.t.id", 3)),
        ("t.id", ("db", "t"), ("db.t.id", 2)),
        ("db.t.id", ("t",), None),
        ("x.t.id", ("db", "t"), None),
        ("db.id", ("db", "t"), None),
        ("t.s.a", ("t",), ("t.s", 2)),
        ("s.a", ("t",), ("t.s", 1)),
        ("t.a", ("other",), ("u.t", 1)),
        ("nothing", ("t",), None),
    ],
)
def test_a_qualifier_is_the_end_of_a_tables_name(
    name: str, qualifier: tuple[str, ...], found: tuple[str, int] | None
) -> None:
    """No part more than the table's name has, none in between; a qualifier is tried before a column of that name."""
    match = scope(qualifier).find(tuple(name.split(".")))
    shown = match and (".".join((*match.column.qualifier, match.column.name)), match.consumed)
    assert shown == found


def test_letters_count_where_the_session_says_so() -> None:
    """R-120."""
    assert scope(case_sensitive=True).find(("T", "ID")) is None
    assert scope(case_sensitive=True).find(("t", "id")) is not None


def test_a_name_of_both_sides_is_ambiguous() -> None:
    """R-118; with one side left it is not."""
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        scope().find(("id",))
    match = scope().only(Side.SOURCE).find(("id",))
    assert match is not None
    assert (match.column.side, match.column.positional) == (Side.SOURCE, "source_0")


@pytest.mark.parametrize(
    ("text", "sql", "target", "source"),
    [
        (
            "size(transform(array(1), x -> x)) + abs(abs(abs(abs(abs(t.id)))))",
            "size(transform(array(1), x -> x)) + abs(abs(abs(abs(abs(target_0)))))",
            {0},
            set(),
        ),
        (
            "(SELECT max(q) FROM source) + abs(abs(abs(abs(abs(abs(u.id))))))",
            "(SELECT max(q) FROM source) + abs(abs(abs(abs(abs(abs(source_0))))))",
            set(),
            {0},
        ),
        ("t.id = u.id AND t.id > 1", "target_0 = source_0 AND target_0 > 1", {0}, {0}),
    ],
    ids=["lambda", "subquery", "both-sides"],
)
def test_columns_are_found_behind_names_that_are_none(text: str, sql: str, target: set[int], source: set[int]) -> None:
    """A lambda's variable and the names inside of a subquery are left alone, and what stands deeper is still found."""
    clock = StatementClock(instant=datetime(2026, 1, 2, tzinfo=UTC))
    found = bind(text, scope(), clock=clock, where="a condition")
    assert (found.sql, found.target_columns, found.source_columns) == (sql, target, source)
