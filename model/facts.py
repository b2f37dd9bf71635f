"""Facts of a case beside the reference's answer: the features that it exercised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.model.outcome import MergePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """How a case exercised the merge; a run counts these to measure its coverage.

    Attributes:
        path: the execution path, None if the merge must fail.
        clauses_applied: (kind, action) of every clause that applies to some row, e.g. ``("matched", "update")``.
        clauses_present: (kind, action) of every clause of the statement.
        num_changed_rows: inserted + updated + deleted rows.
        multi_matched: whether a target row has two or more matching source rows (R-320).
        matches: sorts of matches that occur: ``1:1``, ``1:n`` (a source row matches several target rows), ``n:1``,
            ``source alone``, ``target alone`` (rows that match nothing).
        nulls: where NULL occurs: ``ON`` for some pair of rows, the ``condition`` of a clause for some row of its kind.
        equality_on: whether ON equates values of the two tables, so that they can be joined by keys.
        evolves_types: whether a column of the target gets another type, such as a struct that gets fields.
        num_partitions_written: of how many partitions rows are written; 1 for a table without partitions.
        changes_later_row_groups: whether a row group behind the first of its file has a changed row and a kept one.
        rules: numbers of the rules of the specification that the case reached, such as ``R-213``.
    """

    path: MergePath | None = None
    clauses_present: frozenset[tuple[str, str]] = frozenset()
    clauses_applied: frozenset[tuple[str, str]] = frozenset()
    num_changed_rows: int = 0
    multi_matched: bool = False
    matches: frozenset[str] = frozenset()
    nulls: frozenset[str] = frozenset()
    equality_on: bool = False
    evolves_types: bool = False
    num_partitions_written: int = 0
    changes_later_row_groups: bool = False
    rules: frozenset[str] = frozenset()
