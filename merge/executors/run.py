"""MergeIntoCommandBase: what every executor needs of one run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import StringType
from sqlglot import exp

from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.table.reading.data_skipping import conjunction, disjunction, skip_files, target_only_conjuncts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.executors.source import PreparedSource
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge
    from mergecheck.merge.metrics import Stopwatch
    from mergecheck.merge.table.log.snapshot import DataFile, Snapshot
    from mergecheck.merge.table.writing.write import TableWriter


SMALL_SOURCE_ROWS = 100_000
SMALL_BYTES = 16 * 2**20

# How Spark packs files into scan tasks: so many bytes each, where opening a file counts like reading some.
SPLIT_SETTING = "spark.sql.files.maxPartitionBytes"
DEFAULT_SPLIT_BYTES = 128 * 2**20
OPEN_COST_BYTES = 4 * 2**20

_BYTE_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_BYTES = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRun:
    """One merge under way: the resolved statement, the table's snapshot, the source and the settings.

    Attributes:
        shuffles_to_one_task: the session sends every shuffle to one task (``spark.sql.shuffle.partitions`` is 1).
        split_bytes: what one scan task reads at most.
    """

    spark: SparkSession
    conf: MergeConf
    merge: ResolvedMerge
    snapshot: Snapshot
    source: PreparedSource
    writer: TableWriter
    stopwatch: Stopwatch
    shuffles_to_one_task: bool = False
    split_bytes: int = DEFAULT_SPLIT_BYTES

    @property
    def records_changes(self) -> bool:
        """Whether change rows are written (R-601)."""
        return self.snapshot.change_data_feed

    def is_large(self, files: Sequence[DataFile]) -> bool:
        """Tell whether files are worth an optimisation that costs a query of its own."""
        return sum(file.size for file in files) >= self.conf.large_table_bytes

    @property
    def string_partitions(self) -> frozenset[int]:
        """Positions of string partition columns in the final schema; they store the empty string as NULL (R-744)."""
        names = set(self.snapshot.partition_columns)
        fields = enumerate(self.merge.final_schema.fields)
        return frozenset(i for i, field in fields if field.name in names and isinstance(field.dataType, StringType))


def is_small(*, num_source_rows: int, rewritten: Sequence[DataFile] = ()) -> bool:
    """Tell whether one task can write the whole output without anybody waiting for it."""
    return num_source_rows <= SMALL_SOURCE_ROWS and sum(file.size for file in rewritten) <= SMALL_BYTES


def fit_in_one_task(run: MergeRun, files: Sequence[DataFile]) -> bool:
    """Tell whether one task reads all of the files, as Spark would distribute them."""
    return sum(file.size + OPEN_COST_BYTES for file in files) <= run.split_bytes


def split_bytes(spark: SparkSession) -> int:
    """Read how many bytes one scan task takes; the default where the setting is in a form not known here."""
    text = spark.conf.get(SPLIT_SETTING, None) or ""
    found = _BYTES.fullmatch(text.strip())
    return int(found[1]) * _BYTE_UNITS[found[2].lower()] if found else DEFAULT_SPLIT_BYTES


def runs_in_one_task(run: MergeRun, files: Sequence[DataFile]) -> bool:
    """Tell whether to join the source with the files in one task, which spares every shuffle and broadcast.

    Only where the session would gather the rows in one task anyway and where both sides are known to be small.
    """
    return run.shuffles_to_one_task and has_small_source(run) and fit_in_one_task(run, files)


def has_small_source(run: MergeRun) -> bool:
    """Tell whether the source is known to have few rows."""
    return run.source.num_rows is not None and run.source.num_rows <= SMALL_SOURCE_ROWS


def source_for(run: MergeRun, files: Sequence[DataFile]) -> DataFrame:
    """Return the source's rows for a join with the files."""
    return run.source.frame.coalesce(1) if runs_in_one_task(run, files) else run.source.frame


def is_insert_only(merge: ResolvedMerge) -> bool:
    """Tell whether the statement has insert clauses and no others (R-006)."""
    return bool(merge.not_matched) and not merge.matched and not merge.not_matched_by_source


def is_matched_only(merge: ResolvedMerge) -> bool:
    """Tell whether the statement has matched clauses and no others (R-006)."""
    return bool(merge.matched) and not merge.not_matched and not merge.not_matched_by_source


def is_sole_unconditional_delete(merge: ResolvedMerge) -> bool:
    """Tell whether the matched clauses are one DELETE without condition, syntactically (R-006)."""
    return (
        len(merge.matched) == 1 and merge.matched[0].action is ActionType.DELETE and merge.matched[0].condition is None
    )


def has_inserts(merge: ResolvedMerge) -> bool:
    """Tell whether there is an insert clause, whatever its condition (R-006)."""
    return bool(merge.not_matched)


def has_deletes(merge: ResolvedMerge) -> bool:
    """Tell whether there is a delete clause, whatever its condition (R-006)."""
    return any(clause.action is ActionType.DELETE for clause in merge.clauses)


def uses_insert_only_path(merge: ResolvedMerge, conf: MergeConf) -> bool:
    """Choose path A (R-402)."""
    return is_insert_only(merge) and conf.optimize_insert_only_merge


def pruning_predicate(merge: ResolvedMerge) -> exp.Expr:
    """Build the predicate by which files are skipped; TRUE where nothing may be skipped (R-420, R-421)."""
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


def candidate_files(run: MergeRun) -> tuple[DataFile, ...]:
    """Return the files that the first scan, or path A, has to read."""
    return skip_files(run.snapshot, pruning_predicate(run.merge))


def clause_type(clause: ResolvedClause) -> str:
    """Name a clause as Delta's helper columns do: ``Update``, ``Delete`` or ``Insert``."""
    return clause.action.value.capitalize()
