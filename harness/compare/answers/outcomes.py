"""Compare the answer of a successful merge with the reference's prediction.

Exact everywhere: multisets of typed rows, metrics within their bounds, change rows, the schema, whether a version was
created, the commit's own entries, the command's row and the path. An observable that an engine cannot show is an
unsupported check; it never counts as passed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import (
    REFERENCE,
    Comparison,
    compared_metrics,
    has_metrics,
    mismatch,
    reported_metrics,
    row_difference,
    unreported_metrics,
)
from mergecheck.harness.compare.commit_info import COMMIT_INFO, commit_info_mismatches, result_row_mismatches
from mergecheck.harness.compare.log_invariants.identity_invariants import SettledIds, settle_ids
from mergecheck.harness.compare.metrics import metric_mismatches
from mergecheck.harness.compare.net_changes import net_changes
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.verdict import Check, Compared, Mismatch
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Feed, Outcome
from mergecheck.reference.doubts import ISOLATION_LEVEL, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.harness.engine import Capabilities
    from mergecheck.model.case import Row
    from mergecheck.model.outcome import Prediction
    from mergecheck.model.types.data_types import Schema

_LEVEL = "isolationLevel"


def compare_outcome(prediction: Prediction, outcome: Outcome, *, capabilities: Capabilities) -> Comparison:
    """Hold a successful merge against the reference (P-1 to P-3, R-402, R-732); generated values by rules (R-226)."""
    settled = settle_ids(prediction, outcome)
    prediction = settled.prediction
    checks: list[tuple[Check, Callable[[], tuple[Mismatch, ...]] | None]] = [
        (Check.SCHEMA, _schema_check(prediction, outcome, capabilities)),
        (Check.ROWS, (lambda: _rows(prediction, outcome)) if capabilities.rows else None),
        (Check.METRICS, _metrics_check(prediction, outcome, capabilities)),
        (Check.CDF, (lambda: _cdf(prediction, outcome)) if _has_feed(outcome, capabilities) else None),
        (Check.COMMIT, (lambda: _commit(prediction, outcome)) if outcome.committed is not None else None),
        (Check.PATH, (lambda: _path(prediction, outcome)) if outcome.path is not None else None),
        (Check.LOG, _log_check(prediction, outcome, capabilities)),
        (Check.RESULT, (lambda: _result(prediction, outcome)) if _has_result(prediction, outcome) else None),
    ]
    metrics = unreported_metrics(prediction.metrics, capabilities) if has_metrics(outcome, capabilities) else ()
    unsupported = [
        check
        for check, compare in checks
        if compare is None
        or (check is Check.METRICS and metrics)
        or (check is Check.LOG and capabilities.commit_info is not None)
    ]
    if _record(outcome) is None:
        unsupported.append(Check.TABLE)  # an invariant needs no reference, but a log
    made = [check for check, compare in checks if compare is not None]
    return Comparison(
        compared=(
            *(_compared(check, prediction, capabilities) for check in made),
            # a merge that succeeds as it must has no error, nor a table that one must leave as it was
            *(Compared(check=check, against=REFERENCE) for check in (Check.ERROR, Check.UNCHANGED)),
        ),
        mismatches=(*_ids(settled), *(m for _, compare in checks if compare is not None for m in compare())),
        unsupported=tuple(unsupported),
        unsupported_metrics=metrics,
    )


def compare_in_part(
    prediction: Prediction, outcome: Outcome, *, capabilities: Capabilities, left_out: frozenset[str]
) -> Comparison:
    """Hold a successful merge against a prediction of which some observables are no prediction.

    Args:
        prediction: the expected outcome.
        outcome: the observables that the engine showed.
        capabilities: the observables that the engine can show.
        left_out: the observables that are not compared, see ``reference.doubts``.
    """
    columns = {name.lower() for name in columns_of(left_out)}
    if columns:
        prediction = replace(
            prediction,
            rows=_without(columns, prediction.rows, prediction.schema),
            cdf=None if prediction.cdf is None else _without(columns, prediction.cdf, prediction.schema),
        )
        outcome = replace(
            outcome,
            rows=_without(columns, outcome.rows, outcome.schema),
            cdf=None if outcome.cdf is None else _without(columns, outcome.cdf, outcome.schema),
        )
        if outcome.feed is Feed.NET:  # an update that changes no value leaves no trace
            capabilities = replace(capabilities, cdf=False)
    if ISOLATION_LEVEL in left_out and capabilities.commit_info is not None:
        capabilities = replace(capabilities, commit_info=capabilities.commit_info - {_LEVEL})
    elif ISOLATION_LEVEL in left_out:
        capabilities = replace(capabilities, commit_info=COMMIT_INFO - {_LEVEL})
    return compare_outcome(prediction, outcome, capabilities=capabilities)


def _without(columns: set[str], rows: tuple[Row, ...], schema: Schema) -> tuple[Row, ...]:
    """Blank cells of some columns; the kind of a change stands behind a row's cells."""
    places = {place for place, name in enumerate(schema.names) if name.lower() in columns}
    return tuple(tuple(None if place in places else cell for place, cell in enumerate(row)) for row in rows)


def _compared(check: Check, prediction: Prediction, capabilities: Capabilities) -> Compared:
    if check is Check.METRICS:
        exact = capabilities.exact_metric_names
        return compared_metrics(prediction.metrics, capabilities, against=REFERENCE, exact_names=exact)
    return Compared(check=check, against=REFERENCE, kinds=capabilities.commit_info if check is Check.LOG else None)


def _has_result(prediction: Prediction, outcome: Outcome) -> bool:
    return prediction.result_row is not None and outcome.result_row is not None


def _has_feed(outcome: Outcome, capabilities: Capabilities) -> bool:
    return capabilities.cdf and outcome.feed is not Feed.UNTOLD


def _schema_check(
    prediction: Prediction, outcome: Outcome, capabilities: Capabilities
) -> Callable[[], tuple[Mismatch, ...]] | None:
    if not (capabilities.schema and capabilities.rows):
        return None
    return lambda: _schema(prediction.schema, outcome, against=REFERENCE)


def _metrics_check(
    prediction: Prediction, outcome: Outcome, capabilities: Capabilities
) -> Callable[[], tuple[Mismatch, ...]] | None:
    if not has_metrics(outcome, capabilities):
        return None
    return lambda: tuple(
        metric_mismatches(
            reported_metrics(prediction.metrics, capabilities),
            outcome.metrics,
            against=REFERENCE,
            exact_names=capabilities.exact_metric_names,
        )
    )


def _schema(wanted: Schema, outcome: Outcome, *, against: str) -> tuple[Mismatch, ...]:
    return schema_mismatches(wanted, outcome.schema, against=against, complete=True)


def _rows(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    schemas = (prediction.schema, outcome.schema)
    return row_difference(Check.ROWS, REFERENCE, prediction.rows, outcome.rows, schemas)


def _ids(settled: SettledIds) -> tuple[Mismatch, ...]:
    faults = settled.faults
    return (replace(mismatch(Check.ROWS, REFERENCE, "R-226", *faults), parts=faults),) if faults else ()


def _cdf(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if prediction.cdf is None and outcome.cdf is None:
        return ()
    if outcome.cdf is None:
        return (mismatch(Check.CDF, REFERENCE, "no_cdf", "the engine shows no change feed, though it is on (R-601)"),)
    if prediction.cdf is None:
        text = f"the engine shows {len(outcome.cdf)} change rows, though the change feed is off (R-601)"
        return (mismatch(Check.CDF, REFERENCE, "spurious_cdf", text),)
    schemas = (change_schema(prediction.schema), change_schema(outcome.schema))
    wanted = net_changes(prediction.cdf, prediction.schema) if outcome.feed is Feed.NET else prediction.cdf
    return row_difference(Check.CDF, REFERENCE, wanted, outcome.cdf, schemas)


def _commit(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if prediction.committed == outcome.committed:
        return ()
    kind, text = (
        ("no_commit", "reference: a table version is created (R-732), engine: none")
        if prediction.committed
        else ("spurious_commit", "reference: no table version is created (R-732), engine: one")
    )
    return (mismatch(Check.COMMIT, REFERENCE, kind, text),)


def _path(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if outcome.path is None or prediction.path is outcome.path:
        return ()
    text = f"reference: path {prediction.path.value} (R-402), engine: path {outcome.path.value}"
    return (mismatch(Check.PATH, REFERENCE, "path", text),)


def _record(outcome: Outcome) -> CommitRecord | None:
    return outcome.record if isinstance(outcome, TableOutcome) else None


def _log_check(
    prediction: Prediction, outcome: Outcome, capabilities: Capabilities
) -> Callable[[], tuple[Mismatch, ...]] | None:
    """Compare ``commitInfo``, if there is a commit on both sides; that one side has none is a difference of its own."""
    record = _record(outcome)
    if record is None:
        return None
    wanted = prediction.commit_info
    if wanted is None or not record.num_commits:
        return lambda: ()
    return lambda: tuple(commit_info_mismatches(wanted, record, names=capabilities.commit_info, against=REFERENCE))


def _result(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if prediction.result_row is None or outcome.result_row is None:
        return ()
    return result_row_mismatches(prediction.result_row, outcome.result_row, against=REFERENCE)
