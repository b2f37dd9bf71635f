"""Values as Spark computes them: casts under the store assignment policies, structs by name, errors of its analyser."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from resolved_merges import ON, assigned, converted, run

from mergecheck.merge.conf import ANSI_ENABLED, MergeConf, StoreAssignmentPolicy
from mergecheck.merge.errors import AnalysisError, ExecutionError, MergeError
from mergecheck.merge.expressions.spark_errors import from_spark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark

LEGACY = MergeConf(store_assignment_policy=StoreAssignmentPolicy.LEGACY)
STRICT = MergeConf(store_assignment_policy=StoreAssignmentPolicy.STRICT)

NUMBERS = (0, 1, -1, 127, 128, -129, 32768, -32769, 2**31 - 1, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, -(2**63), None)
FLOATS = ("0.0", "-0.0", "2.7", "-2.7", "127.9", "300.7", "70000.5", "3e9", "-3e9", "1e30", "-1e30", "NaN", "Infinity")
TEXTS = (
    *["2.7", ".5", ".", "-.7", "3.", "+4", "-2.9", " 3 ", "\t7\n", "1e2", "abc", "", "-", "+", "- 3", "1_0", "0x1F"],
    *["128", "300.9", "99999999999", "9223372036854775808", "-9223372036854775808", "true", "t", "NaN", "2020-01-01"],
    *["2020-1-1 1:2:3", "2020-13-01", "1.2355", "12345678901234567890.5"],
)


@contextmanager
def ansi(spark: SparkSession, enabled: str) -> Iterator[None]:
    before = spark.conf.get(ANSI_ENABLED)
    assert before is not None
    spark.conf.set(ANSI_ENABLED, enabled)
    try:
        yield
    finally:
        spark.conf.set(ANSI_ENABLED, before)


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


def literals(kind: str) -> list[str]:
    if kind == "STRING":
        return [f"'{text}'" for text in TEXTS] + ["CAST(NULL AS STRING)"]
    if kind in {"FLOAT", "DOUBLE"}:
        return [f"CAST('{text}' AS {kind})" for text in FLOATS]
    if kind.startswith("DECIMAL"):
        return [
            f"CAST('{text}' AS {kind})"
            for text in ("0", "0.5", "-2.7", "0.000000012", "300.49", "3000000000.99", "-3000000000.99")
        ]
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
    """R-251: LEGACY wraps and gives NULL whatever ``spark.sql.ansi.enabled`` does to the user's own CAST."""
    values = literals(source)
    text = converted(spark, source, target, LEGACY)
    with ansi(spark, "true"):
        got = results(spark, text, values)
    with ansi(spark, "false"):
        expected = results(spark, f"CAST(x AS {target})", values)
    assert dict(zip(values, expected, strict=True)) == dict(zip(values, got, strict=True))


ATOMIC = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("0", "-1", "127", "-128"),
    "SMALLINT": ("0", "300", "-32768"),
    "INT": ("0", "70000", "-2147483648"),
    "BIGINT": ("0", "5000000000", "9223372036854775807", "-9223372036854775808"),
    "FLOAT": ("'0'", "'1.5'", "'-3e9'", "'NaN'", "'Infinity'", "'1e30'"),
    "DOUBLE": ("'-0'", "'-2.7'", "'3e9'", "'NaN'", "'-Infinity'", "'1e30'"),
    "DECIMAL(5,2)": ("'0'", "'1.55'", "'-999.99'"),
    "DECIMAL(38,0)": ("'5'", f"'{10**38 - 1}'", f"'-{10**38 - 1}'", f"'{2**64 - 1}'", f"'{2**63}'", f"'-{2**63 + 1}'"),
    "DECIMAL(38,10)": (
        "'0'",
        "'0.9'",
        "'-0.000000012'",
        "'0.0000000001'",
        "'0.000001'",
        f"'{10**28 - 1}.9999999999'",
        f"'{2**64 - 1}.5'",
        f"'-{2**63}.5'",
    ),
    "STRING": ("''", "'abc'", "'12'", "'1.5'", "'true'", "'2020-01-02'", "'2020-01-02 03:04:05'", "'NaN'"),
    "BINARY": ("X''", "X'414243'", "X'FF'"),
    "DATE": ("'1970-01-01'", "'2020-02-03'"),
    "TIMESTAMP": ("'1970-01-01 00:00:00'", "'2020-02-03 04:05:06.789'", "'1900-01-01 00:00:00.5'"),
    "TIMESTAMP_NTZ": ("'1970-01-01 00:00:00'", "'2020-02-03 04:05:06.789'"),
}


@pytest.mark.parametrize("source", ATOMIC)
def test_legacy_assignment_covers_every_pair_of_atomic_types(spark: SparkSession, source: str) -> None:
    """R-251: if non-ANSI CAST permits a value it is written, in any session; others are refused."""
    with ansi(spark, "true"):
        own = {target: _converted_or_class(spark, source, target, LEGACY) for target in ATOMIC if target != source}
    with ansi(spark, "false"):
        others = {target: _cast_or_class(spark, source, target) for target in own}
    assert {t: c for t, c in own.items() if c in CAST_ERRORS} == {t: c for t, c in others.items() if c in CAST_ERRORS}
    values = [f"CAST({value} AS {source})" for value in (*ATOMIC[source], "NULL")]
    with ansi(spark, "true"):
        got = results(spark, _readable(own), values)
    with ansi(spark, "false"):
        expected = results(spark, _readable(others), values)
    assert dict(zip(values, got, strict=True)) == dict(zip(values, expected, strict=True))


@pytest.mark.parametrize("source", ATOMIC)
def test_ansi_assignment_permits_the_same_casts_in_every_session(spark: SparkSession, source: str) -> None:
    """R-251: the policy alone decides which casts exist, unless the flag makes the session's mode decide."""
    targets = [target for target in ATOMIC if target != source]
    with ansi(spark, "true"):
        expected = {target: _cast_or_class(spark, source, target) in CAST_ERRORS for target in targets}
    with ansi(spark, "false"):
        plain = {target: _cast_or_class(spark, source, target) in CAST_ERRORS for target in targets}
        conf = MergeConf(ansi_enabled=False)
        assert {t: _converted_or_class(spark, source, t, conf) in CAST_ERRORS for t in targets} == expected
        conf = MergeConf(ansi_enabled=False, casting_follows_ansi_flag=True)
        assert {t: _converted_or_class(spark, source, t, conf) in CAST_ERRORS for t in targets} == plain


CAST_ERRORS = {f"DATATYPE_MISMATCH.CAST_WITH{what}_SUGGESTION" for what in ("OUT", "_FUNC", "_CONF")}


def _converted_or_class(spark: SparkSession, source: str, target: str, conf: MergeConf) -> str:
    try:
        return converted(spark, source, target, conf)
    except AnalysisError as error:
        return error.error_class


def _cast_or_class(spark: SparkSession, source: str, target: str) -> str:
    try:
        spark.sql(f"SELECT CAST(CAST(NULL AS {source}) AS {target})").schema  # noqa: B018 - analysed when it is read
    except PySparkException as error:
        return error.getCondition() or ""
    return f"CAST(x AS {target})"


def _readable(texts: dict[str, str]) -> str:
    """Put the values of all targets into one struct; a timestamp may be too late for Python's calendar."""
    inside = [
        f"unix_micros({text})" if target == "TIMESTAMP" else text
        for target, text in texts.items()
        if text not in CAST_ERRORS
    ]
    return f"struct({', '.join(inside)})"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRING", "INT"), ("STRING", "DECIMAL(5,2)"), ("STRING", "DATE"), ("STRING", "BOOLEAN"),
        ("BIGINT", "TINYINT"), ("BIGINT", "DECIMAL(5,2)"), ("DOUBLE", "INT"), ("DOUBLE", "DECIMAL(5,2)"),
        ("DOUBLE", "TIMESTAMP"), ("DECIMAL(20,9)", "STRING"),
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
        ("INT", "STRING"), ("DATE", "TIMESTAMP"), ("TIMESTAMP", "BIGINT"), ("BIGINT", "TIMESTAMP"),
        ("ARRAY<INT>", "ARRAY<BIGINT>"),
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
        ("DECIMAL(5,2)", "DECIMAL(5,1)"), ("DECIMAL(5,2)", "DOUBLE"), ("DECIMAL(3,0)", "FLOAT"),
        ("TIMESTAMP", "DATE"), ("ARRAY<BIGINT>", "ARRAY<INT>"),
        ("MAP<STRING, STRUCT<a: BIGINT>>", "MAP<STRING, STRUCT<a: INT>>"), ("ARRAY<INT>", "STRING"),
    ],
)  # fmt: skip
def test_strict_assignment_refuses_all_else(spark: SparkSession, source: str, target: str) -> None:
    """R-251."""
    with pytest.raises(AnalysisError, match="CANNOT_UP_CAST_DATATYPE"):
        converted(spark, source, target, STRICT)


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
        ("WHEN MATCHED THEN UPDATE SET v = (SELECT max(id) FROM range(3) WHERE id = s.v)",
         "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"),
    ],
)  # fmt: skip
def test_sparks_analysis_errors_surface_under_their_class(spark: SparkSession, clause: str, expected: str) -> None:
    """R-132, R-133, R-134: what only Spark knows is found in analysis and keeps Spark's name."""
    with pytest.raises(AnalysisError) as caught:
        run(spark, ON + clause, target="id INT, v INT", source="id INT, v INT")
    assert caught.value.error_class == expected


def test_spark_says_that_a_condition_is_no_boolean(spark: SparkSession) -> None:
    """R-135: which is reported when the plans are made."""
    merge = run(spark, ON + "WHEN MATCHED AND length(s.v) THEN DELETE", target="id INT, v INT", source="id INT, v INT")
    assert merge.not_boolean is not None
    assert merge.not_boolean.error_class == "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"


def test_an_uncorrelated_scalar_subquery_is_a_value(spark: SparkSession) -> None:
    """R-134, also where it has to be cast."""
    assert assigned(spark, "0", kind="INT", target="INT", given="(SELECT max(id) FROM range(7))") == 6


def test_an_untyped_null_condition_never_holds(spark: SparkSession) -> None:
    """R-301: NULL is FALSE, and it is handed on as a boolean."""
    merge = run(spark, ON + "WHEN MATCHED AND NULL THEN DELETE", target="id INT", source="id INT")
    assert merge.matched[0].condition is not None
    assert merge.matched[0].condition.sql == "CAST(NULL AS BOOLEAN)"


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
