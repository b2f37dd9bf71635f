"""Type widening in the merge: which types change, how the log records it, who forbids it (R-237, R-240, R-716)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import types as t
from resolving import EVOLVE, run

from mergecheck.harness.delta.write import write_target
from mergecheck.merge.conf import AutomaticWidening, MergeConf
from mergecheck.merge.errors import AnalysisError, InvalidConfigurationError, UnsupportedStatementError
from mergecheck.merge.resolution.schema_evolution import merge_schemas
from mergecheck.merge.table.commit.new_schema import check_new_schema, with_new_metadata
from mergecheck.merge.table.reading.bounds import column_bounds
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.types.widening import TYPE_CHANGES, is_widening, widens, with_type_changes
from mergecheck.model.case import Target
from mergecheck.model.types import widening as of_reference
from mergecheck.model.types.ddl import parse_schema, parse_type

if TYPE_CHECKING:
    from pathlib import Path

WIDENS = {"delta.enableTypeWidening": "true"}
TYPES: dict[str, t.DataType] = {
    "TINYINT": t.ByteType(),
    "SMALLINT": t.ShortType(),
    "INT": t.IntegerType(),
    "BIGINT": t.LongType(),
    "FLOAT": t.FloatType(),
    "DOUBLE": t.DoubleType(),
    "DATE": t.DateType(),
    "TIMESTAMP": t.TimestampType(),
    "TIMESTAMP_NTZ": t.TimestampNTZType(),
    "STRING": t.StringType(),
    **{f"DECIMAL({p},{s})": t.DecimalType(p, s) for p, s in ((9, 0), (10, 0), (12, 2), (12, 3), (19, 0), (22, 2))},
}
WIDER = {
    "TINYINT": "SMALLINT INT BIGINT DOUBLE DECIMAL(10,0) DECIMAL(12,2) DECIMAL(19,0) DECIMAL(22,2)",
    "SMALLINT": "INT BIGINT DOUBLE DECIMAL(10,0) DECIMAL(12,2) DECIMAL(19,0) DECIMAL(22,2)",
    "INT": "BIGINT DOUBLE DECIMAL(10,0) DECIMAL(12,2) DECIMAL(19,0) DECIMAL(22,2)",
    "BIGINT": "DECIMAL(22,2)",
    "FLOAT": "DOUBLE",
    "DATE": "TIMESTAMP_NTZ",
    "DECIMAL(9,0)": "DECIMAL(10,0) DECIMAL(12,2) DECIMAL(12,3) DECIMAL(19,0) DECIMAL(22,2)",
    "DECIMAL(10,0)": "DECIMAL(12,2) DECIMAL(19,0) DECIMAL(22,2)",
    "DECIMAL(12,2)": "DECIMAL(22,2)",
    "DECIMAL(19,0)": "DECIMAL(22,2)",
}


@pytest.mark.parametrize("old", TYPES)
def test_the_table_of_changes(old: str) -> None:
    """R-237: the merge and the reference have the same pairs, and no others."""
    wider = set(WIDER.get(old, "").split())
    assert {new for new in TYPES if is_widening(TYPES[old], TYPES[new])} == wider
    assert {new for new in TYPES if of_reference.is_widening(parse_type(old), parse_type(new))} == wider
    kept = {new for new in wider if widens(AutomaticWidening.SAME_FAMILY_TYPE, TYPES[old], TYPES[new])}
    integers = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
    assert kept == (wider & integers if old in integers else wider)
    same_family = of_reference.WideningMode.SAME_FAMILY_TYPE
    assert kept == {new for new in TYPES if of_reference.widens(parse_type(old), parse_type(new), same_family)}
    assert not any(widens(AutomaticWidening.NEVER, TYPES[old], TYPES[new]) for new in TYPES)


def struct(**fields: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields.items()])


def test_changes_are_recorded_where_they_belong() -> None:
    """R-716: by the nearest field, with the way into arrays and maps, behind the changes of before."""
    earlier = [{"fromType": "byte", "toType": "short"}]
    inner = struct(a=t.FloatType())
    old = struct(st=inner, xs=t.ArrayType(t.MapType(t.IntegerType(), inner)), n=t.ShortType(), same=t.IntegerType())
    old["n"].metadata = {TYPE_CHANGES: earlier, "comment": "c"}
    source = struct(a=t.DoubleType())
    wide = struct(st=source, xs=t.ArrayType(t.MapType(t.LongType(), source)), n=t.DecimalType(12, 2), new=t.LongType())
    final = with_type_changes(merge_schemas(old, wide, AutomaticWidening.ALWAYS), old)
    change = [{"fromType": "float", "toType": "double"}]
    assert final["st"].dataType["a"].metadata == {TYPE_CHANGES: change}  # type: ignore[index] # a struct
    assert final["st"].metadata == final["same"].metadata == final["new"].metadata == {}
    assert final["xs"].metadata == {
        TYPE_CHANGES: [{"fromType": "integer", "toType": "long", "fieldPath": "element.key"}]
    }
    assert final["xs"].dataType.elementType.valueType["a"].metadata == {TYPE_CHANGES: change}  # type: ignore[attr-defined] # an array of maps
    assert final["n"].metadata == {
        TYPE_CHANGES: [*earlier, {"fromType": "short", "toType": "decimal(12,2)"}],
        "comment": "c",
    }


def test_values_of_old_rows_are_cast() -> None:
    """R-237: also for a column that the clause leaves alone."""
    merge = run(
        EVOLVE + "WHEN MATCHED THEN UPDATE SET id = t.id + 1 WHEN NOT MATCHED THEN INSERT *",
        source="id INT, v BIGINT",
        types=None,
        widens=True,
    )
    assert merge.final_schema["v"].dataType == t.LongType()
    assert merge.matched[0].values[1] == merge.old_values[1] == "CAST(target_1 AS BIGINT)"
    assert run(EVOLVE + "WHEN NOT MATCHED THEN INSERT *", source="id INT, v BIGINT").final_schema["v"].dataType == (
        t.IntegerType()
    )


def test_the_setting_is_read_strictly() -> None:
    name = "spark.databricks.delta.typeWidening.allowAutomaticWidening"
    assert MergeConf.from_settings({name: "NEVER"}).allow_automatic_widening is AutomaticWidening.NEVER
    with pytest.raises(InvalidConfigurationError, match="same_family_type"):
        MergeConf.from_settings({name: "true"})


@pytest.mark.parametrize(
    ("schema", "properties", "column", "error"),
    [
        ("k INT, v INT", {"delta.constraints.c": "k > 0 AND V > 0"}, "v", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
        (
            "k INT, v INT, g INT GENERATED ALWAYS AS (v + 1)",
            {},
            "v",
            "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
        ),
        ("k INT, v INT, g INT GENERATED ALWAYS AS (k + 1)", {"delta.constraints.c": "k > 0"}, "v", None),
        ("k INT, v INT, g BIGINT GENERATED ALWAYS AS (v + 1)", {}, "k", None),
    ],
)
def test_columns_that_others_use(
    tmp_path: Path, schema: str, properties: dict[str, str], column: str, error: str | None
) -> None:
    """R-240: a column that no expression of the table uses may change."""
    write_target(Target(schema=parse_schema(schema), properties={**WIDENS, **properties}), tmp_path / "t")
    snapshot = read_snapshot(str(tmp_path / "t"))
    assert snapshot.widens_types
    final = merge_schemas(snapshot.schema, struct(**{column: t.LongType()}), AutomaticWidening.ALWAYS)
    if error is None:
        check_new_schema(snapshot, final)
        assert with_new_metadata(snapshot, final)[column].metadata[TYPE_CHANGES]
        return
    with pytest.raises(AnalysisError) as caught:
        check_new_schema(snapshot, final)
    assert caught.value.error_class == error


def test_fields_that_others_use(tmp_path: Path) -> None:
    """R-240: a field beside the one that a constraint uses may change; the field itself may not."""
    schema = parse_schema("s STRUCT<a: INT, b: INT>")
    properties = {**WIDENS, "delta.constraints.c": "s.a > 0"}
    write_target(Target(schema=schema, properties=properties), tmp_path / "t")
    snapshot = read_snapshot(str(tmp_path / "t"))
    for field, fails in (("a", True), ("b", False)):
        source = struct(s=struct(**{field: t.LongType()}))
        final = merge_schemas(snapshot.schema, source, AutomaticWidening.ALWAYS)
        if fails:
            with pytest.raises(AnalysisError, match=r"Column s\.a has type INT"):
                check_new_schema(snapshot, final)
        else:
            check_new_schema(snapshot, final)


def test_partition_columns_are_not_widened(tmp_path: Path) -> None:
    schema = parse_schema("k INT, p INT")
    write_target(Target(schema=schema, properties=WIDENS, partition_by=("p",)), tmp_path / "t")
    snapshot = read_snapshot(str(tmp_path / "t"))
    with pytest.raises(UnsupportedStatementError, match="partition column p"):
        check_new_schema(snapshot, merge_schemas(snapshot.schema, struct(p=t.LongType()), AutomaticWidening.ALWAYS))


@pytest.mark.parametrize(("given", "once"), [(1.1, 1.100000023841858), (-1.1, -1.100000023841858), (1e300, 1e300)])
def test_bounds_of_a_column_that_was_float(tmp_path: Path, given: float, once: float) -> None:
    """R-716: the text 1.1 may mean a 32-bit number or a 64-bit one; the bounds include both."""
    changes = [{"fromType": "float", "toType": "double"}]
    field = {"name": "x", "type": "double", "nullable": True, "metadata": {TYPE_CHANGES: changes}}
    features = {"minReaderVersion": 3, "minWriterVersion": 7}
    features |= {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}  # type: ignore[dict-item] # JSON
    stats = {"numRecords": 1, "minValues": {"x": given}, "maxValues": {"x": given}, "nullCount": {"x": 0}}
    actions: list[dict[str, Any]] = [
        {"protocol": features},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": [field]}),
                "partitionColumns": [],
                "configuration": {},
            }
        },
        {
            "add": {
                "path": "f",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 0,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
        },
    ]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    snapshot = read_snapshot(str(tmp_path))
    (file,) = snapshot.files
    bounds = column_bounds(file, snapshot.schema["x"], is_partition=False)
    assert bounds.lower <= min(given, once) <= max(given, once) <= bounds.upper
