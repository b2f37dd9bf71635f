"""Analysis in the reference: literals, generated columns, new fields, the time of the statement, error classes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from reference_cases import DELTA, merge, merge_facts, predicted, rejected

from mergecheck.model.arrow import table_to_rows
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.errors import CaseFormatError, UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.types.data_types import DecimalType, StructType
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.reference.analysis.values.alignment import has_target_only_fields
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.expressions.literals import decimal_literal
from mergecheck.reference.expressions.names import Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.dialect import SparkDialect

UPDATE_AND_INSERT = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"


def _struct(ddl: str) -> StructType:
    found = parse_schema(f"c STRUCT<{ddl}>").columns[0].type
    assert isinstance(found, StructType)
    return found


@pytest.mark.parametrize(("column_type", "empty"), [("STRING", ""), ("BINARY", b"")])
def test_an_empty_text_of_a_partition_is_stored_as_null(column_type: str, empty: object) -> None:
    """R-744: and so are empty bytes; others stay, and so do values in no partition column."""
    kept = "x" if column_type == "STRING" else b"x"
    schema = parse_schema(f"p {column_type}, v {column_type}")
    target = Target(schema=schema, files=(((empty, empty), (kept, kept)),), partition_by=("p",))
    assert sorted(physical_rows(target), key=repr) == sorted([(None, empty), (kept, kept)], key=repr)


def test_a_decimal_literal_has_at_most_38_digits() -> None:
    """38 digits are a DECIMAL(38), more are no literal that the reference knows, however many."""
    assert decimal_literal("1" * 38).type == DecimalType(38, 0)
    assert decimal_literal("0" * 5 + "1" * 30 + "." + "2" * 8).type == DecimalType(38, 8)
    for digits in ("1" * 39, "1" * 41, "1" * 30 + "." + "2" * 10):
        with pytest.raises(UnsupportedByReferenceError, match="38 digits"):
            decimal_literal(digits)


@pytest.mark.parametrize("expression", ["", "(a", "a + (b * (c)"])
def test_a_generated_column_needs_an_expression_with_its_brackets_in_pairs(expression: str) -> None:
    """Neither an empty expression nor one that ends inside a bracket is a column's (R-222)."""
    with pytest.raises(CaseFormatError):
        parse_schema(f"a INT, b INT, c INT, g INT GENERATED ALWAYS AS ({expression})")


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [
        ("a: INT", "a: INT", False),
        ("A: INT, b: INT", "a: INT", False),
        ("a: INT", "a: INT, b: INT", True),
        ("s: STRUCT<a: INT>", "s: STRUCT<a: INT, b: INT>", True),
        ("s: STRUCT<a: INT>, b: INT", "s: STRUCT<a: INT>", False),
        ("s: STRUCT<a: INT>", "s: INT", False),
        ("s: INT", "s: STRUCT<a: INT>", False),
        ("s: ARRAY<STRUCT<a: INT>>", "s: ARRAY<STRUCT<a: INT, b: INT>>", False),
    ],
)
def test_which_fields_only_the_target_has(given: str, wanted: str, *, expected: bool) -> None:
    """R-244: fields of structs in structs count, those inside arrays do not."""
    assert has_target_only_fields(_struct(given), _struct(wanted)) is expected


@pytest.mark.parametrize(
    ("function", "data_type", "value"),
    [
        ("current_date()", "DATE", dt.date(2026, 2, 3)),
        ("current_timestamp()", "TIMESTAMP", dt.datetime(2026, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
        ("now()", "TIMESTAMP", dt.datetime(2026, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
        ("localtimestamp()", "TIMESTAMP_NTZ", dt.datetime(2026, 2, 3, 4, 5, 6)),  # noqa: DTZ001 - a local time
    ],
)
def test_the_statement_has_one_time(function: str, data_type: str, value: object) -> None:
    """R-136: each function gives it in its own type."""
    clock = dt.datetime(2026, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    translator = Translator(Scope(relations=(), place="test", case_sensitive=False), clock=clock)
    typed = translator.translate(sqlglot.parse_one(function, dialect=SparkDialect))
    schema = parse_schema(f"v {data_type}")
    assert typed.type == schema.columns[0].type
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        table = connection.sql(f"SELECT {typed.sql} AS v").to_arrow_table()
    assert table_to_rows(table, schema) == ((value,),)


@pytest.mark.parametrize("scale", [0, 2, 5])
def test_a_decimal_is_read_in_the_scale_of_its_column(scale: int) -> None:
    """Whatever scale a file has, the value comes with the schema's scale: digits are compared."""
    values = [Decimal(7), Decimal(-3), None]
    table = pa.table({"v": pa.array(values, pa.decimal128(20, scale))})
    found = table_to_rows(table, parse_schema("v DECIMAL(10,2)"))
    assert [None if v is None else str(v) for (v,) in found] == ["7.00", "-3.00", None]
    nested = pa.table({"v": pa.array([[Decimal("1.5")]], pa.list_(pa.decimal128(20, 7)))})
    assert str(table_to_rows(nested, parse_schema("v ARRAY<DECIMAL(10,2)>"))[0][0][0]) == "1.50"


@pytest.mark.parametrize("by", ["statement", "conf", None])
def test_another_executor_gets_the_evolved_schema(by: str | None) -> None:
    """R-231: by the statement's own words or by the setting, each alone."""
    case = Case(
        id="evolves",
        target=Target(schema=parse_schema("k INT, v INT"), files=()),
        source=Source(schema=parse_schema("k INT, v INT, extra INT"), rows=()),
        sql=f"MERGE {'WITH SCHEMA EVOLUTION ' if by == 'statement' else ''}INTO target t USING source s ON t.k = s.k "
        "WHEN NOT MATCHED THEN INSERT *",
        conf={f"{DELTA}schema.autoMerge.enabled": "true"} if by == "conf" else {},
    )
    resolved = MergeReference().resolve(case)
    assert [c.name for c in resolved.merge.final_schema.columns] == ["k", "v", *(["extra"] if by else [])]


@pytest.mark.parametrize(
    ("column_type", "error_class"),
    [
        ("TINYINT", "BINARY_ARITHMETIC_OVERFLOW"),
        ("SMALLINT", "BINARY_ARITHMETIC_OVERFLOW"),
        ("INTEGER", "ARITHMETIC_OVERFLOW"),
        ("BIGINT", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_an_overflow_is_named_by_its_type(column_type: str, error_class: str) -> None:
    """Spark has a class of its own for the two small types."""
    largest = {"TINYINT": 127, "SMALLINT": 32767, "INTEGER": 2**31 - 1, "BIGINT": 2**63 - 1}[column_type]
    with duckdb.connect() as connection, pytest.raises(duckdb.OutOfRangeException) as raised:
        connection.sql(f"SELECT v + v FROM (SELECT CAST({largest} AS {column_type}) AS v)").fetchall()
    assert rejection_of(raised.value).error_class == error_class


def test_a_rejected_ambiguous_merge_says_that_it_is_one() -> None:
    """R-320: whoever steers by the facts of a case learns of the matches although nothing is merged."""
    several = merge(UPDATE_AND_INSERT, target=[[1, "a"]], source=[[1, "b"], [1, "c"]])
    assert rejected(several) == "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
    assert merge_facts(UPDATE_AND_INSERT, target=[[1, "a"]], source=[[1, "b"], [1, "c"]]).multi_matched
    single = merge(UPDATE_AND_INSERT, target=[[1, "a"]], source=[[1, "b"], [2, "c"]])
    assert predicted(single).rows
    assert not merge_facts(UPDATE_AND_INSERT, target=[[1, "a"]], source=[[1, "b"], [2, "c"]]).multi_matched
