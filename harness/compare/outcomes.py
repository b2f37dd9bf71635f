"""Compare what an engine answered with what the reference, or the author of the case, says must come out.

Exact everywhere: multisets of typed rows, metrics within their bounds, change rows, the schema, whether a version was
created, what the commit says of itself, the command's row, the path, and the class of an error. What an engine cannot
show is returned as an unsupported check; it never counts as passed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.commit_info import commit_info_mismatches, result_row_mismatches
from mergecheck.harness.compare.log_laws.identity_laws import SettledIds, settle_ids
from mergecheck.harness.compare.metrics import metric_mismatches
from mergecheck.harness.compare.net_changes import net_changes
from mergecheck.harness.compare.rows import difference, in_columns_of, row_mismatches
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.core.formatting import counted, fit
from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.error_pattern import matches
from mergecheck.reference.outcome import Bound, Feed, Outcome, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.harness.engine import Capabilities
    from mergecheck.reference.case.model import Expectation, Row
    from mergecheck.reference.outcome import Prediction
    from mergecheck.reference.types.data_types import Schema

REFERENCE = "reference"
EXPECT = "expect"

CRASHED, TIMED_OUT = "CRASHED", "TIMED_OUT"
"""Error classes of an engine whose process ended, or had no answer in time."""

BREAKDOWNS = (CRASHED, TIMED_OUT, "INTERNAL:", "FATAL:")
"""How the classes of errors begin that are never a right refusal, even of a statement that must be refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison found.

    Attributes:
        mismatches: the differences; empty if everything that could be compared agrees.
        unsupported: checks that could not be made, or not in full, because the engine does not show the observable.
        unsupported_metrics: the metrics that could not be compared, if others were.
    """

    mismatches: tuple[Mismatch, ...] = ()
    unsupported: tuple[Check, ...] = ()
    unsupported_metrics: tuple[str, ...] = ()


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
        (Check.RESULT, (lambda: _result(prediction, outcome)) if outcome.result_row is not None else None),
    ]
    metrics = _unreported(prediction.metrics, capabilities) if _has_metrics(outcome, capabilities) else ()
    unsupported = [
        check
        for check, compare in checks
        if compare is None
        or (check is Check.METRICS and metrics)
        or (check is Check.LOG and capabilities.commit_info is not None)
    ]
    if _record(outcome) is None:
        unsupported.append(Check.TABLE)  # a law needs no reference, but a log
    return Comparison(
        mismatches=(*_ids(settled), *(m for _, compare in checks if compare is not None for m in compare())),
        unsupported=tuple(unsupported),
        unsupported_metrics=metrics,
    )


def compare_rejection(wanted: Rejection, found: Rejection, *, capabilities: Capabilities) -> Comparison:
    """Hold a failed merge against the reference's error: same class (P-4), table as before (P-30).

    Where several values fail and no rule says which is met first, each of the prediction's classes is right.
    """
    allowed = [wanted.error_class, *sorted(wanted.other_classes - {wanted.error_class})]
    mismatches: list[Mismatch] = []
    unsupported: list[Check] = []
    if found.error_class.startswith(BREAKDOWNS):
        lines = (f"reference: {' or '.join(allowed)}", f"engine: {found.error_class}", f"  {_one_line(found.message)}")
        mismatches.append(_mismatch(Check.ERROR, REFERENCE, "breakdown", *lines))
    elif not capabilities.error_class:
        unsupported.append(Check.ERROR)
    elif not any(same_error_class(error_class, found.error_class) for error_class in allowed):
        text = " or ".join(allowed)
        lines = (f"reference: {text}", f"engine: {found.error_class}", f"  {_one_line(found.message)}")
        mismatches.append(_mismatch(Check.ERROR, REFERENCE, "error_class", *lines))
    unchanged = check_unchanged(found, against=REFERENCE)
    return Comparison(
        mismatches=(*mismatches, *unchanged.mismatches), unsupported=(*unsupported, *unchanged.unsupported)
    )


def check_unchanged(found: Rejection, *, against: str) -> Comparison:
    """Require that a failed merge left the table as it was (P-30)."""
    if found.unchanged is None:
        return Comparison(unsupported=(Check.UNCHANGED,))
    if found.unchanged:
        return Comparison()
    lines = (f"the merge failed with {found.error_class}, but the table is not as it was before",)
    return Comparison(mismatches=(_mismatch(Check.UNCHANGED, against, "changed_after_error", *lines),))


def same_error_class(left: str, right: str) -> bool:
    """Tell whether two error classes are one; a class without its sub-class stands for all of them."""
    return left == right or left.startswith(right + ".") or right.startswith(left + ".")


def no_error(wanted: str, *, against: str) -> Mismatch:
    """Report that an engine merged although it must fail."""
    return _mismatch(Check.ERROR, against, "no_error", f"{against}: {wanted}", "engine: the merge succeeded")


def spurious_error(found: Rejection, *, against: str) -> Mismatch:
    """Report that an engine failed although it must merge."""
    lines = (f"{against}: the merge succeeds", f"engine: {found.error_class}", f"  {_one_line(found.message)}")
    return _mismatch(Check.ERROR, against, "spurious_error", *lines)


def compare_expectation(
    expect: Expectation, result: Outcome | Rejection, *, capabilities: Capabilities, schema: Schema
) -> Comparison:
    """Hold an engine against what the author of the case says.

    Args:
        expect: the author's word; what it does not say is not checked.
        result: the engine's answer.
        capabilities: what the engine can show.
        schema: types of the expected rows if ``expect`` names no schema: the target's.
    """
    if isinstance(result, Rejection):
        return _expected_error(expect, result, capabilities)
    if expect.error is not None:
        return Comparison(mismatches=(no_error(f"an error that matches /{expect.error}/", against=EXPECT),))
    wanted = expect.schema or schema
    mismatches: list[Mismatch] = []
    unsupported: list[Check] = []
    metrics: tuple[str, ...] = ()
    if expect.schema is not None and not capabilities.schema:
        unsupported.append(Check.SCHEMA)
    elif expect.schema is not None:
        mismatches += schema_mismatches(expect.schema, result.schema, against=EXPECT, complete=False)
    if expect.rows is not None:
        mismatches += _row_difference(Check.ROWS, EXPECT, expect.rows, result.rows, (wanted, result.schema))
    if expect.metrics is not None:
        if _has_metrics(result, capabilities):
            bounds = {name: Bound(value, value) for name, value in expect.metrics.items()}
            reported = _reported(bounds, capabilities)
            mismatches += metric_mismatches(reported, result.metrics, against=EXPECT, exact_names=False)
            metrics = _unreported(bounds, capabilities)
            unsupported += [Check.METRICS] if metrics else []
        else:
            unsupported.append(Check.METRICS)
    if expect.cdf is not None:
        if result.cdf is not None:
            schemas = (change_schema(wanted), change_schema(result.schema))
            mismatches += _row_difference(Check.CDF, EXPECT, expect.cdf, result.cdf, schemas)
        else:
            unsupported.append(Check.CDF)
    if expect.unchanged and result.committed:
        mismatches.append(_mismatch(Check.UNCHANGED, EXPECT, "committed", "a table version was created"))
    return Comparison(mismatches=tuple(mismatches), unsupported=tuple(unsupported), unsupported_metrics=metrics)


def _expected_error(expect: Expectation, found: Rejection, capabilities: Capabilities) -> Comparison:
    if expect.error is None:
        return Comparison(mismatches=(spurious_error(found, against=EXPECT),))
    mismatches: list[Mismatch] = []
    unsupported = () if capabilities.error_class else (Check.ERROR,)  # that it failed is all that can be said
    if capabilities.error_class and not matches(expect.error, f"{found.error_class} {found.message}"):
        lines = (f"expect: /{expect.error}/", f"engine: {found.error_class}", f"  {_one_line(found.message)}")
        mismatches.append(_mismatch(Check.ERROR, EXPECT, "error_class", *lines))
    unchanged = check_unchanged(found, against=EXPECT) if expect.unchanged else Comparison()
    return Comparison(
        mismatches=(*mismatches, *unchanged.mismatches), unsupported=(*unsupported, *unchanged.unsupported)
    )


def _has_metrics(outcome: Outcome, capabilities: Capabilities) -> bool:
    """Tell whether metrics can be compared.

    A merge that commits nothing has no history entry (R-502), and a setting keeps metrics out of it (R-501).
    """
    kept = not isinstance(outcome, TableOutcome) or outcome.history_metrics
    return capabilities.metrics and (bool(outcome.metrics) or (outcome.committed is not False and kept))


def _has_feed(outcome: Outcome, capabilities: Capabilities) -> bool:
    return capabilities.cdf and outcome.feed is not Feed.UNTOLD


def _schema_check(
    prediction: Prediction, outcome: Outcome, capabilities: Capabilities
) -> Callable[[], tuple[Mismatch, ...]] | None:
    if not (capabilities.schema and capabilities.rows):
        return None
    return lambda: _schema(prediction.schema, outcome, against=REFERENCE)


def _reported(wanted: Mapping[str, Bound], capabilities: Capabilities) -> dict[str, Bound]:
    """Leave out the metrics that the engine says it does not report; the check then counts as not fully made."""
    names = capabilities.metric_names
    return {name: bound for name, bound in wanted.items() if names is None or name in names}


def _unreported(wanted: Iterable[str], capabilities: Capabilities) -> tuple[str, ...]:
    names = capabilities.metric_names
    return () if names is None else tuple(name for name in wanted if name not in names)


def _metrics_check(
    prediction: Prediction, outcome: Outcome, capabilities: Capabilities
) -> Callable[[], tuple[Mismatch, ...]] | None:
    if not _has_metrics(outcome, capabilities):
        return None
    return lambda: tuple(
        metric_mismatches(
            _reported(prediction.metrics, capabilities),
            outcome.metrics,
            against=REFERENCE,
            exact_names=capabilities.exact_metric_names,
        )
    )


def _schema(wanted: Schema, outcome: Outcome, *, against: str) -> tuple[Mismatch, ...]:
    return schema_mismatches(wanted, outcome.schema, against=against, complete=True)


def _rows(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    schemas = (prediction.schema, outcome.schema)
    return _row_difference(Check.ROWS, REFERENCE, prediction.rows, outcome.rows, schemas)


def _ids(settled: SettledIds) -> tuple[Mismatch, ...]:
    faults = settled.faults
    return (replace(_mismatch(Check.ROWS, REFERENCE, "R-226", *faults), parts=faults),) if faults else ()


def _cdf(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if prediction.cdf is None and outcome.cdf is None:
        return ()
    if outcome.cdf is None:
        return (_mismatch(Check.CDF, REFERENCE, "no_cdf", "the engine shows no change feed, though it is on (R-601)"),)
    if prediction.cdf is None:
        text = f"the engine shows {len(outcome.cdf)} change rows, though the change feed is off (R-601)"
        return (_mismatch(Check.CDF, REFERENCE, "spurious_cdf", text),)
    schemas = (change_schema(prediction.schema), change_schema(outcome.schema))
    wanted = net_changes(prediction.cdf, prediction.schema) if outcome.feed is Feed.NET else prediction.cdf
    return _row_difference(Check.CDF, REFERENCE, wanted, outcome.cdf, schemas)


def _row_difference(
    check: Check, against: str, wanted: tuple[Row, ...], found: tuple[Row, ...], schemas: tuple[Schema, Schema]
) -> tuple[Mismatch, ...]:
    # Two rows of the change feed are one changed row only if their change type is the same.
    tied = len(schemas[0].columns) - 1 if check is Check.CDF else None
    if len(schemas[0].columns) != len(schemas[1].columns):
        text = f"{against}: {counted(len(wanted), 'row')} of {counted(len(schemas[0].columns), 'column')}"
        other = f"engine: {counted(len(found), 'row')} of {counted(len(schemas[1].columns), 'column')}"
        return (_mismatch(check, against, "row_width", text, other),)
    # another order of columns is a difference of its own; by position, every cell would seem to differ
    found, found_schema = in_columns_of(schemas[0], found, schemas[1])
    found_difference = difference(wanted, found, wanted_schema=schemas[0], found_schema=found_schema, tied=tied)
    return row_mismatches(
        found_difference, check=check, against=against, wanted_schema=schemas[0], found_schema=found_schema
    )


def _commit(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if prediction.committed == outcome.committed:
        return ()
    kind, text = (
        ("no_commit", "reference: a table version is created (R-732), engine: none")
        if prediction.committed
        else ("spurious_commit", "reference: no table version is created (R-732), engine: one")
    )
    return (_mismatch(Check.COMMIT, REFERENCE, kind, text),)


def _path(prediction: Prediction, outcome: Outcome) -> tuple[Mismatch, ...]:
    if outcome.path is None or prediction.path is outcome.path:
        return ()
    text = f"reference: path {prediction.path.value} (R-402), engine: path {outcome.path.value}"
    return (_mismatch(Check.PATH, REFERENCE, "path", text),)


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


def _mismatch(check: Check, against: str, kind: str, *lines: str) -> Mismatch:
    return Mismatch(check=check, against=against, kind=kind, lines=tuple(fit(line) for line in lines))


def _one_line(message: str) -> str:
    return " ".join(message.split())
