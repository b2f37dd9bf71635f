"""MergeIntoCommand: one run of a MERGE from the snapshot to the commit (R-401)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import (
    ExecutionError,
    MergeError,
    SparkFailedError,
    StoreError,
    UncertainCommitError,
    UnsupportedStatementError,
)
from mergecheck.merge.executors.merge_run import (
    MergeRun,
    candidate_files,
    has_deletes,
    has_inserts,
    pruning_predicate,
    shuffle_partitions,
    uses_insert_only_path,
)
from mergecheck.merge.executors.optimizations.one_task import shuffles_to_one_task
from mergecheck.merge.executors.output import places_of_actions
from mergecheck.merge.executors.source import (
    MaterializeReason,
    MergeSource,
    check_source_is_stable,
    materialization_reason,
    prepare_source,
)
from mergecheck.merge.expressions.boundary import merge_errors
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.expressions.spark_errors import SPARK_ERRORS, explain, from_spark, spark_text
from mergecheck.merge.metrics import (
    ExecutionPath,
    PathResult,
    Stopwatch,
    TimedPart,
    log_metric_invariants,
    merge_metrics,
)
from mergecheck.merge.plan import execute, joins
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.source_query import repeated_columns
from mergecheck.merge.table.commit.actions import Transaction
from mergecheck.merge.table.commit.commit import PendingCommit, commit, validate_record_counts
from mergecheck.merge.table.commit.conflicts import ReadSet
from mergecheck.merge.table.commit.dependents import check_unpadded
from mergecheck.merge.table.commit.new_schema import check_new_schema, check_void_columns, with_new_metadata
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS, TableLogs
from mergecheck.merge.table.log.properties import AUTO_OPTIMIZE_WRITE, check_properties
from mergecheck.merge.table.reading.source_reads import reads_table
from mergecheck.merge.table.storage.paths import table_location
from mergecheck.merge.table.writing.checks import table_checks
from mergecheck.merge.table.writing.write import TableWriter
from mergecheck.merge.types.text_limits import padded_columns

if TYPE_CHECKING:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.syntax.statement import MergeStatement
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

# how often a merge starts over after a block of its materialised source was lost (a static conf in Delta).
MAX_ATTEMPTS = 4
_LOST_BLOCK = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
_ERROR_NUMBER = "[Errno "  # how Python writes an error of the operating system

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The result of a merge.

    Attributes:
        version: None if no commit was made (R-731).
        path: None if the transaction was committed before (R-715).
        metrics: the 22 operation metrics of R-510, also if no commit was made; ``internal_metrics``: the ones of R-503.
        row: affected, updated, deleted and inserted rows (R-110); None if the command returns no row (R-715).
        touched_files: locations of the files that were rewritten.
        ways: how often each executor and each optimisation was used, by name, and files that it left out.
    """

    version: int | None
    path: ExecutionPath | None
    metrics: Mapping[str, int] = field(default_factory=dict)
    internal_metrics: Mapping[str, int] = field(default_factory=dict)
    row: tuple[int, int, int, int] | None = None
    touched_files: tuple[str, ...] = ()
    materialize_reason: MaterializeReason | None = None
    ways: Mapping[str, int] = field(default_factory=dict)


def run_merge(
    spark: SparkSession,
    *,
    path: str,
    statement: MergeStatement,
    source: MergeSource,
    logs: TableLogs = DELTA_LOGS,
) -> MergeResult:
    """Merge a source into the Delta table at a path.

    Args:
        spark: the session, classic or Connect.
        path: directory of the target table, on a local disk or in a store.
        statement: what to do; its ``source`` text only gives columns a qualifier.
        source: the source relation.
        logs: how the table's log is reached.

    Raises:
        MergeError: nothing else is raised, and the table is as it was.
        AnalysisError: the statement is wrong for these tables.
        InvalidConfigurationError: a setting or a table property has a value that it does not allow.
        ExecutionError: the data make the merge fail, or a data file is damaged.
        DamagedLogError: the table's log is damaged.
        ConcurrentModificationError: another commit is in the way.
        StoreError: the disk or the store of the table refuses, or does not answer.
        SparkFailedError: Spark lost a worker, or its connection.
        UnsupportedTableError, UnsupportedStatementError: something that this package does not do.
    """
    with merge_errors(path):
        command = _Command(
            spark=spark, conf=MergeConf.read(spark), path=path, statement=statement, source=source, logs=logs
        )
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return command.run(attempt)
            except SPARK_ERRORS as error:
                if not _lost_source(error):
                    raise from_spark(error) from error
                _logger.warning("A block of the materialised source was lost in attempt %d.", attempt)
    raise ExecutionError(
        "DELTA_MERGE_MATERIALIZE_SOURCE_FAILED_REPEATEDLY",
        "Keeping the source of the MERGE statement materialized has failed repeatedly. Check the executors' disks, or "
        "write the source to a table first.",
    )


def _lost_source(error: PySparkException | Py4JError) -> bool:
    return _LOST_BLOCK in spark_text(error)


def _placed(error: MergeError, snapshot: Snapshot) -> MergeError:
    """Distinguish a disk or store that refuses a worker from a worker that fails."""
    if isinstance(error, SparkFailedError) and _ERROR_NUMBER in error.reason:
        return StoreError(error.reason, where=snapshot.location)
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    spark: SparkSession
    conf: MergeConf
    path: str
    statement: MergeStatement
    source: MergeSource
    logs: TableLogs

    def run(self, attempt: int) -> MergeResult:
        """Run once, from a new snapshot (R-401)."""
        stopwatch = Stopwatch()
        known = self.source.version_read(table_location(self.path))  # all reads of the table are at one version
        snapshot = self.logs.snapshot(self.spark, self.path, version=known, app_id=self.conf.txn_app_id)
        check_properties(snapshot.properties)
        padded = padded_columns(snapshot.schema, padding=self.conf.read_side_char_padding)
        check_unpadded(snapshot, padded, case_sensitive=self.conf.case_sensitive)
        merge = self._resolve(snapshot)
        if self.conf.drop_null_columns:
            check_void_columns(merge.final_schema)
        if self._is_replay(snapshot):
            return MergeResult(version=None, path=None)
        check_new_schema(snapshot, merge.final_schema, case_sensitive=self.conf.case_sensitive)
        if merge.not_boolean is not None:
            raise merge.not_boolean  # with the first plan, when the schema is new already
        writer = TableWriter(
            snapshot=snapshot,
            schema=merge.final_schema,
            checks=table_checks(snapshot.properties, merge.final_schema),
            places=places_of_actions(merge),
            repartition=self._repartitions(snapshot),
            collect_stats=self.conf.stats_collect,
            generated_ids=merge.generated_ids,
            most_tasks=shuffle_partitions(self.spark) if merge.generated_ids else 1,
        )
        _check_ids_are_unchecked(merge, writer)
        try:
            seen = [reads_table(frame, snapshot) for frame in (self.source.frame, *self.source.named)]
            reads_target = any(seen) or known is not None
            _check_unpadded_source(padded, reads_target=reads_target)
            run = self._prepare(snapshot, merge, writer, stopwatch, attempt)
            result = execute(run)
            check_source_is_stable(self.conf, result)
            return self._commit(run, result, _read_set(run, result, whole_table=reads_target))
        except UncertainCommitError:
            raise  # a commit may mention the files
        except BaseException as error:
            writer.remove_orphans()
            if isinstance(error, SPARK_ERRORS) and not _lost_source(error):
                raise _placed(explain(error, self.statement, merge), snapshot) from error
            raise

    def _resolve(self, snapshot: Snapshot) -> ResolvedMerge:
        source_schema = self.source.schema
        merge = resolve(
            self.statement,
            target_schema=snapshot.schema,
            source_schema=source_schema,
            repeated=repeated_columns(self.source.frame, case_sensitive=self.conf.case_sensitive),
            conf=self.conf,
            types=SparkExpressionTypes(self.spark, target_schema=snapshot.schema, source_schema=source_schema),
            widens=snapshot.widens_types,
        )
        return replace(merge, final_schema=with_new_metadata(snapshot, merge.final_schema))

    def _is_replay(self, snapshot: Snapshot) -> bool:
        """Return whether the application has committed this transaction before (R-715)."""
        own = self._transaction()
        return own is not None and snapshot.transactions.get(own.app_id, own.version - 1) >= own.version

    def _repartitions(self, snapshot: Snapshot) -> bool:
        """Decide R-425; an optimised write would arrange the rows itself."""
        by_session = self.conf.optimize_write
        optimized = snapshot.flag(AUTO_OPTIMIZE_WRITE) if by_session is None else by_session
        return self.conf.repartition_before_write and not optimized

    def _prepare(
        self, snapshot: Snapshot, merge: ResolvedMerge, writer: TableWriter, stopwatch: Stopwatch, attempt: int
    ) -> MergeRun:
        with stopwatch.part(TimedPart.MATERIALIZE_SOURCE):
            reason = materialization_reason(
                self.conf.materialize_source,
                insert_only_path=uses_insert_only_path(merge, self.conf),
                source_is_delta=self.source.is_delta,
            )
            in_one_task = self.conf.one_task and shuffles_to_one_task(self.spark)
            source = prepare_source(self.source, merge, reason, attempt=attempt, in_one_task=in_one_task)
        ways: Counter[str] = Counter({"materialized": 1} if reason.materializes else {})
        return MergeRun(
            spark=self.spark,
            conf=self.conf,
            merge=merge,
            snapshot=snapshot,
            candidates=candidate_files(snapshot, merge),
            source=source,
            joins=joins(self.spark, self.conf, merge, source, ways),
            writer=writer,
            stopwatch=stopwatch,
            ways=ways,
        )

    def _commit(self, run: MergeRun, result: PathResult, read: ReadSet) -> MergeResult:
        metrics = merge_metrics(result, run.snapshot, run.candidates, run.stopwatch.metrics())
        log_metric_invariants(metrics, result)
        pending = PendingCommit(
            merge=run.merge,
            read=read,
            written=result.written,
            marked=result.marked,
            metrics=metrics.operation if self.conf.history_metrics_enabled else None,
            transaction=self._transaction(),
            user_metadata=self.conf.user_metadata,
        )
        validate_record_counts(
            pending,
            has_inserts=has_inserts(run.merge),
            has_deletes=has_deletes(run.merge),
            enabled=self.conf.num_records_validation_enabled,
        )
        version = commit(pending, skip_empty=self.conf.skip_recording_empty_commits, logs=self.logs)
        return MergeResult(
            version=version,
            path=result.path,
            metrics=metrics.operation,
            internal_metrics=metrics.internal,
            row=metrics.row,
            touched_files=tuple(file.location for file in read.removed),
            materialize_reason=run.source.reason,
            ways=dict(run.ways),
        )

    def _transaction(self) -> Transaction | None:
        if self.conf.txn_app_id is None or self.conf.txn_version is None:
            return None
        return Transaction(app_id=self.conf.txn_app_id, version=self.conf.txn_version)


def _check_unpadded_source(padded: Mapping[int, int], *, reads_target: bool) -> None:
    """Refuse a source that reads CHAR columns of the target: it is read without their padding (R-822)."""
    if padded and reads_target:
        raise UnsupportedStatementError(
            "a source that reads the target, which has CHAR columns",
            hint="Set spark.sql.readSideCharPadding to false, so that they are read as they are stored.",
        )


def _check_ids_are_unchecked(merge: ResolvedMerge, writer: TableWriter) -> None:
    """Refuse constraints over generated values: they are checked before the writer generates them."""
    ids = {target_column(position) for position in merge.generated_ids}
    for check in writer.checks:
        if ids & check.columns.keys():
            raise UnsupportedStatementError(
                f"an INSERT that leaves out an identity column over which there is a constraint: {check.text}",
                hint="Give values for the column if it is GENERATED BY DEFAULT, or drop the constraint.",
            )


def _read_set(run: MergeRun, result: PathResult, *, whole_table: bool) -> ReadSet:
    """Collect the files that the merge has read; a source that reads the target reads all of it (R-750)."""
    return ReadSet(
        snapshot=run.snapshot,
        predicate=exp.true() if whole_table else pruning_predicate(run.merge),
        files=run.snapshot.files if whole_table else run.candidates,
        removed=result.ended,
        app_id=run.conf.txn_app_id,
    )
