"""Values as Spark computes them: casts under the store assignment policies, structs by name, errors of its analyser."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from merge.conf import ANSI_ENABLED, MergeConf, StoreAssignmentPolicy
from merge.errors import AnalysisError, ExecutionError, MergeError, UnsupportedStatementError, from_spark
from merge.parser import parse_merge
from merge.resolution.resolve import resolve
from merge.resolution.type_sql import type_sql
from merge.resolution.types import SparkExpressionTypes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from merge.resolution.resolved import ResolvedMerge

pytestmark = pytest.mark.spark

ON = "MERGE INTO target t USING source s ON t.id = s.id "
LEGACY = MergeConf(store_assignment_policy=StoreAssignmentPolicy.LEGACY)
STRICT = MergeConf(store_assignment_policy=StoreAssignmentPolicy.STRICT)

NUMBERS = (0, 1, -1, 127, 128, -129, 32768, -32769, 2**31 - 1, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, -(2**63), None)
FLOATS = ("0.0", "-0.0", "2.7", "-2.7", "127.9", "300.7", "70000.5", "3e9", "-3e9", "1e30", "-1e30", "NaN", "Infinity")
TEXTS = (
    *["2.7", ".5", ".", "-.7", "3.", "+4", "-2.9", " 3 ", "\t7\n", "1e2", "abc", "", "-", "+", "- 3", "1_0", "0x1F"],
    *["128", "300.9", "99999999999", "9223372036854775808", "-9223372036854775808", "true", "t", "NaN", "2020-01-01"],
    *["2020-1-1 1:2:3", "2020-13-01", "1.2355", "12345678901234567890.5"],
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    # Spark's Python side logs every failed analysis in full; these tests provoke them.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[1]")
        .appName("resolution")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.codegen.wholeStage", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@contextmanager
def ansi(spark: SparkSession, enabled: str) -> Iterator[None]:
    before = spark.conf.get(ANSI_ENABLED)
    spark.conf.set(ANSI_ENABLED, enabled)
    try:
        yield
    finally:
        spark.conf.set(ANSI_ENABLED, before)


def run(spark: SparkSession, sql: str, *, target: str, source: str, conf: MergeConf | None = None) -> ResolvedMerge:
    target_schema, source_schema = (StructType.fromDDL(ddl) for ddl in (target, source))
    return resolve(
        parse_merge(sql),
        target_schema=target_schema,
        source_schema=source_schema,
        conf=conf or MergeConf(),
        types=SparkExpressionTypes(spark, target_schema=target_schema, source_schema=source_schema),
    )


def assigned(
    spark: SparkSession, value: str, *, kind: str, target: str, conf: MergeConf | None = None, given: str = "s.v"
) -> Any:
    """Give what a column of type ``target`` holds after ``SET v = given`` where ``s.v`` is ``value``."""
    merge = run(
        spark,
        ON + f"WHEN MATCHED THEN UPDATE SET v = {given}",
        target=f"id INT, v {target}",
        source=f"id INT, v {kind}",
        conf=conf,
    )
    expression = merge.matched[0].values[1]
    source = f"SELECT 0 AS target_0, CAST(NULL AS {target}) AS target_1, CAST({value} AS {kind}) AS source_1"
    frame = spark.sql(f"SELECT {expression} AS v FROM ({source})")
    assert type_sql(frame.schema["v"].dataType) == type_sql(StructType.fromDDL(f"v {target}")["v"].dataType)
    return frame.collect()[0]["v"]


def results(spark: SparkSession, expression: str, values: list[str]) -> list[str]:
    """Evaluate an expression that never fails over ``x`` for all values at once."""
    rows = ", ".join(f"({index}, {value})" for index, value in enumerate(values))
    frame = spark.sql(f"SELECT i, {expression} AS r FROM VALUES {rows} AS given(i, x)")
    return [repr(row["r"]) for row in sorted(frame.collect())]


def outcomes(spark: SparkSession, expression: str, values: list[str]) -> list[str]:
    """Evaluate an expression over ``x`` for each value by itself: the result, or that it fails."""
    found = []
    for value in values:
        try:
            found.append(repr(spark.sql(f"SELECT {expression} AS r FROM (SELECT {value} AS x)").collect()[0]["r"]))
        except PySparkException as error:
            raised = from_spark(error)
            assert isinstance(raised, ExecutionError), raised
            found.append(raised.error_class)
    return found


def converted(spark: SparkSession, source: str, target: str, conf: MergeConf) -> str:
    """Give the text that brings ``x`` of one type to another."""
    merge = run(
        spark,
        ON + "WHEN MATCHED THEN UPDATE SET v = s.v",
        target=f"id INT, v {target}",
        source=f"id INT, v {source}",
        conf=conf,
    )
    return merge.matched[0].values[1].replace("source_1", "x")


def literals(kind: str) -> list[str]:
    if kind == "STRING":
        return [f"'{text}'" for text in TEXTS] + ["CAST(NULL AS STRING)"]
    if kind in {"FLOAT", "DOUBLE"}:
        return [f"CAST('{text}' AS {kind})" for text in FLOATS]
    if kind.startswith("DECIMAL"):
        return [f"CAST('{text}' AS {kind})" for text in ("0.5", "-2.7", "300.49", "3000000000.99", "-3000000000.99")]
    if kind == "TIMESTAMP":
        return [
            f"TIMESTAMP'{text} UTC'" for text in ("1970-01-01 00:00:01", "2040-01-01 00:00:00", "1900-01-01 00:00:00")
        ]
    return [f"CAST({'NULL' if n is None else n} AS BIGINT)" for n in NUMBERS]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *((source, target)
          for source in ("BIGINT", "STRING", "FLOAT", "DOUBLE", "DECIMAL(16,4)", "TIMESTAMP")
          for target in ("TINYINT", "SMALLINT", "INT", "BIGINT")),
        *((source, "DECIMAL(5,2)") for source in ("BIGINT", "STRING", "FLOAT", "DOUBLE", "DECIMAL(16,4)")),
        ("STRING", "DOUBLE"), ("STRING", "BOOLEAN"), ("STRING", "DATE"), ("STRING", "TIMESTAMP"),
    ],
)  # fmt: skip
def test_legacy_assignment_in_an_ansi_session_is_the_non_ansi_cast(
    spark: SparkSession, source: str, target: str
) -> None:
    """R-251: LEGACY wraps and gives NULL whatever ``spark.sql.ansi.enabled`` says about the user's own CAST."""
    values = literals(source)
    text = converted(spark, source, target, LEGACY)
    with ansi(spark, "true"):
        got = results(spark, text, values)
    with ansi(spark, "false"):
        expected = results(spark, f"CAST(x AS {target})", values)
    assert dict(zip(values, expected, strict=True)) == dict(zip(values, got, strict=True))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRING", "INT"), ("STRING", "DECIMAL(5,2)"), ("STRING", "DATE"), ("STRING", "BOOLEAN"),
        ("BIGINT", "TINYINT"), ("BIGINT", "DECIMAL(5,2)"), ("DOUBLE", "INT"), ("DOUBLE", "DECIMAL(5,2)"),
    ],
)  # fmt: skip
def test_ansi_assignment_in_a_non_ansi_session_is_the_ansi_cast(spark: SparkSession, source: str, target: str) -> None:
    """R-251: the ANSI policy fails on overflow and malformed text although the user's own CAST would not."""
    values = literals(source)
    text = converted(spark, source, target, MergeConf(ansi_enabled=False))
    with ansi(spark, "false"):
        got = outcomes(spark, text, values)
    with ansi(spark, "true"):
        expected = outcomes(spark, f"CAST(x AS {target})", values)
    assert dict(zip(values, expected, strict=True)) == dict(zip(values, got, strict=True))


def test_values_are_cast_to_their_columns(spark: SparkSession) -> None:
    """R-250, R-253: truncation, half-up rounding, text to numbers; NULL is a NULL of the column's type."""
    assert assigned(spark, "3.55", kind="DOUBLE", target="INT") == 3
    assert str(assigned(spark, "1.2355", kind="DECIMAL(5,4)", target="DECIMAL(4,2)")) == "1.24"
    assert assigned(spark, "'12'", kind="STRING", target="INT") == 12
    assert assigned(spark, "1", kind="INT", target="INT", given="NULL") is None
    assert assigned(spark, "true", kind="BOOLEAN", target="INT") == 1


def test_overflow_of_an_assignment_has_deltas_class(spark: SparkSession) -> None:
    """R-252."""
    with pytest.raises(PySparkException) as caught:
        assigned(spark, "1099511627776", kind="BIGINT", target="INT")
    raised = from_spark(caught.value)
    assert isinstance(raised, ArithmeticError)
    assert isinstance(raised, MergeError)
    assert raised.error_class == "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("STRING", "STRUCT<a: INT>", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("INT", "DATE", "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION"),
        ("ARRAY<INT>", "INT", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("BOOLEAN", "DATE", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
    ],
)
def test_casts_that_do_not_exist_fail_in_analysis(spark: SparkSession, source: str, target: str, expected: str) -> None:
    """R-251: nothing has to be read to know it."""
    with pytest.raises(AnalysisError) as caught:
        converted(spark, source, target, MergeConf())
    assert caught.value.error_class == expected
    assert "source_" not in caught.value.message, "positional names mean nothing to a user"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("INT", "BIGINT"), ("BIGINT", "DOUBLE"), ("INT", "DECIMAL(12,2)"), ("DECIMAL(5,2)", "DECIMAL(7,3)"),
        ("INT", "STRING"), ("DATE", "TIMESTAMP"), ("ARRAY<INT>", "ARRAY<BIGINT>"),
        ("STRUCT<b: INT, a: INT>", "STRUCT<a: BIGINT, b: INT>"),
    ],
)  # fmt: skip
def test_strict_assignment_allows_up_casts(spark: SparkSession, source: str, target: str) -> None:
    """R-251: what cannot lose anything is assigned, inside structs and arrays too."""
    converted(spark, source, target, STRICT)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("BIGINT", "INT"), ("STRING", "INT"), ("STRING", "BOOLEAN"), ("DOUBLE", "FLOAT"), ("INT", "DECIMAL(9,0)"),
        ("DECIMAL(5,2)", "DECIMAL(5,1)"), ("TIMESTAMP", "DATE"), ("ARRAY<BIGINT>", "ARRAY<INT>"),
        ("MAP<STRING, STRUCT<a: BIGINT>>", "MAP<STRING, STRUCT<a: INT>>"),
    ],
)  # fmt: skip
def test_strict_assignment_refuses_all_else(spark: SparkSession, source: str, target: str) -> None:
    """R-251."""
    with pytest.raises(AnalysisError, match="CANNOT_UP_CAST_DATATYPE"):
        converted(spark, source, target, STRICT)


SWAPPED = "named_struct('b', 'x', 'a', 1)"


@pytest.mark.parametrize(
    ("kind", "target", "value", "expected"),
    [
        ("STRUCT<b: STRING, A: INT>", "STRUCT<a: BIGINT, b: STRING>", SWAPPED, {"a": 1, "b": "x"}),
        ("STRUCT<b: STRING, A: INT>", "STRUCT<a: BIGINT, b: STRING>", "NULL", None),
        ("ARRAY<STRUCT<b: STRING, a: INT>>", "ARRAY<STRUCT<a: INT, b: STRING>>", f"array(NULL, {SWAPPED})",
         [None, {"a": 1, "b": "x"}]),
        ("MAP<STRING, STRUCT<b: STRING, a: INT>>", "MAP<STRING, STRUCT<a: INT, b: STRING>>",
         f"map('k', {SWAPPED}, 'n', NULL)", {"k": {"a": 1, "b": "x"}, "n": None}),
        ("STRUCT<o: STRUCT<b: STRING, a: INT>, n: ARRAY<INT>>",
         "STRUCT<n: ARRAY<BIGINT>, o: STRUCT<a: INT, b: STRING>>",
         "named_struct('o', NULL, 'n', array(1, NULL))", {"n": [1, None], "o": None}),
        ("STRUCT<`b'c`: INT, `a``.d`: INT>", "STRUCT<`a``.d`: INT, `b'c`: INT>",
         "named_struct('b\\'c', 1, 'a`.d', 2)", {"a`.d": 2, "b'c": 1}),
    ],
)  # fmt: skip
def test_structs_are_matched_by_name_at_every_depth(
    spark: SparkSession, kind: str, target: str, value: str, expected: Any
) -> None:
    """R-242, R-245: order and case of fields do not matter, NULL structs stay NULL, elements and values too."""
    for given in ("s.v", "if(true, s.v, NULL)"):
        got = assigned(spark, value, kind=kind, target=target, given=given)
        assert _plain(got) == expected


def test_struct_keys_of_maps_are_matched_by_name(spark: SparkSession) -> None:
    """R-242, for keys, which Python cannot hold as dicts."""
    kind, target = "MAP<STRUCT<b: STRING, a: INT>, INT>", "MAP<STRUCT<a: INT, b: STRING>, BIGINT>"
    got = assigned(spark, f"map({SWAPPED}, 1)", kind=kind, target=target)
    assert [(key.asDict(), value) for key, value in got.items()] == [({"a": 1, "b": "x"}, 1)]


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def test_struct_spelling_is_the_targets(spark: SparkSession) -> None:
    """R-120: fields that differ in case only keep the target's spelling."""
    assert _plain(assigned(spark, "named_struct('A', 1)", kind="STRUCT<A: INT>", target="STRUCT<a: INT>")) == {"a": 1}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRUCT<a: INT, b: INT, c: INT>", "STRUCT<a: INT, b: INT>"),
        ("STRUCT<a: INT>", "STRUCT<a: INT, b: INT>"),
        ("ARRAY<STRUCT<a: INT>>", "ARRAY<STRUCT<b: INT>>"),
        ("MAP<STRUCT<a: INT, c: INT>, INT>", "MAP<STRUCT<a: INT>, INT>"),
        ("STRUCT<o: STRUCT<a: INT>>", "STRUCT<o: STRUCT<b: INT>>"),
    ],
)
def test_fields_must_be_the_same(spark: SparkSession, source: str, target: str) -> None:
    """R-243: without evolution neither side may have a field of its own."""
    with pytest.raises(AnalysisError, match=r"DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION.*All nested columns must match"):
        converted(spark, source, target, MergeConf())


def test_an_assigned_field_of_a_null_struct_makes_a_struct(spark: SparkSession) -> None:
    """R-213: ``s = NULL, SET s.b.c = 5`` gives a struct whose other fields are NULL."""
    merge = run(
        spark,
        ON + "WHEN MATCHED THEN UPDATE SET v.b.c = 5L",
        target="id INT, v STRUCT<a: INT, b: STRUCT<c: INT, d: INT>>",
        source="id INT",
    )
    frame = spark.sql(
        f"SELECT {merge.matched[0].values[1]} AS v "
        "FROM (SELECT CAST(NULL AS STRUCT<a: INT, b: STRUCT<c: INT, d: INT>>) AS target_1)"
    )
    assert _plain(frame.collect()[0]["v"]) == {"a": None, "b": {"c": 5, "d": None}}


def test_a_value_is_evaluated_once_however_it_is_cast(spark: SparkSession) -> None:
    """R-330: rebuilding a struct from ``uuid()`` must not draw twice."""
    merge = run(
        spark,
        ON + "WHEN MATCHED THEN UPDATE SET v = transform(array(uuid()), u -> named_struct('b', u, 'a', u))[0]",
        target="id INT, v STRUCT<a: STRING, b: STRING>",
        source="id INT",
    )
    row = spark.sql(f"SELECT {merge.matched[0].values[1]} AS v").collect()[0]["v"]
    assert row["a"] == row["b"]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("WHEN MATCHED AND s.v IN (SELECT a FROM no_such_table) THEN DELETE", "TABLE_OR_VIEW_NOT_FOUND"),
        ("WHEN MATCHED AND s.v IN (SELECT 1) THEN DELETE", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("WHEN MATCHED AND no_such_function(s.v) THEN DELETE", "UNRESOLVED_ROUTINE"),
        ("WHEN MATCHED AND s.v + true > 1 THEN DELETE", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"),
        ("WHEN MATCHED AND length(s.v) THEN DELETE", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("WHEN MATCHED THEN UPDATE SET v = (SELECT max(id) FROM range(3) WHERE id = s.v)",
         "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"),
    ],
)  # fmt: skip
def test_sparks_analysis_errors_surface_under_their_class(spark: SparkSession, clause: str, expected: str) -> None:
    """R-132, R-133, R-134: what only Spark knows is found in analysis and keeps Spark's name."""
    with pytest.raises(AnalysisError) as caught:
        run(spark, ON + clause, target="id INT, v INT", source="id INT, v INT")
    assert caught.value.error_class == expected


def test_an_uncorrelated_scalar_subquery_is_a_value(spark: SparkSession) -> None:
    """R-134, also where it has to be cast."""
    assert assigned(spark, "0", kind="INT", target="INT", given="(SELECT max(id) FROM range(7))") == 6


def test_an_untyped_null_condition_never_holds(spark: SparkSession) -> None:
    """R-301: NULL is FALSE, and it is handed on as a boolean."""
    merge = run(spark, ON + "WHEN MATCHED AND NULL THEN DELETE", target="id INT", source="id INT")
    assert merge.matched[0].condition is not None
    assert merge.matched[0].condition.sql == "CAST(NULL AS BOOLEAN)"


def test_legacy_casts_without_a_spelling_are_refused_by_name(spark: SparkSession) -> None:
    """A cast that ANSI mode lacks cannot be written in an ANSI session; the message says what helps."""
    with pytest.raises(UnsupportedStatementError, match=r"LEGACY store assignment of DATE to INT.*ansi\.enabled"):
        converted(spark, "DATE", "INT", LEGACY)


def test_errors_of_jobs_keep_their_class_and_faults_of_the_system_do_not_become_ours(spark: SparkSession) -> None:
    """A failed division is the data's fault; an exception of Python code inside a job is not."""
    with pytest.raises(PySparkException) as division:
        spark.sql("SELECT 1 / (id - id) FROM range(2)").collect()
    raised = from_spark(division.value)
    assert isinstance(raised, ExecutionError)
    assert raised.error_class == "DIVIDE_BY_ZERO"
    with pytest.raises(PySparkException) as internal:
        spark.sql("SELECT raise_error('plain text')").collect()
    assert isinstance(from_spark(internal.value), ExecutionError)
