"""The bug model of source rows that the scan for old rows leaves out: with NaN (R-801), or with a zero (R-802).

A merge that marks rows in deletion vectors applies the conditions on a source that is not materialised to its scan.
Spark's Parquet reader leaves rows out then, as it does in the table (``nan_rows``, ``zeros``).
"""

from __future__ import annotations

import math
from dataclasses import replace

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.unread.leaves import holds_float, leaves
from mergecheck.harness.deviations.bug_models.unread.old_rows import old_rows_stay
from mergecheck.model.outcome import Rejection
from mergecheck.reference.syntax.statement import Kind


def _old_rows_stay(now: Judged) -> Judged | None:
    """Old rows that such source rows match stay; without INSERT a merge that adds more rows than it marks fails."""
    found, effects, statement = now.result, now.reference.trace.effects, now.reference.trace.statement
    if not isinstance(found, Rejection) or effects is None or statement is None:
        return old_rows_stay(_may_be_missed)(now)
    missed = _may_be_missed(now) & {*effects.updated, *effects.deleted}
    if statement.of(Kind.NOT_MATCHED) or len(missed) <= len(effects.deleted):
        return None
    refused = Rejection(error_class="DELTA_NUM_RECORDS_MISMATCH", message="old rows stay", unchanged=True)
    return replace(now, reference=replace(now.reference, answer=refused))


def _may_be_missed(now: Judged) -> set[int]:
    """Number the rows with NaN or a zero, and those that a source row with one matches."""
    matches, source, effects = now.reference.trace.matches, now.reference.trace.source, now.reference.trace.effects
    if matches is None or source is None or effects is None:
        return set()
    of_source, of_table = leaves(source.schema), leaves(now.case.target.schema)
    return {rid for sid, rid in matches.pairs if holds_float(source.rows[sid], of_source, _is_nan_or_zero)} | {
        rid for rid, row in enumerate(effects.old) if holds_float(row, of_table, _is_nan_or_zero)
    }


def _is_nan_or_zero(value: float) -> bool:
    return math.isnan(value) or value == 0


BUG_MODELS = (
    BugModel(
        name="if rows are marked in vectors rows that source rows with NaN or a zero match stay",
        phase=Phase.REPAIR,
        apply=_old_rows_stay,
    ),
)
