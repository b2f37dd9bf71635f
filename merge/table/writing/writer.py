"""Writing data files and change data files from inside Spark's Python workers.

``DataFrame.mapInArrow`` runs ``write_partition``, which gets plain data and imports neither Spark nor the log reader.
Its records reach the driver through an ordinary collect, so that only tasks that succeeded are counted: metrics stay
exact if tasks are retried (R-544).
"""

from __future__ import annotations

import contextlib
import re
import secrets
import string
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mergecheck.merge.table.log.indexed_columns import IndexedColumns
from mergecheck.merge.table.log.partition_values import directory
from mergecheck.merge.table.log.statistics import StatisticsCollector
from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.writing.constraints import first_violation
from mergecheck.merge.table.writing.generated_ids import GeneratedIds
from mergecheck.merge.table.writing.partition_split import split_by_partition
from mergecheck.merge.table.writing.row_records import (
    ACTION,
    CHANGE_FILE,
    CHECK_VIOLATION,
    DATA_FILE,
    NO_MORE_IDS,
    NULL_VIOLATION,
    ROW_COUNT,
    Route,
    record_batch,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mergecheck.merge.table.storage.storage import NewFile, Storage
    from mergecheck.merge.table.storage.store_access import StoreAccess
    from mergecheck.merge.table.writing.generated_ids import IdPlan
    from mergecheck.merge.table.writing.partition_split import PartitionKey

CHANGE_DATA_DIRECTORY, CHANGE_TYPE = "_change_data", "_change_type"
ROWS_PER_ROW_GROUP = 262_144
# Larger dictionaries cost most of the writing and make files of many values larger.
DICTIONARY_BYTES = 64 * 2**10
_PREFIX_CHARACTERS = string.ascii_letters + string.digits
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.=-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """Everything that a worker must know.

    Attributes:
        location: the table's directory, or its URI in a store.
        write_id: unique per merge, part of every file name, so that a failed merge finds its orphans.
        schema: the table's columns by the names that files have for them (R-709); the input has them in this order
            under positional names.
        partition_columns: the names in files of the partition columns, in partitioning order.
        routes: by value of ``_action_``.
        not_null: paths in files of what must not be NULL (R-741), with their names in messages.
        checked: the input ends with a column that names the CHECK that a row violates (R-742).
        indexed: the leaf columns with statistics; None writes no statistics at all.
        id_columns: the names in data files of the ids and commit versions that rows keep, by their names in the input,
            which need not have them (R-725).
        codec: of new files, by Arrow's name.
        prefix_length: of the random name that a data file has in place of the folder of its partition; 0 for none.
        generated: the identity columns whose values are generated here; None without any (R-226).
    """

    location: str
    write_id: str
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    routes: Mapping[int, Route]
    not_null: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    checked: bool = False
    indexed: IndexedColumns | None = field(default_factory=IndexedColumns)
    access: StoreAccess | None = None
    id_columns: Mapping[str, str] = field(default_factory=dict)
    generated: IdPlan | None = None
    codec: str = "snappy"
    prefix_length: int = 0


def write_partition(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write one partition of the output and describe it: one record per file, one per action seen.

    The input is ``_action_`` followed by the table's columns and, if these are checked, the violated constraint. A
    violation ends the writing and is reported as a record: an exception would reach the driver as a Python traceback.
    """
    yield from write_tables(task, (pa.Table.from_batches([batch]) for batch in batches))


def write_tables(task: WriteTask, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Write tables of rows as ``write_partition`` does with batches."""
    output = _TaskOutput(task)
    try:
        for rows in tables:
            output.add(rows)
            if output.violation is not None:
                break
        records = output.close()
    except BaseException:
        output.abort()
        raise
    if records:
        yield record_batch(records)


class _TaskOutput:
    def __init__(self, task: WriteTask) -> None:
        self._task, self._storage = task, open_storage(task.location, task.access)
        self._files: dict[tuple[str, PartitionKey], _OpenFile] = {}
        self._counts: Counter[int] = Counter()
        number, attempt = _own_numbers()
        self._name = f"part-{number:05d}-{task.write_id}-{attempt}"
        self._ids = None if task.generated is None else GeneratedIds(task.generated, number)
        self._void = [field.name for field in task.schema if pa.types.is_null(field.type)]
        self.violation: dict[str, object] | None = None

    def add(self, batch: pa.Table) -> None:
        actions = batch.column(ACTION)
        rows = _canonical(batch, self._task.schema)
        if self._ids is not None:
            filled = self._ids.fill(rows, actions)
            if filled is None:
                self.violation = {"kind": NO_MORE_IDS}
                return
            rows = filled
        for counted in pc.value_counts(actions.combine_chunks()).to_pylist():
            self._counts[counted["values"]] += counted["counts"]
        to_table = [action for action in self._counts if self._task.routes[action].table]
        to_feed = [action for action in self._counts if self._task.routes[action].change_type]
        self.violation = self._violation(batch, rows, actions, {*to_table, *to_feed})
        if self.violation is not None:
            return
        if self._ids is not None:
            self._ids.look_at(_rows_of(rows, actions, to_table))
        rows = rows.drop_columns(self._void)  # a VOID column is in the schema, but in no file
        self._write(DATA_FILE, _rows_of(self._with_ids(rows, batch), actions, to_table))
        if to_feed:
            routes = self._task.routes
            names = [routes[code].change_type if code in routes else None for code in range(max(routes) + 1)]
            changes = rows.append_column(CHANGE_TYPE, pc.take(pa.array(names), actions))
            self._write(CHANGE_FILE, _rows_of(changes, actions, to_feed))

    def _violation(
        self, batch: pa.Table, rows: pa.Table, actions: pa.ChunkedArray, written: set[int]
    ) -> dict[str, object] | None:
        """Describe the first constraint that a row to be written violates; rows only counted need not comply."""
        if self._task.checked:
            for action in sorted(written):
                messages = _rows_of(batch, actions, [action]).column(batch.num_columns - 1).drop_null()
                if len(messages):
                    return {"kind": CHECK_VIOLATION, "name": messages[0].as_py(), "action": action}
        if self._task.not_null:
            for action in sorted(written):
                path = first_violation(_rows_of(rows, actions, [action]), self._task.not_null)
                if path is not None:
                    return {"kind": NULL_VIOLATION, "name": path, "action": action}
        return None

    def _with_ids(self, rows: pa.Table, batch: pa.Table) -> pa.Table:
        for name, stored in self._task.id_columns.items():
            if name in batch.column_names:
                rows = rows.append_column(stored, batch.column(name))
        return rows

    def _write(self, kind: str, rows: pa.Table) -> None:
        for key, part in split_by_partition(rows, self._task.partition_columns):
            file = self._files.get((kind, key))
            if file is None:  # opened by its first row, so that no file is empty
                name = f"{self._name}.c{len(self._files):03d}.{self._task.codec}.parquet"
                file = self._files[kind, key] = _OpenFile.plan(self._task, self._storage, kind, key, name=name)
            file.add(part)

    def close(self) -> list[dict[str, object]]:
        if self.violation is not None:
            self.abort()
            return [self.violation]
        counts = [{"kind": ROW_COUNT, "name": str(action), "num_records": n} for action, n in self._counts.items()]
        ids = [] if self._ids is None else self._ids.records()
        return [*(file.close() for file in self._files.values()), *counts, *ids]

    def abort(self) -> None:
        for file in self._files.values():
            file.abort()


@dataclass(slots=True)
class _OpenFile:
    task: WriteTask
    kind: str
    key: PartitionKey
    relative: str
    file: NewFile
    _writer: pq.ParquetWriter | None = None
    _statistics: StatisticsCollector | None = None
    _buffered: list[pa.Table] = field(default_factory=list)
    _num_records: int = 0

    @classmethod
    def plan(cls, task: WriteTask, storage: Storage, kind: str, key: PartitionKey, *, name: str) -> _OpenFile:
        directories = [directory(*pair) for pair in zip(task.partition_columns, key, strict=True)]
        if task.prefix_length and kind == DATA_FILE:
            directories = ["".join(secrets.choice(_PREFIX_CHARACTERS) for _ in range(task.prefix_length))]
        if kind == CHANGE_FILE:
            # deltalake 1.6 finds no change files whose path needs percent-encoding; the log has the partition values.
            directories = [CHANGE_DATA_DIRECTORY, *(_NOT_PLAIN.sub("_", name) for name in directories)]
        relative = "/".join([*directories, name])
        return cls(task=task, kind=kind, key=key, relative=relative, file=storage.new_file(relative))

    def add(self, rows: pa.Table) -> None:
        self._buffered.append(rows)
        if sum(piece.num_rows for piece in self._buffered) >= ROWS_PER_ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        rows = pa.concat_tables(self._buffered)
        self._buffered = []
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.file.begin(),
                rows.schema,
                compression=self.task.codec,
                store_schema=False,
                store_decimal_as_integer=True,  # as Spark does; hashing and encoding bytes takes twice as long
                dictionary_pagesize_limit=DICTIONARY_BYTES,
            )
            indexed = self.task.indexed
            if self.kind == DATA_FILE and indexed is not None:
                self._statistics = StatisticsCollector(self._without_ids(rows).schema, indexed)
        self._writer.write_table(rows)
        self._num_records += rows.num_rows
        if self._statistics is not None:
            self._statistics.add(self._without_ids(rows))

    def _without_ids(self, rows: pa.Table) -> pa.Table:
        """Leave out the ids, which have no statistics (R-725)."""
        return rows.drop_columns([name for name in self.task.id_columns.values() if name in rows.column_names])

    def close(self) -> dict[str, object]:
        if self._buffered:
            self._flush()
        if self._writer is not None:
            self._writer.close()
        return {
            "kind": self.kind,
            "name": self.relative,
            "size": self.file.finish(),
            "num_records": self._num_records,
            "partition_values": list(zip(self.task.partition_columns, self.key, strict=True)),
            "stats": None if self._statistics is None else self._statistics.to_json(),
        }

    def abort(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError):  # the first failure is the one to report
                self._writer.close()
        self.file.discard()


def _canonical(batch: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give the columns their names and types in the table; Spark labels instants with the session's time zone."""
    columns = zip(batch.columns[1 : len(schema) + 1], schema.types, strict=True)
    return pa.Table.from_arrays([as_type(column, wanted) for column, wanted in columns], schema=schema)


def as_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Cast a column, unless it has the type already: Arrow would look at every value."""
    return column if column.type == wanted else column.cast(wanted)


def _rows_of(rows: pa.Table, actions: pa.ChunkedArray, wanted: list[int]) -> pa.Table:
    chosen = pc.is_in(actions, value_set=pa.array(wanted, actions.type))
    return rows if pc.all(chosen).as_py() else rows.filter(chosen)  # a filter copies every column


def _own_numbers() -> tuple[int, int]:
    """Give the numbers of this task and of its attempt: two attempts of one task never write the same file."""
    from pyspark import TaskContext  # noqa: PLC0415 - exists in workers; tests run without one

    context = TaskContext.get()
    return (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
