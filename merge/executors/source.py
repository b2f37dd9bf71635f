"""MergeIntoMaterializeSource: the source of a run, materialised if two scans could disagree (R-450 to R-456)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from mergecheck.merge.conf import MaterializeSource
from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.expressions.resolved import source_column
from mergecheck.merge.table.reading.scan import not_pushed_down, schema_with_nullability
from mergecheck.merge.table.storage.paths import table_identity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.metrics import PathResult
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

SOURCE_ROW_PRESENT = "_source_row_present_"

# a retry after a lost block keeps more copies.
_STORAGE_LEVELS = (StorageLevel.DISK_ONLY, StorageLevel.DISK_ONLY_2, StorageLevel.DISK_ONLY_3)

_logger = logging.getLogger(__name__)


class MaterializeReason(Enum):
    """Why the source was materialised or not; Delta's names (R-450)."""

    NOT_MATERIALIZED_AUTO_INSERT_ONLY = "notMaterializedAutoInsertOnly"
    NOT_MATERIALIZED_AUTO = "notMaterializedAuto"
    NOT_MATERIALIZED_NONE = "notMaterializedNone"
    NON_DELTA = "materializeNonDeterministicSourceNonDelta"
    ALL = "materializeAll"

    @property
    def materializes(self) -> bool:
        """Whether this is a reason for materialising."""
        return not self.value.startswith("notMaterialized")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeSource:
    """The source as the caller of a merge gives it.

    Attributes:
        frame: the relation.
        is_delta: it reads a fixed list of files of Delta tables, so that scans of it agree (R-450).
        num_rows: |S| if the log of the table has it.
        nullability: the columns, if the frame does not know which fields inside them are NOT NULL.
        reads: the snapshots of Delta tables that the source, or a subquery of the statement, is known to read.
        named: relations of the session that queries in the statement name. They may read Delta tables too; Spark lists
            the tables that a relation reads, but not those that subqueries in its expressions read.
    """

    frame: DataFrame
    is_delta: bool = False
    num_rows: int | None = None
    nullability: StructType | None = None
    reads: tuple[Snapshot, ...] = ()
    named: tuple[DataFrame, ...] = ()

    @classmethod
    def of_table(cls, frame: DataFrame, snapshot: Snapshot) -> MergeSource:
        """Describe what ``read_table`` made of a snapshot."""
        schema = schema_with_nullability(frame, snapshot)
        return cls(frame=frame, is_delta=True, num_rows=snapshot.num_records, nullability=schema, reads=(snapshot,))

    def version_read(self, location: str) -> int | None:
        """Return the version of a table that is known to be read; None if no snapshot of it is."""
        table = table_identity(location)
        return next((read.version for read in self.reads if table_identity(read.location) == table), None)

    @property
    def schema(self) -> StructType:
        """The columns."""
        return self.frame.schema if self.nullability is None else self.nullability


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSource:
    """The source as the executors read it.

    Attributes:
        frame: columns ``source_0`` and so on, those that the statement refers to, and ``_source_row_present_``, which
            is TRUE on every row.
        reason: why it was materialised, or why not.
        num_rows: |S| if it is known for certain: of a materialised source, or of a Delta snapshot whose log counts
            its rows. None if every scan has to count.
        is_stable: every scan gives the same rows, so that there may be more scans than R-331 speaks of.
    """

    frame: DataFrame
    reason: MaterializeReason
    num_rows: int | None = None
    is_stable: bool = False

    @property
    def counted_by_scan(self) -> DataFrame | None:
        """A relation of one row, |S|, to be counted inside another query; None if |S| is known."""
        return self.frame.selectExpr("count(1) AS num_source_rows") if self.num_rows is None else None


def materialization_reason(
    mode: MaterializeSource, *, insert_only_path: bool, source_is_delta: bool
) -> MaterializeReason:
    """Decide by R-450. No public interface shows a plan, so only a snapshot that was read here counts as Delta."""
    if mode is MaterializeSource.NONE:
        return MaterializeReason.NOT_MATERIALIZED_NONE
    if mode is MaterializeSource.ALL:
        return MaterializeReason.ALL
    if insert_only_path:
        return MaterializeReason.NOT_MATERIALIZED_AUTO_INSERT_ONLY
    if source_is_delta:
        return MaterializeReason.NOT_MATERIALIZED_AUTO
    return MaterializeReason.NON_DELTA


def referenced_source_columns(merge: ResolvedMerge) -> tuple[int, ...]:
    """List the source columns that ON, conditions and values refer to (R-451)."""
    found = set(merge.condition.source_columns)
    for clause in merge.clauses:
        found |= clause.source_columns
        found |= clause.condition.source_columns if clause.condition else set()
    return tuple(sorted(found))


def prepare_source(
    source: MergeSource, merge: ResolvedMerge, reason: MaterializeReason, *, attempt: int, in_one_task: bool = False
) -> PreparedSource:
    """Name the source's columns by position, drop those that nothing refers to and materialise it if it must be.

    A lost block of a local checkpoint is an error that restarts the merge (R-453), in a higher attempt (R-452). A lost
    block of ``persist`` would be computed again, perhaps with other rows. Spark drops the blocks with the last
    reference to the frame (R-455). In one task, materialising and counting spares a shuffle.
    """
    names = [source_column(i) for i in range(len(merge.source_schema.fields))]
    fields = [(source_column(i), merge.source_schema.fields[i]) for i in referenced_source_columns(merge)]
    kept = [f"{not_pushed_down(name, field.dataType)} AS {name}" for name, field in fields]
    frame = source.frame.toDF(*names).selectExpr(*kept, f"TRUE AS {SOURCE_ROW_PRESENT}")
    num_rows = source.num_rows
    if reason.materializes:
        level = _STORAGE_LEVELS[min(attempt, len(_STORAGE_LEVELS)) - 1]
        # One job: counting fills the checkpoint. An ordinary query counts, so retries do not count twice.
        frame = frame.localCheckpoint(eager=False, storageLevel=level)
        num_rows = (frame.coalesce(1) if in_one_task else frame).count()
    _logger.debug("prepareMergeSource: %s", reason.value)
    return PreparedSource(
        frame=frame, reason=reason, num_rows=num_rows, is_stable=source.is_delta or reason.materializes
    )


def check_source_is_stable(conf: MergeConf, result: PathResult) -> None:
    """Compare the two scans of the source (R-456).

    Raises:
        ExecutionError: they saw different numbers of rows and ``merge.failIfSourceChanged`` is on.
    """
    second = result.num_source_rows_in_second_scan
    if second is None or second == result.num_source_rows:
        return
    _logger.warning(
        "Merge source has %d rows in initial scan but %d rows in second scan", result.num_source_rows, second
    )
    if conf.fail_if_source_changed:
        raise ExecutionError(
            "UNSUPPORTED_OPERATION",
            "Cannot perform Merge because the source dataset is not deterministic. Write the source to a table first, "
            "or set spark.databricks.delta.merge.materializeSource to auto.",
        )
