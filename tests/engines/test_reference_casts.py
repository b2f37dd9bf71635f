"""Every cast between atomic types, value by value, held against Spark itself (R-251 to R-253)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from pyspark.errors import PySparkException

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import DataType, Field, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.types.implicit_casts import has_implicit_cast
from mergecheck.reference.casts.conversions import CAST_OVERFLOW, Failure, can_cast, cast, is_up_cast
from mergecheck.reference.expressions.names import Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.dialect import SparkDialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Row

    Identify = Callable[[Row], object]

pytestmark = pytest.mark.spark

NUMBERS = ["0", "1", "-1", "127", "128", "-129", "32768", "2147483647", "2147483648", "9223372036854775807"]
FRACTIONS = ["2.5", "-2.5", "0.005", "1.005", "99.995", "-7.99", "1234567.5", "12345678", "1e10", "3e9", "1e20", "1e30"]
SPECIAL = ["NaN", "Infinity", "-Infinity", "-0.0", "1e-5", "1e300"]
VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["0", "1", "-128", "127"],
    "SMALLINT": ["0", "127", "128", "-32768"],
    "INT": NUMBERS[:8],
    "BIGINT": NUMBERS,
    "FLOAT": [*FRACTIONS, *SPECIAL, "0.1", "16777217"],
    "DOUBLE": [*FRACTIONS, *SPECIAL, "0.1", "3.4028235677973366e38", "9.007199254740993e15"],
    "DECIMAL(10,2)": ["0", "0.05", "-7.99", "127.5", "128", "99999999.99", "2.50"],
    "DECIMAL(38,8)": ["0.00000001", "-1.5", "2147483648.9", "123456789012345678901234567890.12345678"],
    "DATE": ["1970-01-01", "2026-02-28", "0099-12-31", "1969-12-31"],
    "TIMESTAMP": ["1970-01-01 00:00:00", "1969-12-31 23:59:59.5", "2026-01-01 10:20:30.000070", "2226-01-01 00:00:00"],
    "TIMESTAMP_NTZ": ["1970-01-01 00:00:00", "2026-01-01 10:20:30.12"],
}  # fmt: skip
TEXTS = [
    "", " ", "a", "7", " 12 ", "+7", "-8", "-", "+", ".", "2.7", "2.", ".5", "-.5", "1e2", "1E-2", "300", "-129",
    "00000000000000000000000000000000012", "99999999999999999999", "2147483648", "1 2", "\t5\n", "5\u0000", "1.005",
    "-1.005", "99.995", "12345.6", "123456789", "NaN", "nan", "inf", "+Infinity", "-inf", "Infinity", "1d", "1.5F",
    "0x1p3", "0x10", "1e400", "-1e400", "1e-400", "16777217", "3.4028235677973366e38", "true", "T", " yes ", "no",
    "on", "2026", "2026-1", "2026-1-5", "2026-01-05", "2026-02-30", "2026-13-01", "2026-01-05T", "2026-01-05 x",
    "2026-01-05 1:2:3", "2026-01-05T01:02:03.1234567", "2026-01-05 24:00:00", "2026-01-05 23:59:60",
    "2026-01-05 10:11:12Z", "2026-01-05 10:11", "202-01-01", "20260105", "2026/01/05", "00:00:00", "\u0661", "1_000",
    "99999999999999999999999999999999999999999", "0.12345678901234567890123456789", "--5", "1,000", "5-", "2026-",
    "2026-1-", "2026-01-05Z", "2026-01-05 ",
]  # fmt: skip
BYTES = ["X'61'", "X''", "X'ff'", "X'c3bc'"]
TARGETS = [*VALUES, "DECIMAL(3,1)", "STRING", "BINARY"]
SOURCES = [*VALUES, "STRING", "BINARY"]
UNSUPPORTED = "unsupported"
UNKNOWN = {
    ("DECIMAL(38,8)", "TIMESTAMP"),
    ("DECIMAL(38,8)", "STRING"),  # LEGACY only
    *((source, "BINARY") for source in ("TINYINT", "SMALLINT", "INT", "BIGINT")),  # LEGACY only
}
_RAISED = re.compile(r"Invalid Input Error: ([A-Z][A-Z_.]+)")


def _type(text: str) -> DataType:
    return parse_schema(f"v {text}").columns[0].type


def literals(source: str) -> list[str]:
    """Write the values of a type as Spark SQL."""
    if source == "BINARY":
        return BYTES
    if source == "STRING":
        return [_quoted(text) for text in TEXTS]
    return [f"CAST('{value}' AS {source})" for value in VALUES[source]]


def _quoted(text: str) -> str:
    return "'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + "'"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Start Spark once."""
    session = start_session()
    yield session
    session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """Open a database in UTC."""
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'; SET threads = 1")
    return made


def by_spark(spark: SparkSession, literal: str, target: str, identify: Identify) -> object:
    """Cast one value; give its identity or the error class."""
    try:
        table = spark.sql(f"SELECT CAST({literal} AS {target}) AS v").toArrow()
    except PySparkException as error:
        return error.getCondition()
    return identify(table_to_rows(table, Schema((Field("v", _type(target)),)))[0])


def all_by_spark(
    spark: SparkSession, given: list[str], target: str, failure: Failure, identify: Identify
) -> list[object]:
    """Cast many values in one query; but for LEGACY a failure is NULL here."""
    word = "CAST" if failure is Failure.LEGACY else "TRY_CAST"
    if not given:
        return []
    columns = ", ".join(f"{word}({literal} AS {target}) AS v{i}" for i, literal in enumerate(given))
    schema = Schema(tuple(Field(f"v{i}", _type(target)) for i in range(len(given))))
    (row,) = table_to_rows(spark.sql(f"SELECT {columns}").toArrow(), schema)
    return [identify((value,)) for value in row]


def by_reference(
    connection: duckdb.DuckDBPyConnection, literal: str, types: tuple[str, str], failure: Failure, identify: Identify
) -> object:
    """Cast one value; give its identity, the error class, or "unsupported"."""
    source, target = (_type(text) for text in types)
    operand = Translator(Scope(relations=(), place="test", case_sensitive=False))
    try:
        given = operand.translate(sqlglot.parse_one(literal, dialect=SparkDialect))
        sql = cast(given.sql, source, target, failure, CAST_OVERFLOW)
        table = connection.sql(f"SELECT {sql} AS v").to_arrow_table()
    except UnsupportedByReferenceError:
        return UNSUPPORTED
    except duckdb.Error as error:
        raised = _RAISED.match(str(error))
        if raised is None:
            raise
        return UNSUPPORTED if raised.group(1) == "UNSUPPORTED" else raised.group(1)
    return identify(table_to_rows(table, Schema((Field("v", target),)))[0])


PAIRS = [(source, target) for source in SOURCES for target in TARGETS if source != target]


@pytest.mark.parametrize("failure", list(Failure), ids=lambda f: f.value)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_casts_mean_the_same(
    source: str, target: str, failure: Failure, spark: SparkSession, connection: duckdb.DuckDBPyConnection
) -> None:
    """A cast gives Spark's value or Spark's error class; the reference may abstain."""
    spark.conf.set("spark.sql.ansi.enabled", str(failure is not Failure.LEGACY).lower())
    schema = Schema((Field("v", _type(target)),))

    def identify(row: Row) -> object:
        return row_identity(row, schema)

    if not can_cast(_type(source), _type(target), failure):
        found = by_spark(spark, literals(source)[0], target, identify)
        assert str(found).startswith("DATATYPE_MISMATCH.CAST_WITH")
        return
    given = literals(source)
    ours = [by_reference(connection, literal, (source, target), failure, identify) for literal in given]
    decided = [(literal, mine) for literal, mine in zip(given, ours, strict=True) if mine != UNSUPPORTED]
    assert decided or (source, target) in UNKNOWN
    theirs = all_by_spark(spark, [literal for literal, _ in decided], target, failure, identify)
    null = identify((None,))
    num_failures = Counter[object]()
    for (literal, mine), spark_says in zip(decided, theirs, strict=True):
        one = spark_says
        if spark_says == null and failure is Failure.ERROR:  # NULL, or a failure
            num_failures[mine] += 1
            # one question per value is slow: of a class, Spark names the first two
            is_asked = not isinstance(mine, str) or num_failures[mine] <= 2
            one = by_spark(spark, literal, target, identify) if is_asked else mine
        assert one == mine or str(one).startswith(f"{mine}."), (literal, one, mine)


def test_which_casts_exist_is_sparks_answer(spark: SparkSession) -> None:
    """Up-casts and implicit casts are exactly Spark's own (R-236, R-251)."""
    java = spark._jvm
    assert java is not None
    catalyst = java.org.apache.spark.sql.catalyst
    rules, coercion = catalyst.expressions.Cast, catalyst.analysis.TypeCoercion
    named = {text: java.org.apache.spark.sql.types.DataType.fromDDL(text) for text in TARGETS}
    for source, theirs in named.items():
        sample = catalyst.expressions.Literal.default(theirs)
        for target, wanted in named.items():
            ours = (_type(source), _type(target))
            assert is_up_cast(*ours) == rules.canUpCast(theirs, wanted), (source, target)
            assert can_cast(*ours, Failure.ERROR) == rules.canAnsiCast(theirs, wanted), (source, target)
            assert can_cast(*ours, Failure.LEGACY) == rules.canCast(theirs, wanted), (source, target)
            assert has_implicit_cast(*ours) == coercion.implicitCast(sample, wanted).isDefined(), (source, target)
