"""Delta tables of two columns for spec tests, merges into them, and merges stopped before they choose a path."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import types as t

from mergecheck.merge import command
from mergecheck.merge.command import MergeResult, run_merge
from mergecheck.merge.conf import MergeConf
from mergecheck.merge.executors.source import MergeSource
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.writing.write import WrittenFile

DELTA = "spark.databricks.delta."
SOURCE_SCHEMA = t.StructType([t.StructField("id", t.LongType()), t.StructField("v", t.StringType())])
ON = "MERGE INTO target t USING source s ON t.id = s.id "
UPSERT = ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
INSERT = ON + "WHEN NOT MATCHED THEN INSERT *"
DELETE_AND_INSERT = ON + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
CDF = {"delta.enableChangeDataFeed": "true"}

Rows = list[tuple[Any, ...]]


def arrow(rows: Rows, names: tuple[str, ...] = ("id", "v")) -> pa.Table:
    types = [pa.int64(), pa.string()]
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)})


class _StoppedError(BaseException):
    """A merge was stopped on purpose; no ``Exception``, which the merge would turn into an error of its own."""


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table on disk and the session that merges into it."""

    spark: SparkSession
    path: str

    def merge(self, sql: str, rows: Rows, schema: t.StructType = SOURCE_SCHEMA, **options: Any) -> MergeResult:
        source = MergeSource(frame=self.spark.createDataFrame(rows, schema), **options)
        return run_merge(self.spark, path=self.path, statement=parse_merge(sql), source=source)

    def prepared(self, sql: str, rows: Rows, **options: Any) -> MergeRun:
        """Do the steps of a merge before it chooses an execution path."""
        runs: list[MergeRun] = []

        def stop(run: MergeRun) -> None:
            runs.append(run)
            raise _StoppedError

        with mock.patch.object(command, "execute", stop), suppress(_StoppedError):
            self.merge(sql, rows, **options)
        return runs[0]

    def rows_of(self, files: Sequence[WrittenFile | DataFile]) -> Counter[tuple[Any, ...]]:
        """Read files of the table or of a run, committed or not."""
        tables = [pq.read_table(Path(self.path) / file.path, partitioning=None) for file in files]
        return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())

    def rows(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row.values()) for row in DeltaTable(self.path).to_pyarrow_table().to_pylist())

    def changes(self) -> Counter[tuple[Any, ...]]:
        table = DeltaTable(self.path)
        names = [*table.schema().to_arrow().names, "_change_type"]
        feed = pa.table(table.load_cdf(starting_version=table.version())).select(names)
        return Counter(tuple(row.values()) for row in feed.to_pylist())

    def history(self) -> dict[str, Any]:
        return dict(DeltaTable(self.path).history(1)[0])

    def version(self) -> int:
        return int(DeltaTable(self.path).version())


def create(
    spark: SparkSession, path: Path, *files: pa.Table, partition_by: list[str] | None = None, **properties: str
) -> Table:
    configuration = {name.replace("_", "."): value for name, value in properties.items()} or CDF
    for file in files:
        write_deltalake(path, file, mode="append", partition_by=partition_by, configuration=configuration)
    return Table(spark, str(path))


class AllIntegers:
    """Answers for statements between INT columns whose other expressions are INT, too."""

    def of(self, expressions: Sequence[str]) -> tuple[t.DataType, ...]:
        return (t.IntegerType(),) * len(expressions)


def integers(*names: str) -> t.StructType:
    """Make a schema of INT columns."""
    return t.StructType([t.StructField(name, t.IntegerType()) for name in names])


def resolved(sql: str, *, target: Sequence[str] = ("id", "v"), source: Sequence[str] = ("id", "v")) -> ResolvedMerge:
    """Resolve a statement between tables of INT columns, all of whose values are INT, without Spark."""
    return resolve(
        parse_merge(sql),
        target_schema=integers(*target),
        source_schema=integers(*source),
        conf=MergeConf(),
        types=AllIntegers(),
        clock=StatementClock(instant=datetime(2026, 1, 2, tzinfo=UTC)),
    )
