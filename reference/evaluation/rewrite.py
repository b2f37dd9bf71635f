"""The layout-dependent part of the algorithm: which path a merge takes, and which files it rewrites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.layout import counts_rows
from mergecheck.model.outcome import MergePath
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.model.case import Row
    from mergecheck.model.storage import TargetLayout
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.trace import Candidate, Effects, Matches


def touched_files(
    merge: Resolved, files: Sequence[int], matches: Matches, matched: Sequence[Candidate]
) -> frozenset[int]:
    """Find the files that a merge off path A touches (R-410).

    Args:
        merge: the statement.
        files: the number of the file that holds a row of the target, by rid.
        matches: the pairs of rows.
        matched: the pairs with the clauses that apply to them.
    """
    if merge.of(Kind.NOT_MATCHED_BY_SOURCE):
        return frozenset(files)
    return _touched_by_matches(merge, files, matches, matched)


def touched_files_by_source(
    merge: Resolved, files: Sequence[int], matches: Matches, candidates: Mapping[Kind, Sequence[Candidate]]
) -> frozenset[int] | None:
    """Find the files that a merge touches whose by-source clauses touch only files to which they apply (R-414).

    Without such a clause the answer is None: there is no other rule then.
    """
    if not merge.of(Kind.NOT_MATCHED_BY_SOURCE):
        return None
    by_matches = _touched_by_matches(merge, files, matches, candidates[Kind.MATCHED])
    return by_matches | _files_of_applied(files, candidates[Kind.NOT_MATCHED_BY_SOURCE])


def _touched_by_matches(
    merge: Resolved, files: Sequence[int], matches: Matches, matched: Sequence[Candidate]
) -> frozenset[int]:
    if merge.of(Kind.NOT_MATCHED):
        return frozenset(files[rid] for _, rid in matches.pairs)
    return _files_of_applied(files, matched)


def _files_of_applied(files: Sequence[int], units: Sequence[Candidate]) -> frozenset[int]:
    return frozenset(files[unit.rid] for unit in units if unit.rid is not None and unit.applied is not None)


def choose_path(merge: Resolved, *, path_a: bool, is_touched: bool, marks_rows: bool) -> MergePath:
    """Choose the path (R-402)."""
    if path_a:
        return MergePath.A
    if is_touched:
        return MergePath.E if marks_rows else MergePath.D
    return MergePath.B if merge.of(Kind.NOT_MATCHED) else MergePath.C


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFiles:
    """What path E does to the touched files (R-460): the numbers of the files.

    Attributes:
        removed: all live rows are changed, and the log counts the file's rows.
        marked: some rows are changed.
    """

    removed: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()


def marked_files(files: Sequence[int], layout: TargetLayout, effects: Effects) -> MarkedFiles:
    """Find the files of which rows are updated or deleted.

    Args:
        files: the number of the file that holds a row of the target, by rid.
        layout: determines which files have their rows counted.
        effects: the merge's effects on rows.
    """
    changed = {files[rid] for rid in (*effects.updated, *effects.deleted)}
    kept = {files[rid] for rid in effects.unchanged}
    removed = frozenset(file for file in changed - kept if counts_rows(layout, file))
    return MarkedFiles(removed=removed, marked=frozenset(changed) - removed)


def copied_rows(files: Sequence[int], touched: frozenset[int], effects: Effects) -> tuple[Row, ...]:
    """List the rows of touched files that path D writes again as they are (R-412)."""
    return tuple(row for rid, row in effects.unchanged.items() if files[rid] in touched)
