"""Tables written without Spark: what is in the log, that delta-rs reads the same rows, and reading back."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.core.schema_json import members_not_null, schema_from_json, schema_to_json
from mergecheck.harness.delta.change_feed import change_rows
from mergecheck.harness.delta.check_commit import commit_faults, removed_file_faults
from mergecheck.harness.delta.file_statistics import file_statistics
from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.delta.read import newest_version, operation_metrics, read_actions, read_table
from mergecheck.harness.delta.tables.partition_values import directory, parse, serialize
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.reference.case.arrow import table_to_rows
from mergecheck.reference.case.layout import physical_files, physical_rows
from mergecheck.reference.case.model import CDF_PROPERTY, Source, Target
from mergecheck.reference.types import data_types as types
from mergecheck.reference.types.data_types import (
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)
from mergecheck.reference.types.ddl import parse_schema

FEED = {CDF_PROPERTY: "true"}
WIDE = Schema(
    (
        Field("b", types.BOOLEAN),
        Field("tiny", types.TINYINT),
        Field("small", types.SMALLINT),
        Field("int", types.INT),
        Field("big", types.BIGINT),
        Field("f", types.FLOAT),
        Field("d", types.DOUBLE),
        Field("dec", DecimalType(38, 10)),
        Field("s", types.STRING),
        Field("bin", types.BINARY),
        Field("date", types.DATE),
        Field("ts", types.TIMESTAMP),
        Field("ntz", types.TIMESTAMP_NTZ),
        Field("a b.c`d", StructType((Field("x y", types.INT), Field("z", types.STRING)))),
        Field("list", ArrayType(types.INT)),
        Field("map", MapType(types.STRING, types.DOUBLE)),
    )
)
FIRST_INSTANT = dt.datetime(1, 1, 1)  # noqa: DTZ001 - a TIMESTAMP_NTZ has no zone
LAST_INSTANT = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - the same
LOWEST = (
    False, -128, -(2**15), -(2**31), -(2**63), -math.inf, -0.0, Decimal("-0.0000000001"), "", b"", dt.date.min,
    FIRST_INSTANT.replace(tzinfo=dt.UTC), FIRST_INSTANT, (None, None), (), (),
)  # fmt: skip
HIGHEST = (
    True, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1, math.nan, math.inf, Decimal("9" * 28 + "." + "9" * 10),
    "é/=%?#+ '\n\U0001f600" * 3, b"\x00\xff", dt.date.max, LAST_INSTANT.replace(tzinfo=dt.UTC), LAST_INSTANT,
    (1, ""), (1, None), (("k", math.nan), ("", None)),
)  # fmt: skip
NULLS = (None,) * len(WIDE.columns)
ATOMIC = [column.name for column in WIDE.columns[:13] if column.type != types.BINARY]


def deltalake_rows(path: Any, schema: Any) -> Any:
    return table_to_rows(DeltaTable(path).to_pyarrow_table(), schema)


def feed_of_deltalake(path: Any, schema: Any, version: Any) -> Any:
    table = DeltaTable(path).load_cdf(starting_version=version, ending_version=version).read_all()
    names = [*schema.names, "_change_type"]
    typed = Schema((*schema.columns, Field("_change_type", types.STRING)))
    return table_to_rows(pa.table(table).select(names), typed), typed


@pytest.mark.parametrize("partition_by", [(), *((name,) for name in ATOMIC), ("s", "date", "b")])
def test_extreme_values_survive(tmp_path: Any, partition_by: Any) -> None:
    """Every type, its extremes, NULL and NaN come back as they went in, also as partition values."""
    target = Target(schema=WIDE, files=((LOWEST, HIGHEST), (NULLS,), ()), partition_by=partition_by)
    write_target(target, tmp_path / "t")
    state = read_table(tmp_path / "t")
    assert (state.version, state.schema, state.partition_by) == (0, WIDE, partition_by)
    assert same_rows(physical_rows(target), state.rows, WIDE)
    if partition_by != ("dec",):  # delta-rs 1.6 misreads small negative decimals as partition values
        assert same_rows(state.rows, deltalake_rows(tmp_path / "t", WIDE), WIDE)


ENCODABLE = st.characters(codec="utf-8")
TEXTS = st.text(ENCODABLE, min_size=1, max_size=6) | st.sampled_from(
    ["%2F", "a=b", "..", ".", "+", " ", "a" * 300, "NULL", "__HIVE_DEFAULT_PARTITION__"]
)


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(texts=st.lists(st.none() | TEXTS, max_size=4), name=st.text(ENCODABLE, min_size=1, max_size=4))
def test_any_text_can_be_a_partition_value(tmp_path_factory: Any, texts: Any, name: Any) -> None:
    """Paths are percent-encoded twice, in the file system and in the log; no text may get lost between."""
    schema = Schema((Field("id", types.INT), Field("p" + name, types.STRING)))
    target = Target(schema=schema, files=(tuple(enumerate(texts)),), partition_by=("p" + name,))
    path = tmp_path_factory.mktemp("t") / "t"
    write_target(target, path)
    assert same_rows(physical_rows(target), read_table(path).rows, schema)
    assert same_rows(physical_rows(target), deltalake_rows(path, schema), schema)


def test_files_lie_as_the_case_says(tmp_path: Any) -> None:
    """One data file per file of the case; a file without rows does not exist (R-701)."""
    schema = Schema((Field("id", types.INT),))
    target = Target(schema=schema, files=(((1,), (2,)), (), ((3,),)))
    assert physical_files(target) == (((), ((1,), (2,))), ((), ((3,),)))
    write_target(target, tmp_path / "t")
    adds = [action["add"] for action in read_actions(tmp_path / "t", 0) if "add" in action]
    assert [json.loads(add["stats"])["numRecords"] for add in adds] == [2, 1]
    assert all((tmp_path / "t" / add["path"]).stat().st_size == add["size"] for add in adds)


def test_a_partitioned_file_is_split_by_value() -> None:
    """A data file holds one tuple of partition values; an empty text is stored as NULL there (R-744)."""
    schema = Schema((Field("p", types.STRING), Field("id", types.INT)))
    target = Target(schema=schema, partition_by=("p",), files=((("a", 1), ("", 2), ("a", 3), (None, 4)), (("a", 5),)))
    assert physical_files(target) == (
        (("a",), (("a", 1), ("a", 3))),
        ((None,), ((None, 2), (None, 4))),
        (("a",), (("a", 5),)),
    )


def test_signed_zeros_are_two_partition_values() -> None:
    """The log spells them apart, so one file cannot hold both."""
    schema = Schema((Field("p", types.DOUBLE), Field("id", types.INT)))
    target = Target(schema=schema, partition_by=("p",), files=(((0.0, 1), (-0.0, 2), (math.nan, 3), (math.nan, 4)),))
    assert [len(rows) for _, rows in physical_files(target)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("schema", "properties", "protocol"),
    [
        (Schema((Field("i", types.INT),)), {}, {"minReaderVersion": 1, "minWriterVersion": 2}),
        (
            Schema((Field("i", types.INT),)),
            FEED,
            {"minReaderVersion": 1, "minWriterVersion": 4},
        ),
        (
            Schema((Field("i", types.INT),)),
            {"delta.constraints.pos": "i > 0"},
            {"minReaderVersion": 1, "minWriterVersion": 3},
        ),
        (
            Schema((Field("i", types.INT, nullable=False), Field("d", types.INT, default="1 + 1"))),
            {},
            {
                "minReaderVersion": 1,
                "minWriterVersion": 7,
                "writerFeatures": ["allowColumnDefaults", "appendOnly", "invariants"],
            },
        ),
        (
            Schema((Field("i", types.INT), Field("g", types.INT, generated="i * 2"))),
            {"delta.constraints.pos": "i > 0"},
            {"minReaderVersion": 1, "minWriterVersion": 4},
        ),
        (
            Schema((Field("i", ArrayType(types.TIMESTAMP_NTZ)),)),
            {},
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["timestampNtz"],
                "writerFeatures": ["appendOnly", "invariants", "timestampNtz"],
            },
        ),
    ],
)
def test_the_protocol_names_what_the_table_uses(tmp_path: Any, schema: Any, properties: Any, protocol: Any) -> None:
    """A reader must be able to refuse a table whose features it does not know."""
    write_target(Target(schema=schema, properties=properties), tmp_path / "t")
    actions = read_actions(tmp_path / "t", 0)
    assert [action["protocol"] for action in actions if "protocol" in action] == [protocol]
    assert DeltaTable(tmp_path / "t").version() == 0


@pytest.mark.parametrize(
    "target",
    [
        Target(schema=Schema(()), files=(((),),)),
        Target(schema=Schema((Field("v", types.VOID),))),
        Target(schema=Schema((Field("p", types.INT),)), partition_by=("p",)),
        Target(schema=Schema((Field("i", types.INT), Field("b", types.BINARY))), partition_by=("b",)),
    ],
    ids=["rows without columns", "void column", "partition columns only", "binary partition"],
)
def test_what_cannot_be_written_is_refused(tmp_path: Any, target: Any) -> None:
    """A table that would not be what the case says is not written at all."""
    with pytest.raises(UnwritableTableError):
        write_target(target, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_a_source_with_two_columns_of_one_name_is_refused(tmp_path: Any) -> None:
    """A relation may have them, a table may not."""
    with pytest.raises(UnwritableTableError, match="names differ in case only"):
        write_source(Source(schema=Schema((Field("a", types.INT), Field("A", types.INT)))), tmp_path / "s")


@pytest.mark.parametrize("column", WIDE.columns, ids=[c.name for c in WIDE.columns])
def test_schemas_round_trip(column: Any) -> None:
    """A schema comes back from Delta's form as it was, NOT NULL included."""
    schema = Schema((column, Field("k", types.INT, nullable=False)))
    assert schema_from_json(schema_to_json(schema)) == schema


def test_values_of_their_own_and_not_null_come_back(tmp_path: Any) -> None:
    """Defaults, generation expressions and NOT NULL, nested too, stand in the log, letter by letter."""
    schema = parse_schema(
        "k INT NOT NULL, d STRING DEFAULT upper('é, x'), g INT GENERATED ALWAYS AS (k + 1), "
        "s STRUCT<x: INT NOT NULL, l: ARRAY<STRUCT<y: INT NOT NULL>>>"
    )
    rows = ((1, "a", 2, (1, ((2,), None))), (2, None, 3, None))
    target = Target(schema=schema, files=(rows,), properties={"delta.constraints.pos": "k > 0"})
    write_target(target, tmp_path / "t")
    state = read_table(tmp_path / "t")
    assert (state.schema, state.rows) == (schema, rows)
    assert is_unchanged(target, tmp_path / "t")
    (metadata,) = [action["metaData"] for action in read_actions(tmp_path / "t", 0) if "metaData" in action]
    assert metadata["configuration"] == {"delta.constraints.pos": "k > 0"}
    fields = json.loads(metadata["schemaString"])["fields"]
    assert [field["metadata"] for field in fields[:3]] == [
        {"comment": "what the case says of k"},
        {"CURRENT_DEFAULT": "upper('é, x')", "comment": "what the case says of d"},
        {"delta.generationExpression": "k + 1", "comment": "what the case says of g"},
    ]


def test_a_target_may_hold_what_a_merge_may_not_write(tmp_path: Any) -> None:
    """NULL in NOT NULL columns and fields: only the log says NOT NULL."""
    schema = parse_schema("k INT NOT NULL, s STRUCT<x: INT NOT NULL>")
    target = Target(schema=schema, files=(((None, (None,)),),))
    write_target(target, tmp_path / "t")
    assert read_table(tmp_path / "t").rows == target.rows


def test_a_table_without_columns(tmp_path: Any) -> None:
    """It is a log without files (R-141); evolution can give it columns."""
    target = Target(schema=Schema(()), properties=FEED)
    write_target(target, tmp_path / "t")
    state = read_table(tmp_path / "t")
    assert (state.version, state.schema, state.rows, state.change_data_feed) == (0, Schema(()), (), True)
    assert is_unchanged(target, tmp_path / "t")
    schema = Schema((Field("id", types.INT),))
    write_target(Target(schema=schema, files=(((1,),),)), tmp_path / "u")
    (add,) = [action["add"] for action in read_actions(tmp_path / "u", 0) if "add" in action]
    (tmp_path / "t" / add["path"]).write_bytes((tmp_path / "u" / add["path"]).read_bytes())
    (metadata,) = [action["metaData"] for action in read_actions(tmp_path / "t", 0) if "metaData" in action]
    commit(tmp_path / "t", 1, [merge_commit(), {"metaData": metadata | {"schemaString": schema_to_json(schema)}},
                               {"add": add}])  # fmt: skip
    assert (read_table(tmp_path / "t").schema, read_table(tmp_path / "t").rows) == (schema, ((1,),))


def test_another_schema_is_a_change(tmp_path: Any) -> None:
    """P-30 looks at defaults and NOT NULL too, not at names alone."""
    write_target(Target(schema=parse_schema("k INT, v STRING DEFAULT 'a'")), tmp_path / "t")
    for ddl in ("k INT, v STRING DEFAULT 'b'", "k INT NOT NULL, v STRING DEFAULT 'a'", "k INT, v STRING"):
        assert not is_unchanged(Target(schema=parse_schema(ddl)), tmp_path / "t")


def test_files_of_an_older_schema_are_read_in_the_newer(tmp_path: Any) -> None:
    """Columns and nested fields that a file lacks are NULL, also inside arrays and maps (R-630)."""
    old = parse_schema("k INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>")
    new = parse_schema(
        "k INT, s STRUCT<x: INT, y: STRUCT<z: INT>>, l ARRAY<STRUCT<x: INT, y: INT>>, "
        "m MAP<STRING, STRUCT<x: INT, y: INT>>, n ARRAY<INT>"
    )
    rows = ((1, (1,), ((1,), None), (("a", (1,)), ("b", None))), (2, None, None, None))
    path = tmp_path / "t"
    write_target(Target(schema=old, files=(rows,), properties=FEED), path)
    (metadata,) = [action["metaData"] for action in read_actions(path, 0) if "metaData" in action]
    (add,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
    commit(path, 1, [{"metaData": metadata | {"schemaString": schema_to_json(new)}}, rewrite(add)])
    widened = (
        (1, (1, None), ((1, None), None), (("a", (1, None)), ("b", None)), None),
        (2, None, None, None, None),
    )
    assert change_rows(path, version=1, state=read_table(path)) == tuple((*row, "delete") for row in widened)
    commit(path, 1, [{"metaData": metadata | {"schemaString": schema_to_json(new)}}])
    assert read_table(path).rows == widened


def test_what_a_commit_wrote_is_observed(tmp_path: Any) -> None:
    """Records of added and removed files are counted in the files, and statistics that lie are told."""
    path = tmp_path / "t"
    schema = parse_schema("k INT")
    write_target(Target(schema=schema, files=(((1,), (2,)),)), path)
    (add,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
    (path / "copy.parquet").write_bytes((path / add["path"]).read_bytes())
    lying = {**add, "path": "copy.parquet", "stats": add["stats"].replace('"maxValues":{"k":2}', '"maxValues":{"k":1}')}
    commit(path, 1, [merge_commit(), rewrite(add), {"add": lying}])
    outcome = observe(path, metrics={}, taken=None, conf={})
    assert isinstance(outcome, TableOutcome)
    assert (outcome.num_records_added, outcome.num_records_removed, outcome.members_not_null) == (2, 2, ())
    assert outcome.file_faults == ("maxValues 1 of k, but the file holds 2",)


def test_not_null_members_of_arrays_and_maps_are_found() -> None:
    """The log can say what a case's types cannot; the merge must not (R-235)."""
    text = schema_to_json(parse_schema("l ARRAY<MAP<STRING, INT>>, s STRUCT<m: MAP<STRING, ARRAY<INT>>>"))
    assert members_not_null(text) == ()
    assert members_not_null(text.replace('"containsNull": true', '"containsNull": false')) == ("l", "s.m.value")
    assert members_not_null(text.replace('ContainsNull": true', 'ContainsNull": false')) == ("l.element", "s.m")


def statistics(data_type: Any, *values: Any) -> Any:
    return json.loads(file_statistics([(v,) for v in values], [Field("c", data_type)]))


@pytest.mark.parametrize(
    ("data_type", "values", "low", "high"),
    [
        (types.INT, (3, None, -1), -1, 3),
        (types.DOUBLE, (1.5, -0.5), -0.5, 1.5),
        (types.DOUBLE, (1.5, math.nan), None, None),
        (types.DOUBLE, (1.5, math.inf), None, None),
        (DecimalType(5, 2), (Decimal("1.50"), Decimal("-0.01")), -0.01, 1.5),
        (types.STRING, ("b", "a", "é"), "a", "é"),
        (types.STRING, ("x" * 40,), "x" * 32, "x" * 32 + "\U0010ffff"),
        (types.STRING, ("x" * 32 + "\U0010ffff",), "x" * 32, None),
        (types.DATE, (dt.date(1, 2, 3),), "0001-02-03", "0001-02-03"),
        (
            types.TIMESTAMP,
            (dt.datetime(2020, 1, 1, microsecond=1999, tzinfo=dt.UTC),),
            "2020-01-01T00:00:00.001Z",
            "2020-01-01T00:00:00.001Z",
        ),
        (types.BOOLEAN, (True,), None, None),
        (types.BINARY, (b"a",), None, None),
        (types.INT, (None,), None, None),
    ],
)
def test_statistics_bound_the_values(data_type: Any, values: Any, low: Any, high: Any) -> None:
    """Bounds are those of Delta's writer; a column whose bounds JSON cannot say has none."""
    stats = statistics(data_type, *values)
    assert (stats["minValues"].get("c"), stats["maxValues"].get("c")) == (low, high)
    assert (stats["numRecords"], stats["nullCount"]) == (len(values), {"c": values.count(None)})


def test_statistics_look_into_structs() -> None:
    """Fields of structs have their own counts; a NULL struct counts for each."""
    stats = statistics(StructType((Field("x", types.INT), Field("y", types.STRING))), (1, None), None)
    assert stats == {
        "numRecords": 2,
        "minValues": {"c": {"x": 1}},
        "maxValues": {"c": {"x": 1}},
        "nullCount": {"c": {"x": 1, "y": 2}},
    }


@pytest.mark.parametrize(
    ("value", "data_type"),
    [(row[i], WIDE.columns[i].type) for row in (LOWEST, HIGHEST) for i in range(13) if row[i] != "" and i != 9],
)
def test_partition_values_round_trip(value: Any, data_type: Any) -> None:
    """The text in the log is read back as the value it stands for."""
    schema = Schema((Field("c", data_type),))
    assert same_rows([(value,)], [(parse(serialize(value, data_type), data_type),)], schema)


@pytest.mark.parametrize(
    ("text", "ddl"), [("-1.-25", "DECIMAL(4,2)"), ("1.5", "INT"), ("x", "DOUBLE"), ("2020-13-01", "DATE")]
)
def test_a_partition_value_of_no_type_is_a_wrong_value(text: str, ddl: str) -> None:
    """Tables of other engines hold such texts; a reader tells them from its own mistakes by the class."""
    with pytest.raises(ValueError, match=r".+"):
        parse(text, parse_schema(f"c {ddl}").columns[0].type)


def test_directories_never_outgrow_the_file_system() -> None:
    """A long value is cut in the directory's name, which carries no meaning."""
    assert directory(["p", "q"], ["é" * 200, None]).encode().index(b"/") <= 255


def commit(path: Any, version: Any, actions: Any) -> None:
    log = path / "_delta_log" / f"{version:020}.json"
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def merge_commit(**metrics: Any) -> Any:
    return {"commitInfo": {"timestamp": 0, "operation": "MERGE", "operationMetrics": metrics}}


NOTHING = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}


def rewrite(add: Any, *, keep_partition_values: Any = True) -> Any:
    removed = {"path": add["path"], "deletionTimestamp": 0, "dataChange": True, "size": add["size"]}
    if keep_partition_values:
        removed |= {"extendedFileMetadata": True, "partitionValues": add["partitionValues"]}
    return {"remove": removed}


PARTITIONED = Target(
    schema=Schema((Field("p", types.STRING), Field("id", types.INT))),
    partition_by=("p",),
    files=((("ab", 1), ("cd", 2), (None, 3)),),
    properties=FEED,
)


def test_changes_of_the_first_version_are_inserts(tmp_path: Any) -> None:
    """Without change files the rows of added files are inserts (R-604); delta-rs agrees."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    changes = change_rows(path, version=0, state=read_table(path))
    theirs, schema = feed_of_deltalake(path, PARTITIONED.schema, 0)
    assert same_rows([(*row, "insert") for row in PARTITIONED.rows], changes, schema)
    assert same_rows(changes, theirs, schema)


@pytest.mark.parametrize("keep_partition_values", [True, False])
def test_changes_of_removed_files_are_deletes(tmp_path: Any, keep_partition_values: Any) -> None:
    """A ``remove`` need not repeat the partition values: the ``add`` has them."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    adds = [action["add"] for action in read_actions(path, 0) if "add" in action]
    removes = [rewrite(add, keep_partition_values=keep_partition_values) for add in adds[:2]]
    commit(path, 1, [merge_commit(**NOTHING | {"numTargetRowsDeleted": "2"}), *removes])
    state = read_table(path)
    assert (state.version, state.rows) == (1, ((None, 3),))
    assert set(change_rows(path, version=1, state=state)) == {("ab", 1, "delete"), ("cd", 2, "delete")}


def test_a_merge_that_changed_nothing_has_no_changes(tmp_path: Any) -> None:
    """R-605: its three metrics are "0", so the rewritten files say nothing; without metrics they are served."""
    path = tmp_path / "t"
    write_target(Target(schema=PARTITIONED.schema, files=(PARTITIONED.rows,), properties=FEED), path)
    (add,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
    copied = {**add, "path": "copy.parquet"}
    (path / "copy.parquet").write_bytes((path / add["path"]).read_bytes())
    commit(path, 1, [merge_commit(**NOTHING), rewrite(add), {"add": copied}])
    state = read_table(path)
    assert change_rows(path, version=1, state=state) == ()
    commit(path, 1, [merge_commit(), rewrite(add), {"add": copied}])
    assert len(change_rows(path, version=1, state=state)) == 2 * len(PARTITIONED.rows)


def test_change_files_win_over_data_files(tmp_path: Any) -> None:
    """R-604: with change files, added and removed files are ignored; delta-rs agrees."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    (path / "_change_data").mkdir()
    file = path / "_change_data" / "c.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "_change_type": ["delete"]}), file)
    adds = [action["add"] for action in read_actions(path, 0) if "add" in action]
    change = {
        "path": "_change_data/c.parquet",
        "partitionValues": {"p": "ab"},
        "size": file.stat().st_size,
        "dataChange": False,
    }
    commit(path, 1, [merge_commit(numTargetRowsDeleted="1"), *map(rewrite, adds), {"cdc": change}])
    changes = change_rows(path, version=1, state=read_table(path))
    theirs, schema = feed_of_deltalake(path, PARTITIONED.schema, 1)
    assert changes == (("ab", 1, "delete"),)
    assert same_rows(changes, theirs, schema)


def test_operation_metrics_are_whole_numbers() -> None:
    """R-501: decimal strings, never negative; other writers have numbers, which are read and are a fault."""
    assert operation_metrics((merge_commit(numOutputRows="12"),)) == {"numOutputRows": 12}
    assert operation_metrics(()) == {}
    assert operation_metrics((merge_commit(numOutputRows=12),)) == {"numOutputRows": 12}
    assert list(commit_faults((merge_commit(numOutputRows=12),), {})) == [
        ("R-501", "operationMetrics has numbers instead of texts: numOutputRows")
    ]
    assert list(commit_faults((merge_commit(numOutputRows="12"),), {})) == []
    for wrong in ("-1", "", "1.0", 3.5, -3, True):
        with pytest.raises(ValueError, match="whole numbers"):
            operation_metrics((merge_commit(numOutputRows=wrong),))


def test_a_removed_file_is_described_as_it_was() -> None:
    """R-701: a ``remove`` may leave out what it says, or NULL, or spell a moment otherwise, but change nothing."""
    text, stamp = "2020-01-01 00:00:00.001000", "2020-01-01T00:00:00.001Z"
    added = {"path": "a", "partitionValues": {"p": text, "q": None}, "size": 9}
    for said, faults in (
        ({"partitionValues": {"q": None, "p": stamp}, "size": 9}, []),
        ({}, []),
        ({"partitionValues": None, "size": None}, []),
        ({"partitionValues": {"p": text}}, []),
        ({"partitionValues": {"p": text, "r": "1"}}, [f"partitionValues {{'p': '{text}', 'r': '1'}}"]),
        ({"partitionValues": {"r": text}}, [f"partitionValues {{'r': '{text}'}}"]),
        ({"partitionValues": {"p": None, "q": None}}, ["partitionValues {'p': None, 'q': None}"]),
        ({"size": 8}, ["size 8"]),
    ):
        actions = ({"remove": {"path": "a", **said}}, {"add": {"path": "b", "partitionValues": {}, "size": 1}})
        found = list(removed_file_faults(actions, [added], {"p": TIMESTAMP, "q": STRING}))
        assert [rule for rule, _ in found] == ["R-701"] * len(faults)
        assert all(f"remove of a says {fault}, but" in text for fault, (_, text) in zip(faults, found, strict=True))
    unknown = ({"remove": {"path": "c", "size": 8}},)
    assert list(removed_file_faults(unknown, [added], {})) == []


def test_the_newest_version_comes_from_the_log_alone(tmp_path: Any) -> None:
    """Also where the table cannot be read any more."""
    assert newest_version(tmp_path) == -1
    write_target(PARTITIONED, tmp_path / "t")
    commit(tmp_path / "t", 1, [])
    assert newest_version(tmp_path / "t") == 1
