"""Checks of the analysis: subqueries, window functions, booleans, fields to add, names for files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as t

from mergecheck.merge.conf import MergeConf, StoreAssignmentPolicy
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.binding import bind
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.conditions import check_condition, check_subquery_tables, check_value
from mergecheck.merge.expressions.functions import outside_subqueries, subqueries
from mergecheck.merge.expressions.scope import Relation, Scope, Side
from mergecheck.merge.resolution.schema_evolution import filter_schema, merge_schemas
from mergecheck.merge.syntax.dialect import tokenize
from mergecheck.merge.types.casts import cast_leaf
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.expressions.resolved import ResolvedExpression


def record(**fields: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields.items()])


LONG, TEXT = t.LongType(), t.StringType()
TARGET = record(id=LONG, v=TEXT, ok=t.BooleanType())


def bound(text: str) -> ResolvedExpression:
    scope = Scope(
        relations=(Relation(side=Side.TARGET, qualifier=("t",), schema=TARGET),),
        case_sensitive=False,
    )
    return bind(text, scope, clock=StatementClock(instant=datetime(2026, 1, 2, tzinfo=UTC)), where="a condition")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("a + (SELECT 1)", ["(SELECT 1)"], "a +"),
        ("(SELECT (1) + 2) * (b)", ["(SELECT (1) + 2)"], "* ( b )"),
        ("((VALUES (1)))", ["(VALUES (1))"], "( )"),
        ("f(values.a, (table x), (select.b))", ["(table x)"], "f ( values . a , , ( select . b ) )"),
        (
            "x IN (WITH q AS (SELECT 1) SELECT * FROM q) OR (c)",
            ["(WITH q AS (SELECT 1) SELECT * FROM q)"],
            "x IN OR ( c )",
        ),
    ],
)
def test_subqueries_are_cut_out_with_their_brackets(text: str, inside: list[str], outside: str) -> None:
    assert list(subqueries(text)) == inside
    assert " ".join(token.text for token in outside_subqueries(tokenize(text))) == outside


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("max(t.id) OVER () > 1", "DELTA_AGGREGATION_NOT_SUPPORTED"),
        ("row_number() OVER (ORDER BY t.id) > 1", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    ],
)
def test_window_functions_are_refused(text: str, refused: str) -> None:
    """R-132: an aggregate is refused as one, also with OVER; aggregates inside of a subquery are allowed."""
    with pytest.raises(AnalysisError) as caught:
        check_condition(bound(text), operation="search condition")
    assert caught.value.error_class == refused
    check_condition(bound("t.id > 1"), operation="search condition")
    check_value(bound("(SELECT max(r) FROM (SELECT max(q) OVER () AS r FROM source))"))


def test_not_null_fields_are_told_on_demand() -> None:
    """R-741: where Spark has to know, and nowhere else."""
    kind = t.StructType([t.StructField("a", LONG, nullable=False), t.StructField("b", LONG)])
    assert type_sql(kind) == "STRUCT<`a`: BIGINT, `b`: BIGINT>"
    assert type_sql(t.ArrayType(kind), not_null=True) == "ARRAY<STRUCT<`a`: BIGINT NOT NULL, `b`: BIGINT>>"


class Refusing:
    """Refuses every expression with an error of a class."""

    def __init__(self, error_class: str) -> None:
        self.error_class = error_class

    def of(self, expressions: Sequence[str]) -> tuple[t.DataType, ...]:
        raise AnalysisError(self.error_class, f"{list(expressions)}")


def test_only_missing_tables_of_a_subquery_come_before_all_else() -> None:
    """R-133 refuses the subquery itself, so whatever else is wrong with it does not matter."""
    with pytest.raises(AnalysisError):
        check_subquery_tables("(SELECT 1 FROM nowhere) > 1", Refusing("TABLE_OR_VIEW_NOT_FOUND"))
    for other in ("AMBIGUOUS_REFERENCE", "UNRESOLVED_COLUMN"):
        check_subquery_tables("(SELECT q FROM source) > 1", Refusing(other))
    check_subquery_tables("t.id > 1", Refusing("TABLE_OR_VIEW_NOT_FOUND"))


def test_fields_that_no_clause_assigns_are_not_added() -> None:
    """R-233: a struct is kept for the paths that lead into it, by their own names."""
    source = record(a=record(x=LONG, y=LONG), b=record(x=LONG), c=LONG)
    kept = filter_schema(source, {("a", "x")}, star=False, case_sensitive=True)
    assert kept == record(a=record(x=LONG))
    assert filter_schema(source, {("b", "x")}, star=False, case_sensitive=True) == record(b=record(x=LONG))


def test_types_of_other_kinds_do_not_merge() -> None:
    """R-236: a map and an array have no common type, whichever side is which."""
    pair = t.MapType(TEXT, LONG), t.ArrayType(LONG)
    for target, source in (pair, pair[::-1]):
        with pytest.raises(AnalysisError):
            merge_schemas(record(v=target), record(v=source))


def test_a_decimal_is_spelled_out_and_never_fails() -> None:
    """Where the session is not in ANSI mode, a decimal of a high scale would be written with an exponent."""
    conf = MergeConf(store_assignment_policy=StoreAssignmentPolicy.ANSI, ansi_enabled=False)
    text = cast_leaf("v", t.DecimalType(38, 18), TEXT, conf)
    assert "RAISE_ERROR" not in text
    assert "repeat('0'" in text
    assert "RAISE_ERROR" in cast_leaf("v", TEXT, LONG, conf)
