"""The driver's side of writing: plans the output, runs the query that writes it and reads its records."""

from __future__ import annotations

import functools
import logging
import uuid
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.merge.errors import AnalysisError, ExecutionError, MergeError, brief
from mergecheck.merge.table.log.column_mapping import stored_path, stored_schema
from mergecheck.merge.table.log.deletion_vectors import paths_of_vectors
from mergecheck.merge.table.log.properties import codec, indexed_columns, prefix_length
from mergecheck.merge.table.storage.log_store import LogStore
from mergecheck.merge.table.storage.object_store import STORE_ERRORS
from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.storage.workers import run_in_workers
from mergecheck.merge.table.writing.arrow_schema import arrow_schema
from mergecheck.merge.table.writing.checks import Check, check_plan, with_violations
from mergecheck.merge.table.writing.constraints import not_null_paths
from mergecheck.merge.table.writing.generated_ids import IdPlan, IdSequence
from mergecheck.merge.table.writing.row_records import (
    CHANGE_FILE,
    CHECK_VIOLATION,
    DATA_FILE,
    FURTHEST_ID,
    KEPT_COMMIT_VERSION,
    KEPT_ROW_ID,
    NO_MORE_IDS,
    NULL_VIOLATION,
    RECORD_DDL,
    RECORD_SCHEMA,
    ROW_COUNT,
    RowAction,
    routes,
)
from mergecheck.merge.table.writing.vectors import MarkedFile, mark_rows
from mergecheck.merge.table.writing.writer import WriteTask, write_partition
from mergecheck.merge.types.fields import type_sql
from mergecheck.merge.types.identity import identities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType

    from mergecheck.merge.table.log.indexed_columns import IndexedColumns
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.types.identity import Identity

    BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    WriteFunction = Callable[[WriteTask, Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

SOURCE_COUNT = "source"
_COUNTED = (DATA_FILE, CHANGE_FILE, ROW_COUNT, SOURCE_COUNT)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file that a successful task wrote: decoded path in the table, serialised partition values, JSON statistics."""

    path: str
    size: int
    num_records: int
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    stats: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The files of one write; they are not visible before the commit.

    Attributes:
        counts: rows by action, whether or not they went to a file. INSERT_WITH_IDS counts as INSERT.
        num_source_rows: rows of the source, if the query was asked to count them.
        reports: kind, name and text of the other records that the worker function yielded.
    """

    data_files: tuple[WrittenFile, ...] = ()
    change_files: tuple[WrittenFile, ...] = ()
    counts: Mapping[RowAction, int] = field(default_factory=dict)
    num_source_rows: int | None = None
    reports: tuple[tuple[str, str, str | None], ...] = ()

    def reported(self, kind: str) -> list[tuple[str, str | None]]:
        """List name and text of the reports of a kind."""
        return [(name, text) for found, name, text in self.reports if found == kind]

    def plus(self, other: WriteResult) -> WriteResult:
        """Add what another query of the same merge wrote."""
        return replace(
            self,
            data_files=self.data_files + other.data_files,
            change_files=self.change_files + other.change_files,
            counts=Counter(self.counts) + Counter(other.counts),
            reports=self.reports + other.reports,
        )

    def furthest_ids(self, columns: Mapping[int, Identity]) -> dict[int, int]:
        """Return the furthest value in the data files, in the direction of its step, of each identity column."""
        found: dict[int, int] = {}
        for name, text in self.reported(FURTHEST_ID):
            position, value = int(name), int(text or "")
            further = max if columns[position].step > 0 else min
            found[position] = further(value, found.get(position, value))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWriter:
    """Writes output rows of one merge into its table.

    Attributes:
        schema: the table's columns after the merge.
        checks: what every row written must satisfy besides NOT NULL.
        write_id: part of every file name of this merge.
        repartition: gather the rows of each partition tuple in one task first (R-425).
        places: how messages name the clauses, by the actions of their rows.
        generated_ids: positions of the identity columns whose values are generated (R-226).
        most_tasks: that generate such values, of one query.
    """

    snapshot: Snapshot
    schema: StructType
    checks: tuple[Check, ...] = ()
    repartition: bool = True
    collect_stats: bool = True
    places: Mapping[int, str] = field(default_factory=dict)
    generated_ids: tuple[int, ...] = ()
    most_tasks: int = 1
    write_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def write(
        self,
        output: DataFrame,
        *,
        change_data: bool,
        in_one_task: bool = False,
        source_count: DataFrame | None = None,
        function: WriteFunction = write_partition,
    ) -> WriteResult:
        """Run the query that writes an output.

        Args:
            output: ``_action_``, the table's columns in order and whatever columns the worker function takes besides.
            change_data: whether change data files are written.
            in_one_task: one task writes everything: a file per partition tuple (R-542, R-543).
            source_count: a relation of one BIGINT, the number of source rows, counted in the same query.
            function: runs on the workers.

        Raises:
            AnalysisError: the table has partition columns only (R-745), or a constraint is no condition (R-747).
            ExecutionError: a NOT NULL column would hold a NULL (R-741), or a row violates a CHECK (R-742).
        """
        check_plan(self.checks, output.sparkSession)
        task = self.task(change_data=change_data, num_tasks=1 if in_one_task else self.most_tasks)
        unwritten = (code for code, route in task.routes.items() if not (route.table or route.change_type))
        output = self._as_stored(
            with_violations(output, self.checks, num_columns=len(self.schema.fields), unwritten=unwritten)
        )
        if in_one_task:
            output = output.coalesce(1)
        elif self.repartition and task.partition_columns:
            names = output.columns[1:]
            columns = [names[self.schema.names.index(column)] for column in self.snapshot.partition_columns]
            output = output.repartition(*columns)
        if self.generated_ids and not in_one_task:
            output = output.coalesce(self.most_tasks)
        return self.run(output, functools.partial(function, task), source_count=source_count)

    @property
    def _stored(self) -> StructType:
        """The columns by the names that files have for them."""
        return stored_schema(self.schema, self.snapshot.mapping, where=self.snapshot.location)

    def _as_stored(self, output: DataFrame) -> DataFrame:
        """Give the fields inside of columns the names that files have for them; Spark casts structs by position."""
        fields = zip(self._stored.fields, self.schema.fields, strict=True)
        types = {
            f"_stored_{place}_": stored.dataType
            for place, (stored, field) in enumerate(fields, start=1)  # after the action
            if stored.dataType.simpleString() != field.dataType.simpleString()
        }
        if not types:
            return output
        columns = [f"_stored_{place}_" for place in range(len(output.columns))]
        cast = (f"CAST({name} AS {type_sql(types[name])}) AS {name}" if name in types else name for name in columns)
        return output.toDF(*columns).selectExpr(*cast).toDF(*output.columns)

    def run(self, rows: DataFrame, function: BatchFunction, *, source_count: DataFrame | None = None) -> WriteResult:
        """Hand rows to a function in the workers and collect the records that it yields; see ``write``.

        Raises:
            ExecutionError: a record reports a violation.
        """
        records = run_in_workers(rows, function, RECORD_DDL)
        if source_count is not None:
            known = {"kind": f"'{SOURCE_COUNT}'", "num_records": source_count.columns[0]}
            counted = [f"{known.get(name, 'NULL')} AS {name}" for name in RECORD_SCHEMA.names]
            records = records.union(source_count.selectExpr(*counted))
        return _result(records.collect(), self.places)

    def mark_rows(
        self, files: Sequence[DataFile], packed: Mapping[str, Sequence[str]]
    ) -> tuple[tuple[DataFile, ...], tuple[MarkedFile, ...]]:
        """Write vectors for the touched files whose rows were changed; see ``vectors.mark_rows``."""
        return mark_rows(self.snapshot, files, packed, self.write_id)

    def remove_orphans(self) -> None:
        """Delete the files of this merge that no commit mentions; failures are logged, VACUUM gets the rest.

        The log is asked first: an interrupt may come when the commit has been made already.
        """
        location, access = self.snapshot.location, self.snapshot.access
        try:
            log = LogStore(location, access)
            later = [action for _, actions in log.read_from(self.snapshot.version + 1) for action in actions]
            kept = log.paths_after(self.snapshot.version).union(paths_of_vectors(later))
            failed = open_storage(location, access).delete_files(containing=self.write_id, kept=kept)
        except (MergeError, *STORE_ERRORS) as error:  # a store that is gone; the merge has failed for its own reason
            failed = {f"*{self.write_id}*": brief(error)}
        for path, reason in failed.items():
            _logger.warning("Orphan file %s could not be deleted: %s", path, reason)

    def task(self, *, change_data: bool, num_tasks: int = 1) -> WriteTask:
        """Collect the settings that a worker needs to write into the table; raises as ``write`` does.

        So many tasks may generate values of identity columns.
        """
        partition_columns = self.snapshot.partition_columns
        if len(partition_columns) == len(self.schema.fields):
            raise AnalysisError(
                "DELTA_NON_PARTITION_COLUMN_ABSENT",
                "Data written into Delta needs to contain at least one non-partitioned column, but the table is "
                f"partitioned by all of {', '.join(partition_columns)}. Add a column that is not a partition column.",
            )
        stored = self._stored
        names = (".".join(path) for path in not_null_paths(self.schema))
        return WriteTask(
            location=self.snapshot.location,
            write_id=self.write_id,
            schema=arrow_schema(stored),
            partition_columns=tuple(stored.names[self.schema.names.index(name)] for name in partition_columns),
            routes=routes(change_data=change_data),
            not_null=dict(zip(not_null_paths(stored), names, strict=True)),
            checked=bool(self.checks),
            indexed=self._indexed() if self.collect_stats else None,
            access=self.snapshot.access,
            id_columns=self._id_columns(),
            generated=self._id_plan(num_tasks),
            codec=codec(self.snapshot.properties),
            prefix_length=prefix_length(self.snapshot.properties),
        )

    def _id_plan(self, num_tasks: int) -> IdPlan | None:
        if not self.generated_ids:
            return None
        columns = identities(self.schema)
        sequences = {i: IdSequence(first=columns[i].first, step=columns[i].step) for i in self.generated_ids}
        return IdPlan(sequences=sequences, num_tasks=num_tasks)

    def _id_columns(self) -> dict[str, str]:
        tracking = self.snapshot.row_tracking
        if tracking is None or tracking.columns is None:
            return {}
        return {KEPT_ROW_ID: tracking.columns.row_id, KEPT_COMMIT_VERSION: tracking.columns.commit_version}

    def _indexed(self) -> IndexedColumns:
        """Read which columns have statistics, by the names that files have for them."""
        indexed = indexed_columns(self.snapshot.properties)
        if indexed.names is None:
            return indexed
        return replace(indexed, names=tuple(stored_path(name, self.schema, self._stored) for name in indexed.names))


def _result(records: list[Row], places: Mapping[int, str]) -> WriteResult:
    _raise_violation(records, places)
    counts: Counter[RowAction] = Counter()
    for record in records:
        if record["kind"] == ROW_COUNT:
            action = RowAction(int(record["name"]))
            counted = RowAction.INSERT if action is RowAction.INSERT_WITH_IDS else action
            counts[counted] += record["num_records"]
    return WriteResult(
        data_files=tuple(_file(record) for record in records if record["kind"] == DATA_FILE),
        change_files=tuple(_file(record) for record in records if record["kind"] == CHANGE_FILE),
        counts=counts,
        reports=tuple((r["kind"], r["name"], r["stats"]) for r in records if r["kind"] not in _COUNTED),
        num_source_rows=next((r["num_records"] for r in records if r["kind"] == SOURCE_COUNT), None),
    )


def _raise_violation(records: list[Row], places: Mapping[int, str]) -> None:
    """Raise the first violation in alphabetical order, so that several tasks give one answer."""
    found = {
        kind: sorted((record["name"], record["action"]) for record in records if record["kind"] == kind)
        for kind in (CHECK_VIOLATION, NULL_VIOLATION)
    }

    def placed(message: str, action: int) -> str:
        return f"{places[action]}: {message}" if action in places else message

    for name, action in found[CHECK_VIOLATION]:
        error_class, message = name.split(" ", 1)
        raise ExecutionError(error_class, placed(message, action))
    if any(record["kind"] == NO_MORE_IDS for record in records):
        raise ExecutionError(
            "ARITHMETIC_OVERFLOW",
            "long overflow: an identity column of the table has no more values. Nothing was committed.",
        )
    for name, action in found[NULL_VIOLATION]:
        raise ExecutionError(
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", placed(f"NOT NULL constraint violated for column: {name}.", action)
        )


def _file(record: Row) -> WrittenFile:
    return WrittenFile(
        path=record["name"],
        size=record["size"],
        num_records=record["num_records"],
        partition_values=dict(record["partition_values"] or {}),
        stats=record["stats"],
    )
