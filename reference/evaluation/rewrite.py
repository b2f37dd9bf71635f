"""The layout-dependent part of the algorithm: which path a merge takes, and which files it rewrites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.outcome import MergePath
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.reference.analysis.resolution import Resolved
    from mergecheck.reference.case.model import Row
    from mergecheck.reference.trace import Effects, Matches


def touched_files(merge: Resolved, files: Sequence[int], matches: Matches, effects: Effects) -> frozenset[int]:
    """Find the files that a merge off path A touches (R-410).

    Args:
        merge: the statement.
        files: the number of the file that holds a row of the target, by rid.
        matches: the pairs of rows.
        effects: what the merge does to rows.
    """
    if merge.of(Kind.NOT_MATCHED_BY_SOURCE):
        return frozenset(files)
    if merge.of(Kind.NOT_MATCHED):
        return frozenset(files[rid] for _, rid in matches.pairs)
    matched = effects.candidates[Kind.MATCHED]
    return frozenset(files[unit.rid] for unit in matched if unit.rid is not None and unit.applied is not None)


def choose_path(merge: Resolved, *, path_a: bool, is_touched: bool) -> MergePath:
    """Choose the path (R-402). Path E is for deletion vectors, which the reference does not support."""
    if path_a:
        return MergePath.A
    if is_touched:
        return MergePath.D
    return MergePath.B if merge.of(Kind.NOT_MATCHED) else MergePath.C


def copied_rows(files: Sequence[int], touched: frozenset[int], effects: Effects) -> tuple[Row, ...]:
    """List the rows of touched files that path D writes again as they are (R-412)."""
    return tuple(row for rid, row in effects.unchanged.items() if files[rid] in touched)
