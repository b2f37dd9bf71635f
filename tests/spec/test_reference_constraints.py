"""Constraints, defaults and generated columns as the reference computes them (R-220 to R-223, R-740 to R-742)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot

from mergecheck.model.arrow import rows_to_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.types.typed import TableSide, Typed
from mergecheck.reference.analysis.constraints import CHECK_VIOLATED, NOT_NULL_VIOLATED, TOO_LONG, row_checks
from mergecheck.reference.analysis.values.column_values import default_value, generated_value
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
from mergecheck.reference.syntax.dialect import SparkDialect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import Schema

TABLE = parse_schema("k INT NOT NULL, st STRUCT<x: INT NOT NULL, y: INT>, g INT GENERATED ALWAYS AS (k * 10)")
GOOD: Row = (1, (1, None), 10)


def violated(row: Row, schema: Schema = TABLE, properties: Mapping[str, str] | None = None) -> set[str]:
    """Return the error classes of a row."""
    connection = duckdb.connect()
    connection.register("rows", rows_to_table([row], schema).rename_columns([f"c{i}" for i in range(len(row))]))
    return {
        check.error_class
        for check in row_checks(schema, properties or {})
        if connection.sql(f"SELECT 1 FROM rows WHERE NOT ({check.sql})").fetchall()
    }


@pytest.mark.parametrize(
    ("row", "classes"),
    [
        (GOOD, set()),
        ((1, None, 10), {NOT_NULL_VIOLATED}),
        ((None, None, None), {NOT_NULL_VIOLATED}),
        ((1, (None, 1), 10), {NOT_NULL_VIOLATED}),
        ((1, (1, None), 11), {CHECK_VIOLATED}),
        ((1, (1, None), None), {CHECK_VIOLATED}),
    ],
)
def test_a_row_breaks_what_the_columns_say(row: Row, classes: set[str]) -> None:
    """R-741, R-222: the fields of a NULL struct are NULL; a generated column is compared null-safely."""
    assert violated(row) == classes


DEEP = "ARRAY<STRUCT<a: VARCHAR(2), m: MAP<VARCHAR(1), ARRAY<VARCHAR(3)>>>>"


@pytest.mark.parametrize(
    ("ddl", "value", "is_long"),
    [
        ("VARCHAR(2)", "ab ", True),
        ("ARRAY<VARCHAR(2)>", ("ab", None, "äö"), False),
        ("ARRAY<VARCHAR(2)>", (None, "abc"), True),
        ("ARRAY<VARCHAR(2)>", (), False),
        ("STRUCT<a: VARCHAR(2), b: STRING>", ("ab", "longer"), False),
        ("STRUCT<a: VARCHAR(2), b: STRING>", ("abc", None), True),
        ("STRUCT<a: VARCHAR(2), b: STRING>", None, False),
        ("MAP<VARCHAR(2), STRING>", (("ab", "longer"),), False),
        ("MAP<VARCHAR(2), STRING>", (("ab", "a"), ("abc", "a")), True),
        ("MAP<STRING, VARCHAR(2)>", (("longer", None),), False),
        ("MAP<STRING, VARCHAR(2)>", (("a", "abc"),), True),
        (DEEP, (None, (None, None), ("ab", (("k", ("abc", None)), ("l", None)))), False),
        (DEEP, (("ab", (("k", ("abcd",)),)),), True),
        (DEEP, (("ab", (("kk", ()),)),), True),
        (DEEP, (("ab", None), ("abc", None)), True),
    ],
)
def test_a_text_longer_than_declared_breaks_its_column(ddl: str, value: Value, *, is_long: bool) -> None:
    """R-822: also inside of the column; Delta Lake 4.4 was asked about arrays, structs and maps."""
    assert violated((value,), parse_schema(f"v {ddl}")) == ({TOO_LONG} if is_long else set())


@pytest.mark.parametrize(("n", "broken"), [(1, False), (-1, True), (None, True)])
def test_a_check_that_is_null_is_violated(n: int | None, *, broken: bool) -> None:
    """R-742."""
    found = violated((n,), parse_schema("n INT"), {"delta.constraints.pos": "n > 0", "delta.appendOnly": "false"})

    assert found == ({CHECK_VIOLATED} if broken else set())


def test_a_constraint_that_cannot_be_translated_is_unsupported() -> None:
    """The reference does not take a constraint for fulfilled because it cannot read it."""
    with pytest.raises(UnsupportedByReferenceError):
        row_checks(parse_schema("n INT"), {"delta.constraints.odd": "my_function(n) > 0"})


def test_a_default_is_cast_to_its_column() -> None:
    """R-220: the default's value in the type of the column; NULL without a default."""
    text, number, none = parse_schema("a STRING DEFAULT 5, b DECIMAL(5,2) DEFAULT 1.005, c INT").columns

    assert evaluated(default_value(text)) == "5"
    assert str(evaluated(default_value(number))) == "1.01"
    assert evaluated(default_value(none)) is None


def test_a_generated_column_uses_the_new_values() -> None:
    """R-222, R-223: every reference means the value of the new row."""
    schema = parse_schema("a INT, b STRING, g STRING GENERATED ALWAYS AS (concat(b, a + 1))")
    values = {"a": Typed(sql="3 + 4", type=schema.columns[0].type), "b": Typed(sql="'x'", type=schema.columns[1].type)}

    assert evaluated(generated_value(schema.columns[2], schema, values)) == "x8"


SOURCE = (parse_schema("n INT, s STRING"), ((3, "a"), (5, "it's")))


@pytest.mark.parametrize(
    ("text", "value"),
    [("(SELECT max(n) FROM source) + 1", 6), ("(SELECT s FROM source WHERE n = 5)", "it's"),
     ("(SELECT n FROM source WHERE n = 9)", None)],
)  # fmt: skip
def test_a_scalar_subquery_is_one_value(text: str, value: object) -> None:
    """R-134: an uncorrelated scalar subquery may stand in a value; without a row it is NULL."""
    assert evaluated(translated(text)) == value


def test_a_correlated_subquery_is_refused() -> None:
    """R-134."""
    with pytest.raises(RejectedError, match="UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"):
        translated("(SELECT max(n) FROM source WHERE n = t.k)")


def test_a_subquery_with_several_rows_is_unsupported() -> None:
    """When Spark evaluates it, it fails; whether it does, the rules leave open."""
    with pytest.raises(UnsupportedByReferenceError):
        translated("(SELECT n FROM source)")


def translated(text: str) -> Typed:
    """Translate a value of a clause over the target ``t``."""
    scope = Scope(
        relations=(Relation(side=TableSide.TARGET, qualifier="t", schema=TABLE),), place="test", case_sensitive=False
    )
    subqueries = ScalarSubqueries(tables={"source": SOURCE}, connection=duckdb.connect())
    return Translator(scope, subqueries).translate(sqlglot.parse_one(text, dialect=SparkDialect))


def evaluated(value: Typed) -> object:
    """Evaluate an expression without columns."""
    ((found,),) = duckdb.connect().sql(f"SELECT {value.sql}").fetchall()
    return found
