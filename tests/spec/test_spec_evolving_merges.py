"""Schema evolution through the executors: every row that a merge writes has the new schema (R-239, R-241, R-610).

The table has one partition column, a struct and an array of structs. The source brings a column, a field of the struct
and a field of the array's elements.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from merge_tables import Table

from mergecheck.merge import command
from mergecheck.merge.command import run_merge
from mergecheck.merge.executors.first_scan import plan_first_scan
from mergecheck.merge.executors.source import MergeSource
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.table.snapshot.reading import read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mergecheck.merge.command import MergeResult
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.metrics import PathResult

pytestmark = pytest.mark.spark

EVOLVING = "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id "
STAR = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
SOURCE = "id INT, st STRUCT<y: INT, x: INT>, l ARRAY<STRUCT<y: INT, x: INT>>, p STRING, new INT"

Rows = list[tuple[Any, ...]]


def element(x: int | None, y: int | None = None) -> dict[str, Any]:
    return {"x": x, "y": y}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    """Rows 1 and 2 in one file, row 3 in another; row 2 has a NULL struct and a NULL element."""
    struct = pa.struct([pa.field("x", pa.int32())])
    schema = pa.schema(
        [
            pa.field("id", pa.int32()),
            pa.field("p", pa.string()),
            pa.field("st", struct),
            pa.field("l", pa.list_(struct)),
        ]
    )
    first = [
        {"id": 1, "p": "a", "st": {"x": 1}, "l": [{"x": 1}]},
        {"id": 2, "p": "a", "st": None, "l": [None, {"x": 2}]},
    ]
    second = [{"id": 3, "p": "b", "st": {"x": 3}, "l": None}]
    for rows in (first, second):
        write_deltalake(
            tmp_path / "target",
            pa.Table.from_pylist(rows, schema=schema),
            mode="append",
            partition_by=["p"],
            configuration={"delta.enableChangeDataFeed": "true"},
        )
    return Table(spark, str(tmp_path / "target"))


def merge(table: Table, clauses: str, rows: Rows, *, source: str = SOURCE) -> MergeResult:
    frame = table.spark.createDataFrame(rows, source)
    statement = parse_merge(EVOLVING + clauses)
    return run_merge(table.spark, path=table.path, statement=statement, source=MergeSource(frame=frame))


def stored(table: Table) -> dict[int, dict[str, Any]]:
    rows = DeltaTable(table.path).to_pyarrow_table().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: {name: value for name, value in row.items() if name != "id"} for row in rows}


def changes(table: Table) -> Counter[str]:
    """Read the change rows of the last commit as text, since structs cannot be counted."""
    version = table.version()
    log = Path(table.path, "_delta_log", f"{version:020}.json").read_text(encoding="utf-8")
    assert '"cdc"' in log
    feed = pa.table(DeltaTable(table.path).load_cdf(starting_version=version)).to_pylist()
    dropped = ("_commit_version", "_commit_timestamp")
    return Counter(
        json.dumps({name: value for name, value in row.items() if name not in dropped}, sort_keys=True) for row in feed
    )


def test_rewritten_rows_have_the_new_schema(table: Table) -> None:
    """Path D: a copied row gets NULL for new columns and fields, an updated one its values, NULLs stay (R-241)."""
    result = merge(table, STAR, [(1, (10, 11), [(12, 13)], "a", 14), (9, None, [None], "", 15)])
    assert (result.path, result.row) == (ExecutionPath.D, (2, 1, 0, 1))
    assert DeltaTable(table.path).schema().to_arrow().names == ["id", "p", "st", "l", "new"]
    assert stored(table) == {
        1: {"p": "a", "st": element(11, 10), "l": [element(13, 12)], "new": 14},
        2: {"p": "a", "st": None, "l": [None, element(2)], "new": None},
        3: {"p": "b", "st": element(3), "l": None, "new": None},
        9: {"p": None, "st": None, "l": [None], "new": 15},  # the empty string of a partition column
    }


def test_images_have_the_new_schema(table: Table) -> None:
    """Pre-images and deleted rows are the old rows with NULL for new columns (R-610)."""
    merge(table, "WHEN MATCHED AND t.id = 2 THEN DELETE " + STAR, [(1, (10, 11), None, "b", 14), (2,) + (None,) * 4])
    expected: Rows = [
        (1, "a", element(1), [element(1)], None, "update_preimage"),
        (1, "b", element(11, 10), None, 14, "update_postimage"),
        (2, "a", None, [None, element(2)], None, "delete"),
    ]
    names = ("id", "p", "st", "l", "new", "_change_type")
    texts = [json.dumps(dict(zip(names, row, strict=True)), sort_keys=True) for row in expected]
    assert changes(table) == Counter(texts)


def test_clauses_that_do_not_assign_a_new_column_leave_it_null(table: Table) -> None:
    """So do updates by source, which cannot add columns, and inserts with a column list (R-230, R-241)."""
    clauses = (
        "WHEN MATCHED AND s.new = 14 THEN UPDATE SET new = s.new + 1 WHEN MATCHED THEN UPDATE SET p = 'c' "
        "WHEN NOT MATCHED AND s.new = 1 THEN INSERT (id) VALUES (s.id) WHEN NOT MATCHED THEN INSERT (id, new) "
        "VALUES (s.id, s.new) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET p = 'd'"
    )
    rows: Rows = [(key, None, None, None, new) for key, new in ((1, 14), (2, 0), (8, 1), (9, 2))]
    merge(table, clauses, rows)
    assert {key: (row["p"], row["new"]) for key, row in stored(table).items()} == {
        1: ("a", 15),
        2: ("c", None),
        3: ("d", None),
        8: (None, None),
        9: (None, 2),
    }


@pytest.mark.parametrize(
    ("clauses", "path"),
    [
        ("WHEN NOT MATCHED THEN INSERT *", ExecutionPath.A),
        ("WHEN NOT MATCHED AND s.new > 0 THEN INSERT *", ExecutionPath.A),
        ("WHEN NOT MATCHED AND s.new < 0 THEN INSERT (id) VALUES (0) WHEN NOT MATCHED THEN INSERT *", ExecutionPath.A),
        (STAR, ExecutionPath.B),
    ],
    ids=["A", "A-condition", "A-several", "B"],
)
def test_inserts_alone_have_the_new_schema(table: Table, clauses: str, path: ExecutionPath) -> None:
    """Paths A and B: values stand in the table's order, and files of the old schema are not touched (R-239)."""
    result = merge(table, clauses, [(9, (10, 11), [(12, 13)], "", 14)])
    assert (result.path, result.metrics["numTargetFilesRemoved"]) == (path, 0)
    rows = stored(table)
    assert rows[9] == {"p": None, "st": element(11, 10), "l": [element(13, 12)], "new": 14}
    assert rows[1] == {"p": "a", "st": element(1), "l": [element(1)], "new": None}


@pytest.mark.parametrize("clauses", ["WHEN MATCHED THEN UPDATE SET *", STAR], ids=["C", "B"])
def test_a_schema_alone_is_committed(table: Table, clauses: str) -> None:
    """Nothing is matched or inserted, but the schema is new: a commit without data (R-239, R-732)."""
    before = read_snapshot(table.path)
    result = merge(table, clauses, [])
    after = read_snapshot(table.path)
    assert (result.version, result.row) == (2, (0, 0, 0, 0))
    assert after.schema.names == ["id", "p", "st", "l", "new"]
    assert [file.path for file in after.files] == [file.path for file in before.files]


def test_the_first_scan_reads_old_columns_only(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """ON and conditions cannot mention added columns, so the scan is as narrow as ever (R-422)."""
    runs: list[MergeRun] = []
    execute = command.execute

    def recorded(run: MergeRun) -> PathResult:
        runs.append(run)
        return execute(run)

    monkeypatch.setattr(command, "execute", recorded)
    merge(table, "WHEN MATCHED AND t.p = 'a' AND s.new = 14 THEN UPDATE SET *", [(1, None, None, "a", 14)])
    assert plan_first_scan(runs[0]).target_columns == {0, 1}
    assert runs[0].string_partitions == {1}
    assert stored(table)[1]["new"] == 14


def test_a_sole_delete_adds_nothing(table: Table) -> None:
    """DELETE clauses add no column; rows matched twice are deleted once, and the copied row keeps its old schema."""
    result = merge(table, "WHEN MATCHED THEN DELETE", [(1, None, None, "x", 1), (1, None, None, "y", 2)])
    assert result.row == (1, 0, 1, 0)
    assert stored(table) == {
        2: {"p": "a", "st": None, "l": [None, {"x": 2}]},
        3: {"p": "b", "st": {"x": 3}, "l": None},
    }


def test_deletes_matched_twice_beside_a_new_column(table: Table) -> None:
    """De-duplicated delete images are in the new schema like any other (R-610, R-614)."""
    result = merge(
        table,
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        [(1, None, None, "x", 1), (1, None, None, "y", 2), (9, None, None, "z", 3)],
    )
    assert result.row == (2, 0, 1, 1)
    names = ("id", "p", "st", "l", "new", "_change_type")
    expected: Rows = [
        (1, "a", element(1), [element(1)], None, "delete"),
        (9, "z", None, None, 3, "insert"),
    ]
    texts = [json.dumps(dict(zip(names, row, strict=True)), sort_keys=True) for row in expected]
    assert changes(table) == Counter(texts)
