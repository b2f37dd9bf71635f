"""What small merges do to be quick changes no answer: one task, inlined partition values, counts from the log."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.spark.session import settings_of, start_session
from mergecheck.merge import merge_sql
from mergecheck.merge.conf import SINGLE_SCAN
from mergecheck.merge.table.reading.scan import MAX_INLINE_FILES
from mergecheck.merge.table.snapshot.reading import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.merge.command import MergeResult

SQL = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s.v = 'gone' THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return start_session()


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def rows(path: str) -> list[tuple[object, ...]]:
    return rows_of(DeltaTable(path).to_pyarrow_table())


def merge(spark: SparkSession, directory: Path, *, partitions: int, shuffle_partitions: int) -> MergeResult:
    parts = [f"a+b %{number}/=" for number in range(partitions)]
    target = pa.table({"id": list(range(2 * partitions)), "v": ["old"] * 2 * partitions, "p": parts * 2})
    source = pa.table({"id": [0, 1, 100], "v": ["gone", "new", "in"], "p": [parts[0], parts[1], parts[0]]})
    write_deltalake(directory / "target", target, partition_by=["p"])
    write_deltalake(directory / "source", source)
    tables = {name: str(directory / name) for name in ("target", "source")}
    with settings_of(spark, {"spark.sql.shuffle.partitions": str(shuffle_partitions), SINGLE_SCAN: "false"}):
        return merge_sql(spark, SQL, tables=tables)


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [3, MAX_INLINE_FILES + 2])
def test_one_task_gives_what_many_give(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    """Rows, metrics and files are the same in one task and in several, whether partition values are inlined or not."""
    one = merge(spark, tmp_path / "one", partitions=partitions, shuffle_partitions=1)
    many = merge(spark, tmp_path / "many", partitions=partitions, shuffle_partitions=3)
    sizes = ("TimeMs", "Bytes")  # file names, and so sizes, differ
    told = [{k: v for k, v in r.metrics.items() if not any(s in k for s in sizes)} for r in (one, many)]
    assert told[0] == told[1]
    assert told[0]["numSourceRows"] == 3
    assert told[0]["numTargetFilesAdded"] == 2  # one per partition tuple
    written = rows(str(tmp_path / "one" / "target"))
    assert written == rows(str(tmp_path / "many" / "target"))
    assert {(1, "new", "a+b %1/="), (100, "in", "a+b %0/="), (2, "old", "a+b %2/=")} <= set(written)
    assert len(written) == 2 * partitions


@pytest.mark.spark
@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        "WHEN MATCHED THEN DELETE",
        "WHEN NOT MATCHED THEN INSERT *",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ],
)
@pytest.mark.parametrize("partition_by", [None, ["v"]])
def test_a_small_merge_shuffles_nothing_in_one_task(
    spark: SparkSession, tmp_path: Path, clauses: str, partition_by: list[str] | None
) -> None:
    """Where the session sends every shuffle to one task anyway, no plan has an exchange; elsewhere they stay."""
    plans: dict[int, list[str]] = {1: [], 3: []}
    for number, seen in plans.items():
        directory = tmp_path / str(number)
        for name in ("target", "source"):
            for part in range(2):  # two files each, so that there is something to gather
                data = pa.table({"id": [part, part + 10], "v": [name] * 2})
                write_deltalake(directory / name, data, mode="append", partition_by=partition_by)
        tables = {name: str(directory / name) for name in ("target", "source")}
        settings = {"spark.sql.shuffle.partitions": str(number), SINGLE_SCAN: "false"}
        with settings_of(spark, settings), recording(spark, seen):
            merge_sql(spark, f"MERGE INTO target t USING source s ON t.id = s.id {clauses}", tables=tables)
    assert not [plan for plan in plans[1] if "Exchange" in plan]
    assert [plan for plan in plans[3] if "Exchange" in plan]


@pytest.mark.spark
@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        "WHEN MATCHED THEN DELETE",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ],
)
def test_a_single_scan_neither_shuffles_nor_broadcasts(spark: SparkSession, tmp_path: Path, clauses: str) -> None:
    """Whatever the session does with tables of any size: one task has all the rows."""
    for name in ("target", "source"):
        for part in range(2):
            data = pa.table({"id": [part, part + 10], "v": [name] * 2})
            write_deltalake(tmp_path / name, data, mode="append")
    tables = {name: str(tmp_path / name) for name in ("target", "source")}
    plans: list[str] = []
    settings = {
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "10485760",
        "spark.sql.files.maxPartitionBytes": "134217728",
    }
    with settings_of(spark, settings), recording(spark, plans):
        merge_sql(spark, f"MERGE INTO target t USING source s ON t.id = s.id {clauses}", tables=tables)
    (plan,) = plans
    assert "Exchange" not in plan
    assert "SortMergeJoin" in plan


@pytest.mark.spark
@pytest.mark.parametrize(("single_scan", "num_queries"), [("true", 1), ("false", 2)])
def test_a_small_merge_is_a_single_query(
    spark: SparkSession, tmp_path: Path, single_scan: str, num_queries: int
) -> None:
    """The task that writes finds out which files are touched, unless a setting forbids it."""
    for part in range(3):
        write_deltalake(tmp_path / "target", pa.table({"id": [part, part + 10], "v": ["a", "b"]}), mode="append")
    write_deltalake(tmp_path / "source", pa.table({"id": [0, 7], "v": ["c", "d"]}))
    tables = {name: str(tmp_path / name) for name in ("target", "source")}
    plans: list[str] = []
    with settings_of(spark, {SINGLE_SCAN: single_scan}), recording(spark, plans):
        result = merge_sql(spark, SQL, tables=tables)
    assert len(plans) == num_queries
    assert (result.row, len(result.touched_files)) == ((2, 1, 0, 1), 1)
    assert result.metrics["numTargetRowsCopied"] == 1
    assert result.internal_metrics["numSourceRowsInSecondScan"] == 2


@pytest.mark.spark
@pytest.mark.parametrize(
    ("given", "clauses", "expected"),
    [
        ([(0, "c"), (7, "d")], "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", ("D", 2)),
        ([(0, "c"), (7, "d")], "WHEN MATCHED THEN UPDATE SET *", ("D", 0)),
        ([(0, "c"), (7, "d")], "WHEN MATCHED AND s.v = 'q' THEN DELETE", ("C", 0)),
        ([(0, None), (7, "d")], "WHEN MATCHED AND s.v = 'c' THEN DELETE", ("C", 0)),
        ([(0, "c"), (7, "d")], "WHEN MATCHED AND s.v = 'c' THEN DELETE", ("D", 0)),
        ([(8, "c"), (7, "d")], "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", ("B", 2)),
        ([(8, "c"), (7, "d")], "WHEN MATCHED THEN DELETE", ("C", 0)),
        ([(8, "c")], "WHEN NOT MATCHED BY SOURCE AND t.id = 11 THEN DELETE", ("D", 1)),
        ([(0, "c"), (0, "d")], "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", ("D", 2)),
        ([(0, "c")], "WHEN MATCHED AND CAST(t.v AS INT) = 1 THEN DELETE WHEN NOT MATCHED THEN INSERT *", ("D", 1)),
    ],
    ids=[
        "upsert",
        "update",
        "fires-nowhere",
        "null",
        "fires",
        "inserts",
        "nothing",
        "by-source",
        "ambiguous",
        "fails-elsewhere",
    ],
)
def test_a_single_scan_gives_what_two_give(
    spark: SparkSession, tmp_path: Path, given: list[tuple[int, str | None]], clauses: str, expected: tuple[str, int]
) -> None:
    """Rows, feed, files and metrics; two scans are asked where one row has two matches or an evaluation fails."""
    found = []
    for single_scan in ("true", "false"):
        target, source = tmp_path / single_scan / "target", tmp_path / single_scan / "source"
        for ids, values in (([0, 10], ["1", "2"]), ([1, 11], ["x", "y"])):
            data = pa.table({"id": ids, "v": values})
            write_deltalake(target, data, mode="append", configuration={"delta.enableChangeDataFeed": "true"})
        write_deltalake(source, pa.table({"id": [row[0] for row in given], "v": [row[1] for row in given]}))
        tables = {"target": str(target), "source": str(source)}
        with settings_of(spark, {SINGLE_SCAN: single_scan}):
            sql = f"MERGE INTO target t USING source s ON t.id = s.id {clauses}"
            result = merge_sql(spark, sql, tables=tables)
        feed = pa.table(DeltaTable(target).load_cdf(starting_version=0)).select(["id", "v", "_change_type"])
        counted = {k: v for k, v in {**result.metrics, **result.internal_metrics}.items() if "TimeMs" not in k}
        written = {k: v for k, v in counted.items() if "BytesAdded" not in k and "ChangeFileBytes" not in k}
        told = (result.path, result.row, result.version, len(result.touched_files), written)
        found.append((*told, rows_of(feed), rows(str(target))))
        assert (result.path and result.path.value, written["numSourceRowsInSecondScan"]) == expected
    assert found[0] == found[1]


@pytest.mark.spark
@pytest.mark.parametrize("partition_by", [None, ["p"]])
def test_a_column_may_be_called_like_sparks_metadata(
    spark: SparkSession, tmp_path: Path, partition_by: list[str] | None
) -> None:
    """A table's own column ``_metadata`` hides Spark's, which the scan needs all the same."""
    data = pa.table({"id": [1, 2], "_metadata": ["a", "b"], "p": ["x", "y"]})
    write_deltalake(tmp_path / "target", data, partition_by=partition_by)
    write_deltalake(tmp_path / "source", pa.table({"id": [2, 3], "_metadata": ["c", "d"], "p": ["y", "y"]}))
    tables = {name: str(tmp_path / name) for name in ("target", "source")}
    merge_sql(spark, SQL.replace("s.v", "s._metadata").replace("SET v", "SET _metadata"), tables=tables)
    assert rows(tables["target"]) == [(1, "a", "x"), (2, "c", "y"), (3, "d", "y")]


def test_the_log_counts_rows_or_says_that_it_does_not(tmp_path: Path) -> None:
    """One file without statistics leaves the number of rows open."""
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}))
    write_deltalake(tmp_path, pa.table({"id": [4]}), mode="append")
    assert read_snapshot(str(tmp_path)).num_records == 4
    log = tmp_path / "_delta_log" / f"{1:020}.json"
    log.write_text("\n".join(line.replace('"stats":', '"tags":null,"none":') for line in log.read_text().splitlines()))
    assert read_snapshot(str(tmp_path)).num_records is None


def test_workers_import_little() -> None:
    """The imports of a Spark worker that writes files include neither the parser nor the log reader."""
    heavy = "{'sqlglot', 'deltalake', 'obstore', 'pyspark'}"
    code = f"import sys, mergecheck.merge.table.writing.writer; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - fixed
    assert done.stdout.strip() == "set()"
