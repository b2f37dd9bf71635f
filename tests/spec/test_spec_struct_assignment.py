"""Assignments of structs on Spark: fields by name at every depth, schema evolution, NULL structs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from resolved_merges import ON, assigned, converted, run, schema_of

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


EXPLICIT = "WHEN MATCHED THEN UPDATE SET v = s.v"


INSERT_STAR = "WHEN NOT MATCHED THEN INSERT *"


INSERT = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"


UPDATE_STAR = "WHEN MATCHED THEN UPDATE SET *"


OLD, NEW = "named_struct('y', 2, 'z', 3)", "named_struct('x', 10, 'y', 20)"
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
