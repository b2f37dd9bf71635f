"""A merge that evolves its table: the final schema, what stars and new names assign, and old values in new types."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)
from resolving import EVOLVE, ON, failure, run, schema_of

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.resolution.schema_evolution import filter_schema, merge_schemas


def test_stars_with_evolution_assign_what_the_source_has() -> None:
    """R-202, R-203: columns of the source only; the others are kept or NULL, new ones come last."""
    merge = run(
        EVOLVE + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        target="id INT, gap STRING, v INT",
        source="extra STRING, V INT, id INT",
    )
    assert merge.final_schema == schema_of("id INT, gap STRING, v INT, extra STRING")
    assert merge.matched[0].values == ("source_2", "target_1", "source_1", "source_0")
    assert merge.not_matched[0].values == ("source_2", "CAST(NULL AS STRING)", "source_1", "source_0")
    assert merge.old_values == ("target_0", "target_1", "target_2", "CAST(NULL AS STRING)")


@pytest.mark.parametrize("by", ["statement", "setting"])
def test_evolution_is_switched_on_by_statement_or_setting(by: str) -> None:
    """Part 2: both ways are the same."""
    conf = MergeConf(schema_auto_merge=by == "setting")
    start = EVOLVE if by == "statement" else ON
    merge = run(start + "WHEN NOT MATCHED THEN INSERT *", source="id INT, v INT, w INT", conf=conf)
    assert merge.final_schema.names == ["id", "v", "w"]


def test_a_star_that_cannot_fire_still_evolves() -> None:
    """R-204, and R-230: clauses that assign nothing from the source do not."""
    source = "id INT, v INT, w INT"
    assert run(EVOLVE + "WHEN MATCHED AND false THEN UPDATE SET *", source=source).final_schema.names[-1] == "w"
    for clause in ("WHEN MATCHED AND s.w > 1 THEN DELETE", "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0"):
        merge = run(EVOLVE + clause, source=source)
        assert merge.final_schema is merge.target_schema


def test_resolve_clause_looks_new_names_up_in_the_source() -> None:
    """R-231, R-232: a name that the target lacks is the source's column, with its type; any value may be assigned."""
    source = "id INT, v INT, extra STRING"
    for name in ("extra", "s.extra", "EXTRA"):
        merge = run(EVOLVE + f"WHEN MATCHED THEN UPDATE SET {name} = 'x'", source=source)
        assert merge.final_schema == schema_of("id INT, v INT, extra STRING")
        assert merge.matched[0].values == ("target_0", "target_1", "'x'")
    inserted = run(EVOLVE + "WHEN NOT MATCHED THEN INSERT (id, extra) VALUES (s.id, 'x')", source=source)
    assert inserted.not_matched[0].values == ("source_0", "CAST(NULL AS INT)", "'x'")
    lenient = run(EVOLVE + "WHEN MATCHED THEN UPDATE SET s.v = 7", source=source)
    assert (lenient.matched[0].values, lenient.final_schema.names) == (("target_0", "7"), ["id", "v"])


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("WHEN MATCHED THEN UPDATE SET t.extra = 1", "t.extra in UPDATE clause given columns s.id, s.extra ."),
        ("WHEN MATCHED THEN UPDATE SET nope = 1", "nope in UPDATE clause given columns s.id, s.extra ."),
        ("WHEN NOT MATCHED THEN INSERT (nope) VALUES (1)", "nope in INSERT clause given columns s.id, s.extra ."),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET extra = 1", "extra in UPDATE clause given columns t.id, t.v ."),
    ],
)
def test_new_names_need_a_namesake_in_the_source(clause: str, message: str) -> None:
    """R-117, R-230, R-231: the columns listed are those that were looked at last."""
    error = failure(EVOLVE + clause, source="id INT, extra INT")
    assert error.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    assert f"Cannot resolve {message}" in error.message


def test_a_field_of_neither_side_is_the_sources_error() -> None:
    """R-231: the name is looked up in the source, where ``st`` has no such field."""
    schema = "id INT, st S<a INT>"
    error = failure(EVOLVE + "WHEN MATCHED THEN UPDATE SET st.b = 1", target=schema, source=schema)
    assert error.error_class == "FIELD_NOT_FOUND"


def test_filter_schema_follows_paths_and_stars() -> None:
    """R-233: assigned paths whole, structs on the way to them filtered, the rest only by a star; arrays are whole."""
    source = schema_of("id INT, st S<a INT, b S<c INT, d INT>>, other S<x INT>, xs INTS")
    kept = filter_schema(source, [("ST", "b", "c")], star=False, case_sensitive=False)
    assert kept == schema_of("st S<b S<c INT>>")
    assert filter_schema(source, [("st",), ("xs",)], star=False, case_sensitive=True) == StructType(
        [source["st"], source["xs"]]
    )
    assert filter_schema(source, [("ST",)], star=False, case_sensitive=True) == StructType()
    assert filter_schema(source, [("id",)], star=True, case_sensitive=False) == source


def test_merge_schemas_appends_new_fields_where_they_belong() -> None:
    """R-234, R-235: target first, spelling and nullability of the target, new fields nullable at every depth."""
    target = StructType([StructField("K", IntegerType(), nullable=False, metadata={"comment": "key"})])
    target = target.add("m", MapType(StringType(), ArrayType(schema_of("a INT"), containsNull=False)))
    inner = StructType([StructField("z", StringType(), nullable=False)])
    source = StructType([StructField("new", ArrayType(inner, containsNull=False), nullable=False)])
    source = source.add("k", IntegerType())
    source = source.add("m", MapType(StringType(), ArrayType(schema_of("b STRING, A INT"))))
    assert merge_schemas(target, source) == StructType(
        [
            StructField("K", IntegerType(), nullable=False, metadata={"comment": "key"}),
            StructField("m", MapType(StringType(), ArrayType(schema_of("a INT, b STRING"), containsNull=False))),
            StructField("new", ArrayType(schema_of("z STRING"), containsNull=True)),
        ]
    )


@pytest.mark.parametrize(
    ("target", "source", "merges"),
    [
        ("BIGINT", "INT", True),
        ("INT", "BIGINT", True),
        ("INT", "STRING", True),
        ("STRING", "BOOLEAN", True),
        ("BOOLEAN", "STRING", False),
        ("BOOLEAN", "INT", False),
        ("INT", "BOOLEAN", False),
        ("INT", "INTS", False),
        ("INTS", "INT", False),
        ("STRING", "S<a INT>", False),
        ("S<a BOOLEAN>", "S<a INT>", False),
    ],
)
def test_types_stay_where_spark_casts_of_its_own_accord(target: str, source: str, *, merges: bool) -> None:
    """R-236: and everything else is refused, also in fields; evolution is stricter than none."""
    target, source = f"id INT, v {target}", f"id INT, v {source}"
    clause = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, NULL)"
    if merges:
        assert run(EVOLVE + clause, target=target, source=source).final_schema == schema_of(target)
        return
    error = failure(EVOLVE + clause, target=target, source=source)
    assert error.error_class == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert "Failed to merge fields 'v' and 'v'" in error.message
    ignored = "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"  # not assigned, not compared
    assert run(EVOLVE + ignored, target=target, source=source).final_schema == schema_of(target)


def test_duplicate_source_columns_are_refused_where_they_are_used() -> None:
    """R-238: names that differ in case only, at any depth, among the columns that the filter keeps."""
    for source, name in (("id INT, v INT, V INT", "v"), ("id INT, st S<a INT, A INT>", "st.a")):
        error = failure(EVOLVE + "WHEN NOT MATCHED THEN INSERT *", source=source)
        assert error.error_class == "DELTA_DUPLICATE_COLUMNS_FOUND.DATA"
        assert f"Found duplicate column(s): {name}. The duplicate was found in the data being saved." in error.message
        run(EVOLVE + "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)", source=source)


def test_a_target_without_columns_takes_the_sources() -> None:
    """R-141 with evolution on."""
    sql = "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON false WHEN NOT MATCHED THEN INSERT *"
    merge = run(sql, target="")
    assert (merge.final_schema, merge.not_matched[0].values) == (schema_of("id INT, v INT"), ("source_0", "source_1"))


def test_a_name_that_the_final_schema_spells_otherwise_is_missing() -> None:
    """R-216: schemas merge without regard to case, assignments follow the session's rule; INSERT ignores the name."""
    source, conf = "id INT, V INT", MergeConf(case_sensitive=True)
    error = failure(EVOLVE + "WHEN MATCHED THEN UPDATE SET V = 1", source=source, conf=conf)
    assert error.error_class == "DELTA_MISSING_SET_COLUMN"
    assert "SET column `V` not found given columns: [`id`, `v`]." in error.message
    merge = run(EVOLVE + "WHEN NOT MATCHED THEN INSERT *", source=source, conf=conf)
    assert merge.not_matched[0].values == ("source_0", "CAST(NULL AS INT)")


def test_old_values_gain_new_fields() -> None:
    """R-241: rebuilt by name, inside arrays and maps, NULL stays NULL; a column that does not change is itself."""
    merge = run(
        EVOLVE + "WHEN NOT MATCHED THEN INSERT *", target="id INT, st S<a INT>", source="st S<b INT, a INT>, id INT"
    )
    rebuilt = "IF(target_1 IS NULL, NULL, named_struct('a', target_1.`a`, 'b', CAST(NULL AS INT)))"
    assert merge.old_values == ("target_0", rebuilt)


def test_new_fields_are_assigned_by_their_paths() -> None:
    """R-212, R-213, R-231: one new field, the struct's other fields keep their values."""
    merge = run(
        EVOLVE + "WHEN MATCHED THEN UPDATE SET st.b = 5, extra.y = s.v",
        target="id INT, st S<a INT>",
        source="id INT, v INT, st S<a INT, b INT, c INT>, extra S<x INT, y INT>",
    )
    assert merge.final_schema == schema_of("id INT, st S<a INT, b INT>, extra S<y INT>")
    assert merge.matched[0].values == (
        "target_0",
        "named_struct('a', target_1.`a`, 'b', 5)",
        "named_struct('y', source_1)",
    )


def test_an_update_star_preserves_fields_that_only_the_target_has() -> None:
    """R-244: NULL only where both are NULL; an explicit assignment nullifies these fields instead."""
    target, source = "id INT, st S<y INT, z INT>", "id INT, st S<x INT, y INT>"
    star = run(EVOLVE + "WHEN MATCHED THEN UPDATE SET *", target=target, source=source).matched[0].values[1]
    fields = "named_struct('y', source_1.`y`, 'z', {}, 'x', source_1.`x`)"
    assert star == f"IF(source_1 IS NULL AND target_1 IS NULL, NULL, {fields.format('target_1.`z`')})"
    explicit = run(EVOLVE + "WHEN MATCHED THEN UPDATE SET st = s.st", target=target, source=source).matched[0].values[1]
    assert explicit == f"IF(source_1 IS NULL, NULL, {fields.format('CAST(NULL AS INT)')})"


def test_fields_of_another_struct_do_not_get_in() -> None:
    """R-243: with evolution on an expression may lack fields of its column, but not bring others."""
    target, source = "id INT, st S<a INT>", "id INT, st S<a INT>, other S<b INT>"
    error = failure(EVOLVE + "WHEN MATCHED THEN UPDATE SET st = s.other", target=target, source=source)
    assert error.error_class == "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"
