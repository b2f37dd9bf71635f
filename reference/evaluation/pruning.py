"""Which files the clauses of a matched-only merge may prune (R-322, R-421).

Statistics give a column's minimum, its maximum and whether it holds NULL. A file cannot be pruned if some values
that its statistics allow make every target-only conjunct of one clause TRUE, each conjunct for itself. The values
tried are the file's values, and constants of the conjunct that lie between its bounds. So a file for which this
module returns "read" is read by every executor that prunes rightly; any other file may or may not be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.storage import Statistics
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.model.case import Target
    from mergecheck.reference.analysis.resolved import Resolved, TargetConjunct
    from mergecheck.reference.evaluation.evaluated_tables import Tables


def may_be_pruned(tables: Tables, merge: Resolved, files: Sequence[int], hidden: Iterable[int]) -> bool:
    """Return whether all files that hold some rows of the target may be pruned.

    Args:
        tables: the tables of the merge.
        merge: a matched-only statement.
        files: the number of the file that holds a row of the target, by rid.
        hidden: the rids of the rows.
    """
    return not any(_is_read(file, tables, merge, files) for file in {files[rid] for rid in hidden})


def _is_read(file: int, tables: Tables, merge: Resolved, files: Sequence[int]) -> bool:
    rids = tuple(rid for rid, own in enumerate(files) if own == file)
    return any(
        all(_may_hold(conjunct, file, rids, tables) for conjunct in clause.target_only)
        for clause in merge.of(Kind.MATCHED)
    )


def _may_hold(conjunct: TargetConjunct, file: int, rids: Sequence[int], tables: Tables) -> bool:
    """Return whether the conjunct is TRUE for some values that the log allows in a file."""
    target = tables.target
    partitions = {target.schema.names.index(name) for name in target.partition_by}
    stored = conjunct.columns - partitions
    if stored == conjunct.columns and stored and not _has_statistics(target, file):
        return True  # the log has no bounds of these columns
    if tables.holds_in(conjunct.condition, rids):
        return True
    if len(conjunct.columns) != 1 or not stored or conjunct.condition.partial:
        return False
    (column,) = stored
    return any(tables.holds_for(conjunct.condition, column, value, rids) for value in conjunct.constants)


def _has_statistics(target: Target, file: int) -> bool:
    """Return whether the log has bounds of a file's columns."""
    statistics = target.layout.statistics
    return statistics is Statistics.ALL or (statistics is Statistics.ALTERNATE and file % 2 == 1)
