"""Invariants over numbers of rows: in the tables, the metrics and the change feed (P-5 to P-9, P-13).

They hold for tables of any size, as they look at no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.log_invariants.commit_invariants import broken_invariant
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import counted
from mergecheck.model.outcome import MergePath

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.verdict import Mismatch

INSERTED = "numTargetRowsInserted"
UPDATED = "numTargetRowsUpdated"
DELETED = "numTargetRowsDeleted"
COPIED = "numTargetRowsCopied"
METRICS_OF_INVARIANTS: Mapping[str, frozenset[str]] = {
    "P-5": frozenset({INSERTED, DELETED}),
    "P-7": frozenset({UPDATED, DELETED, COPIED}),
    "P-8": frozenset({UPDATED, DELETED, INSERTED, "numSourceRows"}),
}
"""The metrics that an invariant over several of them needs, where its text does not name them."""


def counting_invariants(
    before: int, after: int, *, metrics: Mapping[str, int], path: MergePath | None, present: frozenset[tuple[str, str]]
) -> Iterator[Mismatch]:
    """Check the invariants that need the numbers of rows only (P-5 to P-9).

    Args:
        before: rows of the table before the merge.
        after: rows of the table after it.
        metrics: the metrics that the merge reports.
        path: the execution path, None if it is not known.
        present: (kind, action) of the statement's clauses; empty if they are not known.
    """
    yield from _row_count(before, after, metrics)
    yield from _sums(metrics)
    yield from _path_invariants(before, metrics, path)
    yield from _bounds(before, metrics)
    yield from _clause_invariants(before, after, metrics, present)


def _row_count(before: int, after: int, metrics: Mapping[str, int]) -> Iterator[Mismatch]:
    """P-5: the rows after are those before, plus the inserted, less the deleted."""
    inserted, deleted = metrics.get(INSERTED), metrics.get(DELETED)
    if inserted is None or deleted is None or after == before + inserted - deleted:
        return
    rows = counted(after, "row")
    yield broken_invariant("P-5", f"{rows} after, but {before} before + {inserted} inserted - {deleted} deleted")


def _sums(metrics: Mapping[str, int]) -> Iterator[Mismatch]:
    """P-6: totals are the sums of their parts (R-505, R-506)."""
    invariants = {
        "numOutputRows": (INSERTED, UPDATED, COPIED),
        UPDATED: ("numTargetRowsMatchedUpdated", "numTargetRowsNotMatchedBySourceUpdated"),
        DELETED: ("numTargetRowsMatchedDeleted", "numTargetRowsNotMatchedBySourceDeleted"),
    }
    for total, parts in invariants.items():
        if total in metrics and all(part in metrics for part in parts):
            values = [metrics[part] for part in parts]
            if metrics[total] != sum(values):
                text = " + ".join(f"{part} {value}" for part, value in zip(parts, values, strict=True))
                yield broken_invariant("P-6", f"{total} {metrics[total]}, but its parts add up to {sum(values)}", text)


def _path_invariants(before: int, metrics: Mapping[str, int], path: MergePath | None) -> Iterator[Mismatch]:
    """P-7, as far as it can be seen: only path D copies, and it rewrites no more rows than there are."""
    if path is None or not {UPDATED, DELETED, COPIED} <= metrics.keys():
        return
    copied, changed = metrics[COPIED], metrics[UPDATED] + metrics[DELETED]
    if path is not MergePath.D and copied:
        yield broken_invariant("P-7", f"{COPIED} {copied} on path {path.value}, which copies nothing (R-510)")
    if path in (MergePath.A, MergePath.B, MergePath.C) and changed:
        yield broken_invariant("P-7", f"{counted(changed, 'row')} updated or deleted on path {path.value} (R-510)")
    if path is MergePath.D and copied + changed > before:
        yield broken_invariant(
            "P-7", f"{counted(copied, 'row')} copied and {changed} changed, of {before} in the table"
        )


def _bounds(before: int, metrics: Mapping[str, int]) -> Iterator[Mismatch]:
    """P-8: no more rows are changed than the table has, nor inserted than the source has."""
    if UPDATED in metrics and DELETED in metrics and metrics[UPDATED] + metrics[DELETED] > before:
        yield broken_invariant("P-8", f"{metrics[UPDATED]} updated + {metrics[DELETED]} deleted, of {before} rows")
    if INSERTED in metrics and "numSourceRows" in metrics and metrics[INSERTED] > metrics["numSourceRows"]:
        yield broken_invariant("P-8", f"{metrics[INSERTED]} inserted, of {metrics['numSourceRows']} source rows")


def _clause_invariants(
    before: int, after: int, metrics: Mapping[str, int], present: frozenset[tuple[str, str]]
) -> Iterator[Mismatch]:
    """P-9: what no clause does is not done."""
    if not present:
        return
    actions = {action for _, action in present}
    for action, metric in (("insert", INSERTED), ("update", UPDATED), ("delete", DELETED)):
        if action not in actions and metrics.get(metric, 0):
            yield broken_invariant("P-9", f"{metric} {metrics[metric]}, but no clause does that")
    rows = counted(after, "row")
    if "insert" not in actions and after > before:
        yield broken_invariant("P-9", f"{rows} after and {before} before, but no clause inserts", check=Check.ROWS)
    if "delete" not in actions and after < before:
        yield broken_invariant("P-9", f"{rows} after and {before} before, but no clause deletes", check=Check.ROWS)


def feed_counts(counts: Counter[str], metrics: Mapping[str, int]) -> Iterator[Mismatch]:
    """P-13: change rows per type equal the metrics (R-611), and there is no other type (R-603)."""
    invariants = {"insert": INSERTED, "update_preimage": UPDATED, "update_postimage": UPDATED, "delete": DELETED}
    for change_type, metric in invariants.items():
        if metric in metrics and counts[change_type] != metrics[metric]:
            text = f"{counted(counts[change_type], 'change row')} of type {change_type}, but {metric} {metrics[metric]}"
            yield broken_invariant("P-13", text, check=Check.CDF)
    if unknown := sorted(map(repr, counts.keys() - invariants.keys())):
        yield broken_invariant(
            "P-13", f"change rows of type {', '.join(unknown)}, which does not exist (R-603)", check=Check.CDF
        )
