"""The repair of a merge that does not mark rows in vectors, because the scan that looks for them leaves rows out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import rows_without
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.model.layout import has_vector
from mergecheck.model.outcome import Bound, MergePath, Prediction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from mergecheck.harness.deviations.bug_models.judged import Judged

_FILES, _BYTES = "numTargetFilesRemoved", "numTargetBytesRemoved"
_ADDED, _UPDATED = "numTargetDeletionVectorsAdded", "numTargetDeletionVectorsUpdated"
_REMOVED = "numTargetDeletionVectorsRemoved"
_VECTORS = (_ADDED, _UPDATED, _REMOVED)


def old_rows_stay(unread: Callable[[Judged], Collection[int]]) -> Callable[[Judged], Judged | None]:
    """Let unread rows that are updated or deleted, and counted so, stay: no vector marks them.

    If nothing else is written, there is no commit, and so no metrics.

    Args:
        unread: numbers the rows that the scan may leave out.
    """

    def apply(now: Judged) -> Judged | None:
        found, wanted, effects = now.result, now.reference.answer, now.reference.trace.effects
        if not isinstance(found, TableOutcome) or not isinstance(wanted, Prediction) or effects is None:
            return None
        if wanted.path is not MergePath.E or found.schema != wanted.schema:
            return None
        surplus = rows_without(found.rows, wanted.rows, wanted.schema)
        identities = {row_identity(row, wanted.schema) for row in surplus}
        changed = {*effects.updated, *effects.deleted}
        missed = {
            rid for rid in changed & set(unread(now)) if row_identity(effects.old[rid], wanted.schema) in identities
        }
        if not surplus or rows_without(surplus, [effects.old[rid] for rid in missed], wanted.schema):
            return None
        metrics = dict(found.metrics)
        if found.committed:
            counts = _counts(now, wanted, changed, missed)
            if any(metrics.get(name) != bound.low for name, bound in counts.items()):
                return None
            answer = replace(wanted, metrics={**wanted.metrics, **counts})
            if not counts[_FILES].low:
                answer = replace(answer, metrics={**answer.metrics, _BYTES: Bound(0, 0)})
            now = replace(now, reference=replace(now.reference, answer=answer))
        else:
            metrics = {name: bound.low for name, bound in wanted.metrics.items()} | metrics
        repaired = replace(
            found,
            rows=tuple(rows_without(found.rows, surplus, wanted.schema)),
            metrics=metrics,
            num_records_removed=found.num_records_removed + len(surplus),
            committed=found.committed or None,
        )
        return replace(now, result=repaired)

    return apply


def _counts(now: Judged, wanted: Prediction, changed: set[int], missed: set[int]) -> dict[str, Bound]:
    """Count the files and vectors that come of the changed rows that are found."""
    right, found = (Counter(_counted(now, rids, missed)) for rids in (changed, changed - missed))
    numbers = {name: wanted.metrics[name].low - right[name] + found[name] for name in (_FILES, *_VECTORS)}
    return {name: Bound(number, number) for name, number in numbers.items()}


def _counted(now: Judged, changed: set[int], missed: set[int]) -> Iterator[str]:
    """Name the counts of a merge that finds these changed rows, in the files that have missed ones."""
    files, layout = now.reference.trace.files, now.case.target.layout
    for number in {files[rid] for rid in missed}:
        rows = {rid for rid, file in enumerate(files) if file == number}
        if rows <= changed:
            yield _FILES
        elif rows & changed:
            yield _ADDED
        else:
            continue
        if has_vector(layout, number):
            yield _REMOVED
            if not rows <= changed:
                yield _UPDATED
