"""Tables written without Spark: the log, that delta-rs reads the same rows, and reading back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from delta_logs import (
    FEED,
    HIGHEST,
    LOWEST,
    WIDE,
    commit,
    deltalake_rows,
    merge_commit,
    rewrite,
)
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.change_feed import change_rows
from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.delta.read import read_actions, read_table
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.model.case import Source, Target
from mergecheck.model.layout import physical_files, physical_rows
from mergecheck.model.schema_json import members_not_null, schema_from_json, schema_to_json
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import (
    ArrayType,
    Field,
    Schema,
)
from mergecheck.model.types.ddl import parse_schema

NULLS = (None,) * len(WIDE.columns)
ATOMIC = [column.name for column in WIDE.columns[:13] if column.type != types.BINARY]


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
    """The log writes them differently, so one file cannot hold both."""
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
    """A table that would differ from the case is not written at all."""
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
    assert is_unchanged(target, tmp_path / "t", before=files_of(tmp_path / "t"))
    (metadata,) = [action["metaData"] for action in read_actions(tmp_path / "t", 0) if "metaData" in action]
    assert metadata["configuration"] == {"delta.constraints.pos": "k > 0"}
    fields = json.loads(metadata["schemaString"])["fields"]
    assert [field["metadata"] for field in fields[:3]] == [
        {"comment": "what the case says of k"},
        {"CURRENT_DEFAULT": "upper('é, x')", "comment": "what the case says of d"},
        {"delta.generationExpression": "k + 1", "comment": "what the case says of g"},
    ]


def test_a_target_may_hold_what_a_merge_may_not_write(tmp_path: Any) -> None:
    """NULL in NOT NULL columns and fields: only the log has NOT NULL."""
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
    assert is_unchanged(target, tmp_path / "t", before=files_of(tmp_path / "t"))
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
        assert not is_unchanged(Target(schema=parse_schema(ddl)), tmp_path / "t", before=files_of(tmp_path / "t"))


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
    """Records of added and removed files are counted in the files, and wrong statistics are reported."""
    path = tmp_path / "t"
    schema = parse_schema("k INT")
    write_target(Target(schema=schema, files=(((1,), (2,)),)), path)
    before = files_of(path)
    (add,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
    (path / "copy.parquet").write_bytes((path / add["path"]).read_bytes())
    lying = {**add, "path": "copy.parquet", "stats": add["stats"].replace('"maxValues":{"k":2}', '"maxValues":{"k":1}')}
    commit(path, 1, [merge_commit(), rewrite(add), {"add": lying}])
    outcome = observe(path, metrics={}, taken=None, conf={}, before=before)
    assert isinstance(outcome, TableOutcome)
    assert (outcome.num_records_added, outcome.num_records_removed, outcome.members_not_null) == (2, 2, ())
    assert outcome.file_faults == ("maxValues 1 of k, but the file holds 2",)


def test_not_null_members_of_arrays_and_maps_are_found() -> None:
    """The log can express more than a case's types; the merge must not (R-235)."""
    text = schema_to_json(parse_schema("l ARRAY<MAP<STRING, INT>>, s STRUCT<m: MAP<STRING, ARRAY<INT>>>"))
    assert members_not_null(text) == ()
    assert members_not_null(text.replace('"containsNull": true', '"containsNull": false')) == ("l", "s.m.value")
    assert members_not_null(text.replace('ContainsNull": true', 'ContainsNull": false')) == ("l.element", "s.m")
