"""Operation metrics against their bounds (part 5.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.verdict import Check, Mismatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.outcome import Bound

HISTORY_METRICS = frozenset(
    {
        "numSourceRows",
        "numTargetRowsInserted",
        "numTargetRowsUpdated",
        "numTargetRowsMatchedUpdated",
        "numTargetRowsNotMatchedBySourceUpdated",
        "numTargetRowsDeleted",
        "numTargetRowsMatchedDeleted",
        "numTargetRowsNotMatchedBySourceDeleted",
        "numTargetRowsCopied",
        "numOutputRows",
        "numTargetFilesAdded",
        "numTargetFilesRemoved",
        "numTargetBytesAdded",
        "numTargetBytesRemoved",
        "numTargetChangeFilesAdded",
        "numTargetDeletionVectorsAdded",
        "numTargetDeletionVectorsRemoved",
        "numTargetDeletionVectorsUpdated",
        "executionTimeMs",
        "materializeSourceTimeMs",
        "scanTimeMs",
        "rewriteTimeMs",
    }
)
"""The 22 metrics of R-510; R-501 allows no other in the history of a merge."""


def metric_mismatches(
    wanted: Mapping[str, Bound], found: Mapping[str, int], *, against: str, exact_names: bool
) -> Iterator[Mismatch]:
    """Compare metrics name by name.

    Args:
        wanted: bounds by name; a name that the engine lacks is a mismatch.
        found: the metrics that the engine reports.
        against: who wants it, ``reference`` or ``expect``.
        exact_names: whether the engine claims exactly the metrics of R-510, so that another one, or one that is not
            there, is a mismatch too (R-501).
    """
    for name, bound in wanted.items():
        value = found.get(name)
        if value is None:
            yield _metric(name, against, f"{against} {bound_text(bound)}, the engine does not report it")
        elif not bound.allows(value):
            yield _metric(name, against, f"{against} {bound_text(bound)}, engine {value}")
    if not exact_names:
        return
    for name in sorted(HISTORY_METRICS - found.keys() - wanted.keys()):
        yield _metric(name, against, "missing, but a merge reports all 22 metrics (R-501)")
    for name in sorted(found.keys() - HISTORY_METRICS):
        yield Mismatch(
            check=Check.METRICS,
            against=against,
            kind="unknown_metric",
            lines=(f"{name}: engine {found[name]}, but a merge reports no such metric (R-501)"[:100],),
        )


def bound_text(bound: Bound) -> str:
    """Format a bound: ``3``, ``1 to 4`` or ``at least 1``."""
    if bound.exact:
        return str(bound.low)
    return f"at least {bound.low}" if bound.high is None else f"{bound.low} to {bound.high}"


def _metric(name: str, against: str, text: str) -> Mismatch:
    return Mismatch(check=Check.METRICS, against=against, kind=name, lines=(f"{name}: {text}",))
