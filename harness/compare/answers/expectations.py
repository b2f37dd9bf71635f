"""Compare an answer with the expectation in a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import (
    EXPECT,
    Comparison,
    compared_metrics,
    has_metrics,
    mismatch,
    one_line,
    reported_metrics,
    row_difference,
    unreported_metrics,
)
from mergecheck.harness.compare.answers.rejections import check_unchanged, no_error, spurious_error
from mergecheck.harness.compare.metrics import metric_mismatches
from mergecheck.harness.compare.net_changes import net_changes
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.verdict import Check, Compared, Mismatch
from mergecheck.model.case_file import change_schema
from mergecheck.model.error_pattern import matches
from mergecheck.model.outcome import Bound, Feed, Outcome, Rejection

if TYPE_CHECKING:
    from mergecheck.harness.engine import Capabilities
    from mergecheck.model.case import Expectation
    from mergecheck.model.types.data_types import Schema


_ERROR = Compared(check=Check.ERROR, against=EXPECT)


def compare_expectation(
    expect: Expectation, result: Outcome | Rejection, *, capabilities: Capabilities, schema: Schema
) -> Comparison:
    """Compare an engine's answer with the expectation of the case's author.

    Args:
        expect: the author's expectation; observables that it omits are not checked.
        result: the engine's answer.
        capabilities: the observables that the engine shows.
        schema: types of the expected rows if ``expect`` names no schema: the target's.
    """
    if isinstance(result, Rejection):
        return _expected_error(expect, result, capabilities)
    if expect.error is not None:
        missing = no_error(f"an error that matches /{expect.error}/", against=EXPECT)
        return Comparison(mismatches=(missing,), compared=(_ERROR,))
    wanted = expect.schema or schema
    mismatches: list[Mismatch] = []
    compared: list[Compared] = []
    unsupported: list[Check] = []
    metrics: tuple[str, ...] = ()
    if expect.schema is not None and not capabilities.schema:
        unsupported.append(Check.SCHEMA)
    elif expect.schema is not None:
        compared.append(Compared(check=Check.SCHEMA, against=EXPECT))
        mismatches += schema_mismatches(expect.schema, result.schema, against=EXPECT, complete=False)
    if expect.rows is not None and not capabilities.rows:
        unsupported.append(Check.ROWS)
    elif expect.rows is not None:
        compared.append(Compared(check=Check.ROWS, against=EXPECT))
        mismatches += row_difference(Check.ROWS, EXPECT, expect.rows, result.rows, (wanted, result.schema))
    if expect.metrics is not None:
        if has_metrics(result, capabilities):
            bounds = {name: Bound(value, value) for name, value in expect.metrics.items()}
            reported = reported_metrics(bounds, capabilities)
            mismatches += metric_mismatches(reported, result.metrics, against=EXPECT, exact_names=False)
            compared.append(compared_metrics(bounds, capabilities, against=EXPECT))
            metrics = unreported_metrics(bounds, capabilities)
            unsupported += [Check.METRICS] if metrics else []
        else:
            unsupported.append(Check.METRICS)
    if expect.cdf is not None:
        if result.cdf is not None and capabilities.cdf:
            compared.append(Compared(check=Check.CDF, against=EXPECT))
            schemas = (change_schema(wanted), change_schema(result.schema))
            rows = net_changes(expect.cdf, wanted) if result.feed is Feed.NET else expect.cdf
            mismatches += row_difference(Check.CDF, EXPECT, rows, result.cdf, schemas)
        else:
            unsupported.append(Check.CDF)
    if expect.unchanged and result.committed is None:
        unsupported.append(Check.UNCHANGED)
    elif expect.unchanged:
        compared.append(Compared(check=Check.UNCHANGED, against=EXPECT))
        if result.committed:
            mismatches.append(mismatch(Check.UNCHANGED, EXPECT, "committed", "a table version was created"))
    return Comparison(
        mismatches=tuple(mismatches),
        compared=(_ERROR, *compared),
        unsupported=tuple(unsupported),
        unsupported_metrics=metrics,
    )


def _expected_error(expect: Expectation, found: Rejection, capabilities: Capabilities) -> Comparison:
    if expect.error is None:
        return Comparison(mismatches=(spurious_error(found, against=EXPECT),), compared=(_ERROR,))
    mismatches: list[Mismatch] = []
    unsupported = () if capabilities.error_class else (Check.ERROR,)  # only the failure itself can be checked
    if capabilities.error_class and not matches(expect.error, f"{found.error_class} {found.message}"):
        lines = (f"expect: /{expect.error}/", f"engine: {found.error_class}", f"  {one_line(found.message)}")
        mismatches.append(mismatch(Check.ERROR, EXPECT, "error_class", *lines))
    unchanged = check_unchanged(found, against=EXPECT) if expect.unchanged else Comparison()
    return Comparison(
        mismatches=(*mismatches, *unchanged.mismatches),
        compared=(*(() if unsupported else (_ERROR,)), *unchanged.compared),
        unsupported=(*unsupported, *unchanged.unsupported),
    )
