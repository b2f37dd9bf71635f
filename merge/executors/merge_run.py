"""MergeIntoCommandBase: what every executor needs of one run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.types import StringType
from sqlglot import exp

from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.table.reading.data_skipping import conjunction, disjunction, skip_files, target_only_conjuncts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.executors.joins import Joins
    from mergecheck.merge.executors.source import PreparedSource
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge
    from mergecheck.merge.metrics import Stopwatch
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.writing.write import TableWriter


_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_FEW_TASKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRun:
    """One merge under way: the resolved statement, the table's snapshot, the source and the settings.

    The candidates are the files left by data skipping (R-420, R-421).

    Attributes:
        ways: how often each executor and each optimisation was used, and files that it left out, by name.
    """

    spark: SparkSession
    conf: MergeConf
    merge: ResolvedMerge
    snapshot: Snapshot
    candidates: tuple[DataFile, ...]
    source: PreparedSource
    joins: Joins
    writer: TableWriter
    stopwatch: Stopwatch
    ways: Counter[str] = field(default_factory=Counter)

    @property
    def records_changes(self) -> bool:
        """Whether change rows are written (R-601)."""
        return self.snapshot.change_data_feed

    @property
    def marks_rows(self) -> bool:
        """Whether changed rows are marked in deletion vectors instead of rewriting their files (R-402)."""
        return self.conf.deletion_vectors_persistent and self.snapshot.marks_rows

    def count_scan(self, files: Sequence[DataFile]) -> None:
        """Count files of which rows are read."""
        self.ways["files_scanned"] += len(files)
        self.ways["bytes_scanned"] += sum(file.size for file in files)

    @property
    def string_partitions(self) -> frozenset[int]:
        """Positions of string partition columns in the final schema; they store the empty string as NULL (R-744)."""
        names = set(self.snapshot.partition_columns)
        fields = enumerate(self.merge.final_schema.fields)
        return frozenset(i for i, field in fields if field.name in names and isinstance(field.dataType, StringType))


def shuffle_partitions(spark: SparkSession) -> int:
    """Return how many tasks a shuffle has by the session's setting."""
    return int(spark.conf.get(_SHUFFLE_PARTITIONS, None) or _FEW_TASKS)


def is_insert_only(merge: ResolvedMerge) -> bool:
    """Return whether the statement has insert clauses and no others (R-006)."""
    return bool(merge.not_matched) and not merge.matched and not merge.not_matched_by_source


def is_matched_only(merge: ResolvedMerge) -> bool:
    """Return whether the statement has matched clauses and no others (R-006)."""
    return bool(merge.matched) and not merge.not_matched and not merge.not_matched_by_source


def is_sole_unconditional_delete(merge: ResolvedMerge) -> bool:
    """Return whether the matched clauses are one DELETE without condition, syntactically (R-006)."""
    return (
        len(merge.matched) == 1 and merge.matched[0].action is ActionType.DELETE and merge.matched[0].condition is None
    )


def has_inserts(merge: ResolvedMerge) -> bool:
    """Return whether there is an insert clause, whatever its condition (R-006)."""
    return bool(merge.not_matched)


def has_deletes(merge: ResolvedMerge) -> bool:
    """Return whether there is a delete clause, whatever its condition (R-006)."""
    return any(clause.action is ActionType.DELETE for clause in merge.clauses)


def uses_insert_only_path(merge: ResolvedMerge, conf: MergeConf) -> bool:
    """Choose path A (R-402)."""
    return is_insert_only(merge) and conf.optimize_insert_only_merge


def pruning_predicate(merge: ResolvedMerge) -> exp.Expr:
    """Build the predicate by which files are skipped; TRUE if none may be skipped (R-420, R-421)."""
    if merge.not_matched_by_source:
        return exp.true()  # every target row counts
    parts = list(target_only_conjuncts(merge.condition.tree))
    if is_matched_only(merge):
        parts.append(disjunction([_target_only_condition(clause) for clause in merge.matched]))
    return conjunction(parts)


def _target_only_condition(clause: ResolvedClause) -> exp.Expr:
    if clause.condition is None:
        return exp.true()
    parts = target_only_conjuncts(clause.condition.tree)
    # A constant is a condition like any other and must not hide ambiguous rows: it prunes nothing here.
    return conjunction([part for part in parts if part.find(exp.Column) is not None])


def candidate_files(snapshot: Snapshot, merge: ResolvedMerge) -> tuple[DataFile, ...]:
    """Return the files that the first scan, or path A, has to read (R-420, R-421)."""
    return skip_files(snapshot, pruning_predicate(merge))


def clause_type(clause: ResolvedClause) -> str:
    """Name a clause as Delta's helper columns do: ``Update``, ``Delete`` or ``Insert``."""
    return clause.action.value.capitalize()
