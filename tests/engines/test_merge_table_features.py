"""Merges into tables as Delta Lake makes them today; Delta Lake and delta-rs read the results.

Each table was written by Delta Lake, then merged into by this package, then by Delta Lake again (R-237, R-460 to
R-463, R-706 to R-709, R-716).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as LogReader
from deltalake import QueryBuilder

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge import MergeError, merge_sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Rows = Counter[tuple[Any, ...]]

MERGE = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s.v IS NULL THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
CHANGES = "SELECT * FROM VALUES (1L, 'one'), (2L, NULL), (9L, 'nine') AS s(id, v)"
# The merge of the same changes once more inserts the row that it deleted, and then deletes it, in turn.
INSERTED_AGAIN = Counter([(2, None)])
CHANGED = Counter([(0, "a"), (1, "one"), (3, "d"), (9, "nine")])
FEED = Counter([(1, "b", "update_preimage"), (1, "one", "update_postimage"), (2, "c", "delete"), (9, "nine", "insert")])


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A table that Delta Lake created, with its feed on, four rows in two files and a log of its own."""

    spark: SparkSession
    name: str
    path: Path

    @classmethod
    def create(cls, spark: SparkSession, path: Path, *, properties: str = "", clause: str = "") -> DeltaTable:
        name = f"t_{path.name.replace('-', '_')}"
        given = f"'delta.enableChangeDataFeed' = 'true'{properties and ', '}{properties}"
        spark.sql(
            f"CREATE TABLE {name} (id BIGINT, v STRING) USING delta LOCATION '{path}' {clause} TBLPROPERTIES ({given})"
        )
        spark.sql(f"INSERT INTO {name} SELECT * FROM VALUES (0L, 'a'), (1L, 'b') AS s")
        spark.sql(f"INSERT INTO {name} SELECT * FROM VALUES (2L, 'c'), (3L, 'd') AS s")
        return cls(spark, name, path)

    def merge(self) -> None:
        """Merge by this package."""
        self.spark.sql(CHANGES).createOrReplaceTempView("source")
        merge_sql(self.spark, MERGE, tables={"target": str(self.path)})

    def sql(self, text: str) -> None:
        """Run a statement of Delta Lake about the table ``{t}``."""
        self.spark.sql(text.format(t=self.name))

    def merge_by_delta(self) -> None:
        self.spark.sql(CHANGES).createOrReplaceTempView("source")
        self.spark.sql(MERGE.replace("target", self.name, 1))

    def version(self) -> int:
        return int(LogReader(self.path).version())

    def rows(self) -> Rows:
        """Read the rows by Delta Lake, and fail if delta-rs reads others."""
        by_delta = Counter(tuple(row) for row in self.spark.read.format("delta").load(str(self.path)).collect())
        read = pa.table(QueryBuilder().register("t", LogReader(self.path)).execute("SELECT id, v FROM t"))
        assert Counter(tuple(row.values()) for row in read.to_pylist()) == by_delta
        return by_delta

    def feed(self, version: int) -> Rows:
        """Read the change rows of a version by Delta Lake, and fail if delta-rs reads others."""
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        found = reader.option("startingVersion", version).option("endingVersion", version).load(str(self.path))
        by_delta = Counter(tuple(row) for row in found.select("id", "v", "_change_type").collect())
        read = pa.table(LogReader(self.path).load_cdf(starting_version=version, ending_version=version))
        columns = read.select(["id", "v", "_change_type"]).to_pylist()
        assert Counter(tuple(row.values()) for row in columns) == by_delta
        return by_delta

    def history(self) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(f"DESCRIBE HISTORY {self.name}").collect()]

    def detail(self) -> dict[str, Any]:
        rows = self.spark.sql(f"DESCRIBE DETAIL {self.name}").collect()
        kept = ("clusteringColumns", "properties", "tableFeatures", "minReaderVersion", "minWriterVersion")
        return {name: rows[0][name] for name in kept}

    def actions(self, kind: str, version: int) -> list[dict[str, Any]]:
        lines = (self.path / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)[kind] for line in lines if kind in json.loads(line)]


def test_a_table_with_clusters_checkpoints_and_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    """R-706 to R-708: rows, feed and history are what Delta Lake reads, and nothing else of the table changes."""
    checkpoints = "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '1'"
    table = DeltaTable.create(spark, tmp_path / "clustered", properties=checkpoints, clause="CLUSTER BY (id)")
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    assert list((table.path / "_delta_log" / "_sidecars").iterdir())
    before, version = table.detail(), table.version()

    table.merge()
    assert table.rows() == CHANGED
    assert table.feed(version + 1) == FEED
    assert table.detail() == before
    assert table.actions("domainMetadata", version + 1) == []
    newest, earlier = (table.actions("commitInfo", number)[0]["inCommitTimestamp"] for number in (version + 1, version))
    assert newest > earlier
    entry = table.history()[0]
    assert (entry["operation"], entry["operationMetrics"]["numTargetRowsUpdated"]) == ("MERGE", "1")
    assert int(entry["timestamp"].timestamp() * 1000) == newest  # Delta Lake takes it for the time of the commit

    table.merge_by_delta()
    assert table.rows() == CHANGED + INSERTED_AGAIN


EVOLVING = (
    "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_table_with_renamed_and_dropped_columns(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """R-709: Delta Lake finds the columns that evolution adds, by name and by id; an old column of the name stays gone.

    A renamed column is read by its old name in the files, also if it is a partition column.
    """
    mapped = f"'delta.columnMapping.mode' = '{mode}'"
    table = DeltaTable.create(spark, tmp_path / f"mapped_{mode}", properties=mapped, clause="PARTITIONED BY (v)")
    table.sql("ALTER TABLE {t} ADD COLUMNS (s STRUCT<a: INT, b: INT>, x INT)")
    table.sql("UPDATE {t} SET s = named_struct('a', 1, 'b', 2), x = 7 WHERE id < 2")
    table.sql("ALTER TABLE {t} RENAME COLUMN v TO w")
    table.sql("ALTER TABLE {t} RENAME COLUMN s.a TO z")
    table.sql("ALTER TABLE {t} DROP COLUMN s.b")
    table.sql("ALTER TABLE {t} DROP COLUMN x")
    version = table.version()
    spark.sql(
        "SELECT 1L AS id, 'w' AS w, named_struct('z', 5, 'b', 6) AS s, 9 AS x, 8 AS `a b` UNION ALL "
        "SELECT 9L, NULL, NULL, NULL, NULL"
    ).createOrReplaceTempView("source")
    merge_sql(spark, EVOLVING, tables={"target": str(table.path)})

    wanted = [
        (0, "a", (1, None), None, None),
        (1, "w", (5, 6), 9, 8),
        (2, "c", None, None, None),
        (3, "d", None, None, None),
        (9, None, None, None, None),
    ]
    frame = spark.read.format("delta").load(str(table.path)).orderBy("id")
    assert frame.columns == ["id", "w", "s", "x", "a b"]
    assert [tuple(row) for row in frame.collect()] == wanted
    read = pa.table(QueryBuilder().register("t", LogReader(table.path)).execute("SELECT * FROM t ORDER BY id"))
    by_delta_rs = [tuple(row.values()) for row in read.to_pylist()]
    assert [(*row[:2], row[2] and tuple(row[2].values()), *row[3:]) for row in by_delta_rs] == wanted
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version + 1)
    assert Counter(row["_change_type"] for row in feed.load(str(table.path)).collect()) == {
        "update_preimage": 1,
        "update_postimage": 1,
        "insert": 1,
    }
    table.sql("UPDATE {t} SET `a b` = 0 WHERE id = 9 AND w IS NULL")  # finds the file by the merge's own values
    assert frame.sparkSession.table(table.name).where("`a b` = 0").count() == 1


def test_files_that_name_columns_otherwise(spark: SparkSession, tmp_path: Path) -> None:
    """R-709: by id a file may call a column anything; such a table is refused by name, and left as it is."""
    table = DeltaTable.create(spark, tmp_path / "by_id", properties="'delta.columnMapping.mode' = 'id'")
    for file in LogReader(table.path).file_uris():
        rows = pq.read_table(file)
        pq.write_table(rows.rename_columns([f"other_{name}" for name in rows.column_names]), file)
    with pytest.raises(MergeError):
        table.merge()
    assert table.version() == 2


WIDENED = (
    "SELECT 1L AS id, 'w' AS v, 5000000000L AS n, CAST(2.5 AS DOUBLE) AS x, "
    "named_struct('a', CAST(7.25 AS DECIMAL(12,2))) AS s, array(6000000000L) AS xs UNION ALL "
    "SELECT 9L, NULL, 2L, NULL, NULL, NULL"
)


def test_a_table_with_widened_columns(spark: SparkSession, tmp_path: Path) -> None:
    """R-237, R-716: Delta Lake and the merge widen in turn; each reads files of all types, and the record is whole."""
    table = DeltaTable.create(spark, tmp_path / "widened", properties="'delta.enableTypeWidening' = 'true'")
    table.sql("ALTER TABLE {t} ADD COLUMNS (n TINYINT, x FLOAT, s STRUCT<a: INT>, xs ARRAY<INT>)")
    table.sql("UPDATE {t} SET n = 1, x = 1.1, s = named_struct('a', 3), xs = array(4) WHERE id < 2")
    table.sql("ALTER TABLE {t} ALTER COLUMN n TYPE INT")
    spark.sql(WIDENED).createOrReplaceTempView("source")
    merge_sql(spark, EVOLVING, tables={"target": str(table.path)})

    found = json.loads(table.actions("metaData", table.version())[0]["schemaString"])
    changes = {field["name"]: field["metadata"].get("delta.typeChanges") for field in found["fields"]}
    assert changes["n"] == [{"fromType": "byte", "toType": "integer"}, {"fromType": "integer", "toType": "long"}]
    assert changes["x"] == [{"fromType": "float", "toType": "double"}]
    assert changes["xs"] == [{"fromType": "integer", "toType": "long", "fieldPath": "element"}]
    assert found["fields"][4]["type"]["fields"][0]["metadata"]["delta.typeChanges"] == [
        {"fromType": "integer", "toType": "decimal(12,2)"}
    ]
    frame = spark.read.format("delta").load(str(table.path)).orderBy("id")
    assert [kind for _, kind in frame.dtypes] == [
        *("bigint", "string", "bigint", "double", "struct<a:decimal(12,2)>", "array<bigint>")
    ]
    old = (1, 1.100000023841858, (3,), [4])
    rows = [(0, "a", *old), (1, "w", 5_000_000_000, 2.5, (7.25,), [6_000_000_000])]
    rows += [(2, "c", *[None] * 4), (3, "d", *[None] * 4), (9, None, 2, None, None, None)]
    assert [tuple(row) for row in frame.collect()] == rows
    # finds the row by a bound of before, whose text has the digits of a FLOAT
    merge_sql(
        spark,
        "MERGE INTO target t USING source s ON t.id = s.id - 1 WHEN MATCHED AND t.x > 1.10000001D THEN DELETE",
        tables={"target": str(table.path)},
    )
    spark.sql(WIDENED.replace("5000000000L", "CAST(1 AS DECIMAL(20,0))")).createOrReplaceTempView("source")
    spark.sql(EVOLVING.replace("target", table.name, 1))
    assert [tuple(row)[:3] for row in spark.table(table.name).orderBy("id").collect()] == [
        (1, "w", 1),
        (2, "c", None),
        (3, "d", None),
        (9, None, 2),
    ]


MARKS = "'delta.enableDeletionVectors' = 'true'"


def test_a_table_with_deletion_vectors(spark: SparkSession, tmp_path: Path) -> None:
    """R-460 to R-463: Delta Lake, delta-rs and the merge take turns with vectors on one table.

    A row that Delta Lake deleted matches nothing; Delta Lake deletes on in the merge's vectors.
    """
    table = DeltaTable.create(spark, tmp_path / "marked", properties=MARKS)
    table.sql("DELETE FROM {t} WHERE id = 3")
    version = table.version()
    table.merge()
    assert table.rows() == CHANGED - Counter([(3, "d")])
    assert table.feed(version + 1) == FEED
    metrics = table.history()[0]["operationMetrics"]
    assert {name: metrics[name] for name in VECTOR_METRICS} == {
        # one row of the first file is left; no row of the second one, which had a vector
        "numTargetFilesRemoved": "1",
        "numTargetDeletionVectorsAdded": "1",
        "numTargetDeletionVectorsRemoved": "1",
        "numTargetDeletionVectorsUpdated": "0",
        "numTargetRowsCopied": "0",
    }
    left = CHANGED - Counter([(3, "d")])
    table.sql("DELETE FROM {t} WHERE id = 9")
    table.merge_by_delta()
    assert table.rows() == left + INSERTED_AGAIN
    table.merge()
    assert table.rows() == left

    table.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    table.merge()
    assert table.rows() == left + INSERTED_AGAIN
    assert table.history()[0]["operationMetrics"]["numTargetDeletionVectorsRemoved"] == "0"
    adds = table.actions("add", table.version())
    assert [add for add in adds if "deletionVector" in add] == []


VECTOR_METRICS = (
    *("numTargetFilesRemoved", "numTargetDeletionVectorsAdded", "numTargetDeletionVectorsRemoved"),
    *("numTargetDeletionVectorsUpdated", "numTargetRowsCopied"),
)
