"""A merge whose transaction the application has committed before: it does nothing at all (R-715)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import MergePath, Prediction
from mergecheck.reference.evaluation.metrics import Counts, predict_metrics

if TYPE_CHECKING:
    from mergecheck.model.case import Target

_NOTHING = Counts(
    source=0,
    inserted=0,
    matched_updated=0,
    matched_deleted=0,
    by_source_updated=0,
    by_source_deleted=0,
    touched_files=0,
    touched_rows=0,
)


def unchanged_table(target: Target) -> Prediction:
    """Predict the table as it is, no commit, no change rows; there is no path, which path C comes closest to."""
    return Prediction(
        schema=target.schema,
        rows=physical_rows(target),
        metrics=predict_metrics(_NOTHING, MergePath.C, change_data_feed=False, written_tuples=None, change_tuples=None),
        cdf=() if target.change_data_feed else None,
        committed=False,
        path=MergePath.C,
    )
