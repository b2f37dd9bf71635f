"""A case out of real tables: types, files, features, and that the table given is only read."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from mergecheck.harness.delta.import_table import RealInput, build_case, unchanged
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.report.table_merge import changes_of
from mergecheck.harness.verdict import HarnessBugError, UserInputError
from mergecheck.model.case import Target
from mergecheck.model.outcome import Outcome
from mergecheck.model.storage import Checkpoint, ColumnNames, TargetLayout, Vectors
from mergecheck.model.types.data_types import INT, Schema
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", None]})


def test_rows_come_file_by_file(tmp_path: Path) -> None:
    """Files, partitioning and properties of the table are the case's."""
    write_deltalake(tmp_path / "table", ROWS, partition_by=["v"], configuration={"delta.enableChangeDataFeed": "true"})
    write_deltalake(tmp_path / "table", ROWS.slice(0, 1), mode="append")
    pq.write_table(ROWS, tmp_path / "source.parquet")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))
    assert case.target.schema == parse_schema("id BIGINT, v STRING")
    assert sorted(case.target.files) == sorted((((1, "a"),), ((1, "a"),), ((2, None),)))
    assert case.target.partition_by == ("v",)
    assert case.target.change_data_feed
    assert case.source is not None
    assert case.source.rows == ((1, "a"), (2, None))


def test_types_are_the_tables(tmp_path: Path) -> None:
    """Physical variants of a type become Spark's types with the same values."""
    at = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
    table = pa.table(
        {
            "id": pa.array([1], pa.int64()),
            "d": pa.array([Decimal("1.50")], pa.decimal128(5, 2)),
            "at": pa.array([at], pa.timestamp("ms", tz="UTC")),
            "s": pa.array([{"a": 1, "b": [1, None]}]),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            "words": pa.array(["x"]).dictionary_encode(),
            "u": pa.array([2**32 - 1], pa.uint32()),
        }
    )
    pq.write_table(table, tmp_path / "wide.parquet")
    write_deltalake(tmp_path / "table", ROWS)
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "wide.parquet", sql=SQL))
    assert case.source is not None
    wanted = "id BIGINT, d DECIMAL(5,2), at TIMESTAMP, s STRUCT<a: BIGINT, b: ARRAY<BIGINT>>, m MAP<STRING, INT>"
    assert case.source.schema == parse_schema(wanted + ", words STRING, u BIGINT")
    assert case.source.rows == ((1, Decimal("1.50"), at, (1, (1, None)), (("k", 1),), "x", 2**32 - 1),)


def test_csv_takes_the_targets_types(tmp_path: Path) -> None:
    """A column named like the target's has its type, whatever the text looks like; others are guessed."""
    (tmp_path / "source.csv").write_text("ID,v,extra\n1,007,5\n2,,6\n")
    write_deltalake(tmp_path / "table", ROWS)
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.csv", sql=SQL))
    assert case.source is not None
    assert case.source.schema == parse_schema("ID BIGINT, v STRING, extra BIGINT")
    assert case.source.rows == ((1, "007", 5), (2, None, 6))


def test_a_delta_table_can_be_the_source(tmp_path: Path) -> None:
    """The source may be a Delta folder."""
    write_deltalake(tmp_path / "table", ROWS)
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))
    assert case.source is not None
    assert case.source.rows == ((1, "a"), (2, None))


def test_deleted_files_are_not_read(tmp_path: Path) -> None:
    """Only the current snapshot counts."""
    write_deltalake(tmp_path / "table", ROWS)
    write_deltalake(tmp_path / "table", ROWS.slice(1), mode="overwrite")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))
    assert case.target.rows == ((2, None),)


@pytest.mark.parametrize(
    ("properties", "layout"),
    [
        ({"delta.columnMapping.mode": "name"}, TargetLayout(column_names=ColumnNames.OF_OTHERS)),
        ({"delta.columnMapping.mode": "id"}, TargetLayout(dropped_columns=("w",), checkpoint=Checkpoint.CLASSIC)),
        ({"delta.enableDeletionVectors": "true"}, TargetLayout(vectors=Vectors.OWN_FILES)),
        ({}, TargetLayout(vectors=Vectors.SHARED_FILE, checkpoint=Checkpoint.CLASSIC)),
        (
            {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"},
            TargetLayout(vectors=Vectors.INLINE, added_columns=("s",)),
        ),
        ({"delta.enableTypeWidening": "true"}, TargetLayout(widened_columns={"id": INT})),
        ({"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}, TargetLayout()),
    ],
    ids=["mapped", "mapped by id", "marks", "marked once", "marks and maps", "widened", "tracked"],
)
def test_tables_of_today_are_read(tmp_path: Path, properties: dict[str, str], layout: TargetLayout) -> None:
    """Live rows come by the names that columns have now; the copy has the features by the same properties."""
    schema = parse_schema("id BIGINT, p STRING, v STRING, s STRUCT<x: INT, y: STRING>, d DATE")
    files = (
        ((1, "a b:%", "x", (1, "q"), None), (2, "a b:%", None, None, dt.date(2026, 1, 31))),
        ((3, "ü", "y", (None, None), None),),
        ((4, None, "z", (4, ""), None),),
    )
    target = Target(schema=schema, files=files, partition_by=("p",), properties=properties, layout=layout)
    write_target(target, tmp_path / "table")
    pq.write_table(ROWS, tmp_path / "source.parquet")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))
    assert case.target.schema == schema
    assert sorted(case.target.files) == sorted(files)
    assert (case.target.properties, case.target.partition_by) == (properties, ("p",))


def test_a_copy_has_the_properties_that_a_merge_may_show(tmp_path: Path) -> None:
    """Properties of the table's own log are left out, and so are its owner's notes."""
    kept = {"delta.appendOnly": "false", "delta.enableChangeDataFeed": "true"}
    noted = {"owner": "sales", "delta.checkpointInterval": "3", "delta.logRetentionDuration": "interval 30 days"}
    write_target(Target(schema=parse_schema("id BIGINT, v STRING"), properties=kept | noted), tmp_path / "table")
    pq.write_table(ROWS, tmp_path / "source.parquet")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))
    assert case.target.properties == kept


def test_versions_of_the_protocol_that_are_unknown_are_refused(tmp_path: Path) -> None:
    """As a merge of the table itself does."""
    write_target(Target(schema=parse_schema("id BIGINT, v STRING")), tmp_path / "table")
    log = tmp_path / "table" / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    changed = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 8}} if "protocol" in a else a for a in actions]
    log.write_text("\n".join(map(json.dumps, changed)))
    with pytest.raises(UserInputError, match="uses writer version 8, which a copy would lose"):
        build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))


def test_constraints_defaults_and_generated_columns_are_kept(tmp_path: Path) -> None:
    """A copy has them too: in its schema and its properties."""
    schema = parse_schema(
        "id BIGINT NOT NULL, v STRING DEFAULT 'a', g BIGINT GENERATED ALWAYS AS (id + 1), s STRUCT<x: INT NOT NULL>"
    )
    rows = ((1, "a", 2, (1,)), (2, None, 3, None))
    properties = {"delta.constraints.positive": "id > 0"}
    write_target(Target(schema=schema, files=(rows,), properties=properties), tmp_path / "table")
    pq.write_table(ROWS, tmp_path / "source.parquet")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))
    assert (case.target.schema, case.target.files, case.target.properties) == (schema, (rows,), properties)


def test_identity_columns_invariants_and_lengths_are_kept(tmp_path: Path) -> None:
    """They are in the schema of the log, and a copy has them too."""
    schema = parse_schema(
        "id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1 INCREMENT BY 2 HIGH WATER MARK 7), v VARCHAR(3), "
        "s STRUCT<a: ARRAY<VARCHAR(2)>>"
    )
    schema = Schema((*schema.columns, replace(parse_schema("n INT").columns[0], invariant="n > 0")))
    write_target(Target(schema=schema, files=(((7, "abc", (("ab",),), 1),),)), tmp_path / "table")
    pq.write_table(ROWS, tmp_path / "source.parquet")
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))
    assert (case.target.schema, case.target.files) == (schema, (((7, "abc", (("ab",),), 1),),))


def test_a_char_in_a_source_is_refused(tmp_path: Path) -> None:
    """R-822: its readers see spaces that its files do not have."""
    write_target(Target(schema=parse_schema("id BIGINT, v STRING")), tmp_path / "table")
    for name, ddl in (("padded", "id BIGINT, v CHAR(3)"), ("free", "id BIGINT, v VARCHAR(3)")):
        write_target(Target(schema=parse_schema(ddl), files=(((1, "a"),),)), tmp_path / name)
    given = RealInput(target=tmp_path / "table", source=tmp_path / "free", sql=SQL)
    assert build_case(given).source is not None
    with pytest.raises(UserInputError, match=r"has CHAR columns \(v\), which Spark pads with spaces"):
        build_case(replace(given, source=tmp_path / "padded"))


@pytest.mark.parametrize(
    ("column", "field", "message"),
    [
        ({"__CHAR_VARCHAR_TYPE_STRING": "struct<v:char(3)>"}, {}, "lengths of texts that a case cannot hold"),
        ({}, {"delta.invariants": "v > 'a'"}, "an invariant of a field inside a column"),
    ],
)
def test_what_is_said_inside_of_columns_is_refused(
    tmp_path: Path, column: dict[str, str], field: dict[str, str], message: str
) -> None:
    """A case has CHAR and invariants of whole columns only."""
    write_target(Target(schema=parse_schema("s STRUCT<v: STRING>")), tmp_path / "table")
    log = tmp_path / "table" / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    said = next(action["metaData"] for action in actions if "metaData" in action)
    schema = json.loads(said["schemaString"])
    schema["fields"][0]["metadata"] = column
    schema["fields"][0]["type"]["fields"][0]["metadata"] = field
    said["schemaString"] = json.dumps(schema)
    log.write_text("\n".join(map(json.dumps, actions)))
    pq.write_table(ROWS, tmp_path / "source.parquet")
    with pytest.raises(UserInputError, match=message):
        build_case(RealInput(target=tmp_path / "table", source=tmp_path / "source.parquet", sql=SQL))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing.parquet", "is not there; give a .parquet or .csv file"),
        ("text.txt", "ends in .txt; .parquet, .csv and Delta folders can be read"),
        ("broken.parquet", "cannot be read as Parquet"),
        ("broken.csv", "cannot be read as CSV with the target's types"),
        ("folder", "cannot be read as a Delta table"),
        ("time.parquet", "column at has the Arrow type time64.us., which Spark SQL lacks"),
    ],
)
def test_a_bad_source_is_a_clear_error(tmp_path: Path, source: str, message: str) -> None:
    """The message names the file and what can be read."""
    write_deltalake(tmp_path / "table", ROWS)
    for name in ("text.txt", "broken.parquet"):
        (tmp_path / name).write_text("x")
    (tmp_path / "broken.csv").write_text("id,v\nno number,x\n")
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"at": pa.array([dt.time(1)], pa.time64("us"))}), tmp_path / "time.parquet")
    with pytest.raises(UserInputError, match=message):
        build_case(RealInput(target=tmp_path / "table", source=tmp_path / source, sql=SQL))


def test_a_touched_table_is_noticed(tmp_path: Path) -> None:
    """Reading leaves no trace; whoever writes is found out."""
    write_deltalake(tmp_path / "table", ROWS)
    with unchanged(tmp_path / "table"):
        build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))
    with pytest.raises(HarnessBugError, match=r"extra\.parquet"), unchanged(tmp_path / "table"):
        (tmp_path / "table" / "extra.parquet").write_text("")


def test_changes_without_a_feed_are_the_difference_of_rows(tmp_path: Path) -> None:
    """Rows are compared as typed multisets: either of two equal rows may be removed."""
    write_deltalake(tmp_path / "table", pa.concat_tables([ROWS, ROWS]))
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))
    after = Outcome(schema=case.target.schema, rows=((1, "a"), (2, None), (2, None), (3, "c")))
    changes = changes_of(case, after)
    assert changes.origin == "row difference"
    assert changes.counts == {"removed": 1, "added": 1}
    assert changes.first == ((1, "a", "removed"), (3, "c", "added"))


def test_changes_of_an_evolved_table_are_in_the_new_schema(tmp_path: Path) -> None:
    """A row that only gained a NULL did not change (R-610)."""
    write_deltalake(tmp_path / "table", ROWS)
    case = build_case(RealInput(target=tmp_path / "table", source=tmp_path / "table", sql=SQL))
    after = Outcome(schema=parse_schema("id BIGINT, v STRING, n INT"), rows=((1, "a", None), (2, None, 5)))
    assert changes_of(case, after).first == ((2, None, None, "removed"), (2, None, 5, "added"))
