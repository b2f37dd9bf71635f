"""Values as Spark computes them: casts under the store assignment policies, structs by name, errors of its analyser."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from mergecheck.merge.conf import ANSI_ENABLED, MergeConf, StoreAssignmentPolicy
from mergecheck.merge.errors import AnalysisError, ExecutionError, MergeError
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.expressions.spark_errors import from_spark
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from mergecheck.merge.expressions.resolved import ResolvedMerge

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


@contextmanager
def ansi(spark: SparkSession, enabled: str) -> Iterator[None]:
    before = spark.conf.get(ANSI_ENABLED)
    assert before is not None
    spark.conf.set(ANSI_ENABLED, enabled)
    try:
        yield
    finally:
        spark.conf.set(ANSI_ENABLED, before)


def schema_of(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def run(spark: SparkSession, sql: str, *, target: str, source: str, conf: MergeConf | None = None) -> ResolvedMerge:
    target_schema, source_schema = schema_of(target), schema_of(source)
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
    assert type_sql(frame.schema["v"].dataType) == type_sql(schema_of(f"v {target}")["v"].dataType)
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
    """R-251: LEGACY wraps and gives NULL whatever ``spark.sql.ansi.enabled`` says about the user's own CAST."""
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
    """R-251: what non-ANSI CAST permits is written, whatever the session says, and what it does not is refused."""
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


def evolved(
    spark: SparkSession,
    clause: str,
    *,
    target: str,
    source: str,
    old: str = "NULL",
    new: str = "NULL",
    conf: MergeConf | None = None,
) -> Any:
    """Give column ``v`` after a clause with schema evolution, where ``t.v`` is ``old`` and ``s.v`` is ``new``."""
    merge = run(
        spark,
        ON.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION") + clause,
        target=f"id INT, v {target}",
        source=f"id INT, v {source}",
        conf=conf,
    )
    row = (
        f"SELECT 0 AS target_0, CAST({old} AS {target}) AS target_1, 0 AS source_0, CAST({new} AS {source}) AS source_1"
    )
    kind = merge.final_schema["v"].dataType
    frame = spark.sql(f"SELECT {merge.clauses[0].values[1]} AS v, {merge.old_values[1]} AS old FROM ({row})")
    assert [type_sql(field.dataType) for field in frame.schema.fields] == [type_sql(kind)] * 2
    return _plain(frame.collect()[0][0])


OLD, NEW = "named_struct('y', 2, 'z', 3)", "named_struct('x', 10, 'y', 20)"
EXPLICIT = "WHEN MATCHED THEN UPDATE SET v = s.v"
INSERT_STAR = "WHEN NOT MATCHED THEN INSERT *"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
UPDATE_STAR = "WHEN MATCHED THEN UPDATE SET *"
NULLS = {"y": None, "z": None, "x": None}


@pytest.mark.parametrize(
    ("clause", "old", "new", "preserved", "expanded"),
    [
        *(
            (clause, old, new, *results)
            for clause in (EXPLICIT, INSERT_STAR, INSERT)
            for old in ("NULL", OLD)
            for new, *results in (("NULL", None, NULLS), (NEW, *[{"y": 20, "z": None, "x": 10}] * 2))
        ),
        (UPDATE_STAR, "NULL", "NULL", None, NULLS),
        (UPDATE_STAR, "NULL", NEW, *[{"y": 20, "z": None, "x": 10}] * 2),
        (UPDATE_STAR, OLD, "NULL", *[{"y": None, "z": 3, "x": None}] * 2),
        (UPDATE_STAR, OLD, NEW, *[{"y": 20, "z": 3, "x": 10}] * 2),
    ],
)
def test_null_structs_and_fields_that_only_the_target_has(  # noqa: PLR0917 - one argument per column of the table
    spark: SparkSession, clause: str, old: str, new: str, preserved: Any, expanded: Any
) -> None:
    """R-244, row by row, with both settings on and off."""
    off = MergeConf(preserve_null_source_structs=False, preserve_null_source_structs_update_star=False)
    for conf, expected in ((MergeConf(), preserved), (off, expanded)):
        kinds = ("STRUCT<y: INT, z: INT>", "STRUCT<x: INT, y: INT>")
        got = evolved(spark, clause, target=kinds[0], source=kinds[1], old=old, new=new, conf=conf)
        assert got == expected


def test_without_fields_of_the_target_an_update_star_takes_the_source(spark: SparkSession) -> None:
    """R-244, second row of ``UPDATE *``: a NULL source makes NULL of any struct."""
    for new, expected in (("NULL", None), (NEW, {"y": 20, "x": 10})):
        kinds = ("STRUCT<y: INT>", "STRUCT<x: INT, y: INT>")
        got = evolved(spark, UPDATE_STAR, target=kinds[0], source=kinds[1], old="named_struct('y', 2)", new=new)
        assert got == expected


def test_the_table_of_null_structs_holds_at_each_level(spark: SparkSession) -> None:
    """R-244: an inner struct is preserved by its own old value, inside arrays and maps nothing is."""
    target = "STRUCT<a: STRUCT<p: INT, q: INT>, b: STRUCT<p: INT, q: INT>, xs: ARRAY<STRUCT<p: INT, q: INT>>>"
    old = "named_struct('a', named_struct('p', 1, 'q', 2), 'b', NULL, 'xs', array(named_struct('p', 1, 'q', 2)))"
    source = "STRUCT<xs: ARRAY<STRUCT<p: INT>>, b: STRUCT<p: INT>, a: STRUCT<p: INT>>"
    new = "named_struct('xs', array(named_struct('p', 5), NULL), 'b', NULL, 'a', NULL)"
    assert evolved(spark, UPDATE_STAR, target=target, source=source, old=old, new=new) == {
        "a": {"p": None, "q": 2},
        "b": None,
        "xs": [{"p": 5, "q": None}, None],
    }


@pytest.mark.parametrize(
    ("target", "source", "old", "expected"),
    [
        ("STRUCT<a: INT>", "STRUCT<b: INT>", "named_struct('a', 1)", {"a": 1, "b": None}),
        ("STRUCT<a: INT>", "STRUCT<b: INT>", "NULL", None),
        ("ARRAY<STRUCT<a: INT>>", "ARRAY<STRUCT<b: INT>>", "array(NULL, named_struct('a', 1))",
         [None, {"a": 1, "b": None}]),
        ("MAP<STRING, STRUCT<a: STRUCT<c: INT>>>", "MAP<STRING, STRUCT<a: STRUCT<d: ARRAY<INT>>>>",
         "map('k', named_struct('a', NULL), 'n', NULL, 'f', named_struct('a', named_struct('c', 1)))",
         {"k": {"a": None}, "n": None, "f": {"a": {"c": 1, "d": None}}}),
    ],
)  # fmt: skip
def test_kept_values_are_rebuilt_with_new_fields(
    spark: SparkSession, target: str, source: str, old: str, expected: Any
) -> None:
    """R-211, R-241: a clause that assigns another column keeps this one; new fields are NULL, NULL stays NULL."""
    clause = "WHEN MATCHED AND true THEN UPDATE SET id = 0 WHEN MATCHED THEN UPDATE SET v = s.v"
    assert evolved(spark, clause, target=target, source=source, old=old) == expected


def test_array_functions_see_elements_of_the_columns_type(spark: SparkSession) -> None:
    """R-246: two elements that the cast makes equal are one to ``array_distinct``, but not to a function around it."""
    kind, target = "ARRAY<STRUCT<a: DOUBLE>>", "ARRAY<STRUCT<a: INT>>"
    value = "array(named_struct('a', 1.2D), named_struct('a', 1.7D))"
    ones = [{"a": 1}, {"a": 1}]
    assert _plain(assigned(spark, value, kind=kind, target=target, given="array_distinct(s.v)")) == ones[:1]
    assert _plain(assigned(spark, value, kind=kind, target=target, given="array_union(s.v, array())")) == ones[:1]
    removed = "array_remove(s.v, named_struct('a', 1.0D))"
    assert _plain(assigned(spark, value, kind=kind, target=target, given=removed)) == []
    assert _plain(assigned(spark, value, kind=kind, target=target, given="reverse(array_distinct(s.v))")) == ones


def test_structs_by_position_follow_spark(spark: SparkSession) -> None:
    """R-242 with ``resolveMergeUpdateStructsByName.enabled`` off: names do not count, numbers of fields do."""
    by_position = MergeConf(resolve_merge_update_structs_by_name=False)
    kind, value = "STRUCT<b: INT, a: INT>", "named_struct('b', 1, 'a', 2)"
    got = assigned(spark, value, kind=kind, target="STRUCT<a: BIGINT, b: INT>", conf=by_position)
    assert _plain(got) == {"a": 1, "b": 2}
    with pytest.raises(AnalysisError, match=r"DATATYPE_MISMATCH\.CAST_WITHOUT_SUGGESTION"):
        assigned(spark, value, kind=kind, target="STRUCT<a: INT>", conf=by_position)


def test_defaults_and_generated_columns_are_evaluated_as_spark_sql(spark: SparkSession) -> None:
    """R-220, R-222, R-223: a default is cast, a generated column sees cast values; one time for both."""
    metadata = [{}, {"CURRENT_DEFAULT": "'4'"}, {"CURRENT_DEFAULT": "current_timestamp()"}]
    schema = schema_of("id INT, d BIGINT, at TIMESTAMP, g STRING, h TIMESTAMP")
    expressions = ["concat('d=', D, '\\'', `id`)", "at"]
    metadata += [{"delta.generationExpression": text} for text in expressions]
    for field, extra in zip(schema.fields, metadata, strict=True):
        field.metadata = extra
    source = schema_of("id STRING")
    merge = resolve(
        parse_merge(ON + "WHEN MATCHED THEN UPDATE SET d = 2.9 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"),
        target_schema=schema,
        source_schema=source,
        conf=MergeConf(),
        types=SparkExpressionTypes(spark, target_schema=schema, source_schema=source),
    )
    inserted = ", ".join(merge.not_matched[0].values)
    row = spark.sql(f"SELECT {inserted} FROM (SELECT '7' AS source_0)").collect()[0]
    assert (row[0], row[1], row[3], row[2] == row[4]) == (7, 4, "d=4'7", True)
    old = "SELECT 1 AS target_0, 5L AS target_1, TIMESTAMP'2020-01-01 00:00:00' AS target_2, 'old' AS target_3"
    updated = spark.sql(f"SELECT {', '.join(merge.matched[0].values)} FROM ({old})").collect()[0]
    assert (updated[0], updated[1], updated[3], updated[2] == updated[4]) == (1, 2, "d=2'1", True)


@pytest.mark.parametrize(
    ("on", "clause", "expected"),
    [
        ("nope = 1", "WHEN MATCHED AND nah THEN UPDATE SET v = nil", "Cannot resolve nope in search condition"),
        (
            "rand() > 0",
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND nah THEN DELETE",
            "nah in DELETE",
        ),
        ("rand() > 0", "WHEN NOT MATCHED THEN INSERT *", "DELTA_FAILED_TO_MERGE_FIELDS"),
        ("rand() > 0", "WHEN MATCHED THEN UPDATE SET id = 1, id = 2", "NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        ("true", "WHEN MATCHED THEN UPDATE SET id = 1, id = 2", "DELTA_CONFLICT_SET_COLUMN"),
    ],
)
def test_the_first_failing_step_of_resolve_references_and_schema_is_reported(
    spark: SparkSession, on: str, clause: str, expected: str
) -> None:
    """R-113: ON, clauses kind by kind with actions before conditions, the schema, conditions, assignments."""
    sql = f"MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON {on} {clause}"
    with pytest.raises(AnalysisError, match=expected):
        run(spark, sql, target="id INT, v BOOLEAN", source="id INT, v INT")
