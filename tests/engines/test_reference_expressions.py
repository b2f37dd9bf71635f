"""The reference's translation of Spark expressions and casts, held against Spark itself."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.analysis.values.alignment import Aligner, StoreAssignmentPolicy
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import plain_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.model.types.typed import Typed

pytestmark = pytest.mark.spark

SCHEMA = parse_schema(
    "a INT, b INT, big BIGINT, ti TINYINT, d DOUBLE, f FLOAT, de DECIMAL(10,2), wide DECIMAL(20,5), s STRING, "
    "flag BOOLEAN, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, st STRUCT<x: INT, y: STRING>, arr ARRAY<INT>, "
    "ars ARRAY<STRUCT<x: INT, y: STRING>>, mp MAP<STRING, INT>"
)


def _row(n: int | None, number: float, text: str | None) -> tuple[Any, ...]:
    day = None if n is None else dt.date(2026, 1, 1) + dt.timedelta(days=n)
    time = None if n is None else dt.datetime(2026, 1, 1, 23, 30, 0, n * 7 % 1000, tzinfo=dt.UTC)
    return (
        n,
        None if n is None else 3 - n,
        None if n is None else n * 10**15,
        None if n is None else n % 100,
        number,
        number,
        None if n is None else Decimal(n * 137).scaleb(-2),
        None if n is None else Decimal(-n * 99999).scaleb(-5),
        text,
        None if n is None else n % 2 == 0,
        day,
        time,
        None if time is None else time.replace(tzinfo=None),
        None if n is None else (n, text),
        None if n is None else (n, None, 3),
        None if n is None else ((n, text), None, (None, "z")),
        None if n is None else (("k", n), ("l", None)),
    )


ROWS = [
    _row(0, -0.0, ""),
    _row(1, math.nan, "a"),
    _row(2, math.inf, "A"),
    _row(3, -2.5, "a "),
    _row(-4, 2.5, None),
    _row(7, 1e10, "ü\U0001f600"),
    _row(None, 0.0, "7"),
]

EXPRESSIONS = [
    "a = b", "a <=> b", "a <> b", "a < b", "a <= b", "a > b", "a >= b", "NOT (a = b)", "a = big", "ti < a",
    "a = de", "de = wide", "de < a", "a < d", "d = f", "f > a", "d = d", "d > 5", "d <=> f", "d IN (2.5, 0)",
    "a IN (1, 2, NULL)", "a NOT IN (1, NULL)", "s IN ('a', '')", "a BETWEEN 0 AND 2", "a NOT BETWEEN b AND 2",
    "a IS NULL", "a IS NOT NULL", "flag IS TRUE", "flag IS NOT TRUE", "a IS DISTINCT FROM b", "flag AND a > 1",
    "flag OR NULL", "NOT flag", "flag AND NULL", "TRUE", "NULL AND FALSE", "s = 'a'", "s < 'b'", "s > 'A'",
    "s = ''", "day = DATE '2026-01-02'", "day < ts", "ntz > day", "ts = TIMESTAMP '2026-01-01 23:30:00'",
    "ntz >= TIMESTAMP_NTZ '2026-01-01 23:30:00.000007'", "st.x = a", "st.y = s", "st IS NULL", "st = st", "arr = arr",
    "CASE WHEN a > 1 THEN b WHEN a IS NULL THEN 9 END", "CASE WHEN flag THEN a ELSE big END",
    "IF(a > 1, 'x', s)", "COALESCE(a, b, 5)", "COALESCE(s, 'none')", "COALESCE(de, 1.5)", "COALESCE(NULL, a)",
    "a + b", "a - 1", "a * 2", "a % 3", "a % -3", "-a", "-5", "ti + 1", "big + a", "a / 2", "de", "1.50", "-1.5",
    "1e3", "9223372036854775807", "-9223372036854775808", "2147483648", "12345678901234567890", "X'1F00'",
    "CAST(a AS BIGINT)", "CAST(flag AS INT)", "CAST(a AS BOOLEAN)", "CAST(a AS DOUBLE)", "CAST(f AS DOUBLE)",
    "CAST(a AS STRING)", "CAST(flag AS STRING)", "CAST(de AS STRING)", "CAST(day AS TIMESTAMP)", "CAST(ts AS DATE)",
    "CAST(ts AS TIMESTAMP_NTZ)", "CAST(ntz AS TIMESTAMP)", "CAST(s AS BINARY)", "CAST('NaN' AS DOUBLE)",
    "CAST('-0.0' AS DOUBLE)", "CAST('Infinity' AS FLOAT)", "CAST('1.25' AS DECIMAL(5,2))", "CAST('7' AS TINYINT)",
    "CAST('true' AS BOOLEAN)", "CAST(NULL AS DATE)", "CAST(a AS DECIMAL(12,2))", "CAST(wide AS DECIMAL(10,1))",
    "CASE a WHEN 1 THEN 'one' WHEN b THEN 'b' ELSE s END", "CASE s WHEN 'a' THEN 1 END", "NULLIF(a, 2)",
    "NULLIF(a, big)", "NULLIF(s, 'a')", "IFNULL(a, b)", "NVL(big, a)", "NVL2(a, b, big)", "GREATEST(a, b, NULL)",
    "LEAST(a, big)", "GREATEST(s, 'b')", "GREATEST(de, a)", "ABS(a)", "ABS(d)", "ABS(de)", "ABS(f)",
    "UPPER('abc' || a)", "LOWER('ABC')", "LENGTH(s)", "CONCAT(s, a, flag, day, de)", "s || '-' || a",
    "TRIM('  a b ')", "TRIM(s)", "SIZE(arr)", "SIZE(mp)", "ISNAN(d)", "ISNAN(f)", "a DIV 2", "-7 DIV 2", "MOD(a, 3)",
    "d + a", "d * 2", "d - f", "f + f", "f * 2", "f / 2", "d / 4", "d % 2", "de + de", "de - wide", "de * de",
    "de + a",
    "de + 2", "2 * de", "de + big", "1.5 + 2.25", "-de", "-d", "a / NULLIF(b, 0)", "CAST(NULL AS INT) / 0",
    "CAST(NULL AS INT) % 0", "st = named_struct('x', a, 'y', s)", "st <=> named_struct('x', big, 'y', s)",
    "st <> named_struct('x', 1, 'y', NULL)", "st IN (named_struct('x', 1, 'y', 'a'))", "arr = array(a, NULL, 3L)",
    "named_struct('a', d) = named_struct('a', -d)", "array(d) = array(d)",
    "IF(a > 1, named_struct('a', a), named_struct('a', big))", "COALESCE(arr, array(1, 2))", "ars.x", "ars.Y",
    "st.X", "mp.k", "mp['k']", "mp['nope']",
    "map('a', a, 'b', NULL)", "struct(a, s AS t)", "named_struct('x', a).x",
    "CAST(st AS STRUCT<p: BIGINT, q: STRING>)",
    "CAST(arr AS ARRAY<DOUBLE>)", "CAST(a AS TIMESTAMP)", "CAST(ts AS BIGINT)", "CAST(ts AS STRING)",
    "CAST(day AS STRING)",    "CAST('1.5d' AS DOUBLE)", "CAST(' 7 ' AS INT)", "CAST(1.5D AS STRING)", "1.5F", "2S",
    "2Y", "5L",
    "concat_ws('|', s, a, flag, day, de)", "concat_ws(s, 'x', a)", "concat_ws('-', s)", "md5(s)",
    "md5(concat_ws('|', s, a))", "sha1(s)", "sha2(s, 256)", "sha2(s, 0)", "s LIKE 'a%'", "s LIKE '_'", "s LIKE '%'",
    "s LIKE ''", "s NOT LIKE 'a_'", "s LIKE 'A'", "left(s, 1)", "left(s, 0)", "substring(s, 1, 2)", "substring(s, 2)",
    "substr(s, 2, 1)", "replace(s, 'a', 'bb')", "replace(s, ' ', '')", "instr(s, ' ')", "instr(s, 'a')",
    "locate('a', s)", "date_add(day, 5)", "date_add(day, a)", "date_sub(day, 90)", "date_sub(ts, a)",
    "datediff(day, DATE '2025-12-31')", "datediff(ts, day)", "add_months(day, 1)", "add_months(day, a)",
    "add_months(DATE '2024-01-31', a)", "last_day(day)", "last_day(ts)", "year(day)", "month(ts)", "day(day)",
    "quarter(day)", "dayofmonth(ts)", "dayofweek(day)", "dayofyear(day)", "hour(ts)", "minute(ts)", "second(ts)",
    "hour(ntz)", "trunc(day, 'MM')", "trunc(day, 'week')", "trunc(day, 'YEAR')", "trunc(day, 'QUARTER')",
    "date_trunc('HOUR', ts)", "date_trunc('day', ts)", "date_trunc('MONTH', day)", "date_trunc('week', ts)",
    "to_date(ts)", "day + INTERVAL 1 DAY", "day - INTERVAL '5' DAYS", "day + INTERVAL 1 MONTH",
    "DATE '2024-02-29' + INTERVAL 1 YEAR", "DATE '2024-01-31' + INTERVAL 1 MONTH", "ts + INTERVAL 24 HOURS",
    "ts - INTERVAL 30 MINUTES", "ts - INTERVAL 1 SECOND", "ts - INTERVAL '1' MILLISECOND", "ts + INTERVAL 1 MONTH",
    "day + INTERVAL 3 MONTHS", "a BETWEEN '0' AND '3'", "EXTRACT(MINUTE FROM ts)",
    "array_contains(arr, 3)", "array_contains(arr, a)", "day >= '2026-01-03'",
    "exists(arr, x -> x > 2)", "exists(arr, x -> x > a)", "exists(arr, x -> x IS NULL)", "EXISTS (arr, X -> x = 9)",
    "forall(arr, x -> x > 0)", "forall(arr, x -> x IS NOT NULL)", "forall(filter(arr, x -> x > 99), x -> x > 100)",
    "forall(arr, x -> x > a OR x IS NULL)", "filter(arr, x -> x > 2)", "filter(arr, x -> x <> a)",
    "filter(ars, e -> e.x > 0)", "filter(ars, e -> e.y = s)", "filter(ars, E -> e IS NOT NULL)",
    "transform(arr, x -> coalesce(x, a))", "transform(arr, a -> a IS NULL)", "transform(ars, e -> e.y)",
    "transform(arr, x -> exists(arr, y -> y = x))", "exists(filter(ars, e -> e.x IS NOT NULL), e -> e.y = 'a')",
    "ts + INTERVAL 1 DAY 2 HOURS", "ts - INTERVAL 1 DAY 2 HOURS", "ts - INTERVAL 3 HOURS -5 MINUTES '7' SECONDS",
    "day + INTERVAL 1 YEAR 1 MONTH", "DATE '2024-01-31' - INTERVAL 1 YEAR 11 MONTHS",
    "ts + INTERVAL '1 02:03:04' DAY TO SECOND", "ts - INTERVAL '-1 02' DAY TO HOUR",
    "ts + INTERVAL '5 23:59' DAY TO MINUTE", "ts - INTERVAL '2 hours'", "day + INTERVAL '1 year -2 months'",
    "ts + INTERVAL ' 1 day 3 Hours '", "day - INTERVAL '3 DAYS'",
    "day - INTERVAL '1-2' YEAR TO MONTH", "ts + INTERVAL '30:15' HOUR TO MINUTE",
    "ts + INTERVAL '90:15' MINUTE TO SECOND",
    "ts - INTERVAL '30:15:59' HOUR TO SECOND",
    "'2026-01-03' > day", "day BETWEEN '2026-01-02' AND '2026-01-05'", "ts >= '2026-01-02 00:00:00'",
    "ts < '2026-01-05'", "a = '7'", "a < '3'", "ti = '7'", "big > '5'", "flag = 'true'",
    "named_struct('p', a, 'q', s)", "array(a, NULL, 3)", "'it''s'", "'tab\\tquote\\'end'", '"double"', "'a\\\\b'",
]  # fmt: skip

ASSIGNMENTS = [
    ("a", "BIGINT"), ("big", "INT"), ("d", "INT"), ("d", "BIGINT"), ("f", "SMALLINT"), ("wide", "INT"),
    ("de", "DECIMAL(4,1)"), ("wide", "DECIMAL(8,0)"), ("a", "DECIMAL(3,2)"), ("s", "INT"), ("s", "BOOLEAN"),
    ("' 12 '", "INT"), ("'+7'", "TINYINT"), ("'1e2'", "INT"), ("'2.7'", "INT"), ("'300'", "TINYINT"),
    ("'on'", "BOOLEAN"), ("' Yes'", "BOOLEAN"), ("flag", "INT"), ("ti", "BOOLEAN"), ("a", "STRING"), ("ts", "DATE"),
    ("a", "FLOAT"), ("1.005", "DECIMAL(5,2)"), ("2.5", "INT"), ("-2.5", "INT"), ("CAST(2.5 AS DOUBLE)", "INT"),
    ("a", "TINYINT"),
]  # fmt: skip


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Start Spark once."""
    return start_session()


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    """Give Spark the rows."""
    return spark.createDataFrame(rows_to_table(ROWS, SCHEMA))


@pytest.fixture(scope="module")
def translator() -> Translator:
    """Resolve names against the one table."""
    relation = Relation(side=TableSide.TARGET, qualifier="t", schema=SCHEMA)
    return Translator(Scope(relations=(relation,), place="test", case_sensitive=False))


def translated(translator: Translator, text: str) -> Typed:
    """Translate one Spark expression."""
    return translator.translate(read_sql(plain_expression(text)))


def in_duckdb(value: Typed) -> list[Any]:
    """Evaluate a translated expression on the rows, row by row in order."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    incoming = rows_to_table(ROWS, SCHEMA).rename_columns([f"t{i}" for i in range(len(SCHEMA.columns))])
    connection.register("incoming", incoming)
    arrow = connection.sql(f"SELECT {value.sql} AS v FROM incoming").to_arrow_table()
    return list(table_to_rows(arrow, Schema((Field("v", value.type),))))


def in_spark(table: DataFrame, text: str, schema: Schema) -> list[Any]:
    """Evaluate a Spark expression on the rows."""
    return list(table_to_rows(table.selectExpr(f"{text} AS v").toArrow(), schema))


def same(left: list[Any], right: list[Any], schema: Schema) -> bool:
    """Compare exactly, in order."""
    return [row_identity(row, schema) for row in left] == [row_identity(row, schema) for row in right]


@pytest.mark.parametrize("text", EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_expressions_mean_the_same(text: str, table: DataFrame, translator: Translator) -> None:
    """A translated expression gives Spark's type and Spark's values."""
    value = translated(translator, text)
    spelled = table.selectExpr(f"{text} AS v").schema[0].dataType.simpleString()
    schema = Schema((Field("v", value.type),))

    assert parse_schema(f"v {spelled}") == schema
    assert same(in_spark(table, text, schema), in_duckdb(value), schema), text


@pytest.mark.parametrize(("text", "column"), ASSIGNMENTS, ids=range(len(ASSIGNMENTS)))
def test_assignment_casts_mean_the_same(text: str, column: str, table: DataFrame, translator: Translator) -> None:
    """Row by row, an ANSI assignment gives what Spark's CAST gives, or fails where it fails (R-251 to R-253)."""
    wanted = parse_schema(f"v {column}")
    value = Aligner(policy=StoreAssignmentPolicy.ANSI).align(translated(translator, text), wanted.columns[0].type)
    strict = in_spark(table, f"TRY_CAST({text} AS {column})", wanted)
    operand_is_null = [row[0] for row in table.selectExpr(f"({text}) IS NULL").collect()]
    fails = [row[0] is None and not is_null for row, is_null in zip(strict, operand_is_null, strict=True)]

    if any(fails):
        with pytest.raises(duckdb.Error, match=r"CAST_INVALID_INPUT|DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"):
            in_duckdb(value)
        return
    assert same(strict, in_duckdb(value), wanted), text
