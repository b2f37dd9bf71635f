"""The result of a comparison, and the parts that comparisons of answers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.compare.rows import difference, in_columns_of, row_mismatches
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.verdict import Check, Compared, Mismatch
from mergecheck.model.formatting import counted, fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.harness.engine import Capabilities
    from mergecheck.model.case import Row
    from mergecheck.model.outcome import Bound, Outcome
    from mergecheck.model.types.data_types import Schema

REFERENCE = "reference"
EXPECT = "expect"
"""The side that an engine is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        mismatches: the differences; empty if everything that could be compared agrees.
        compared: the checks made.
        unsupported: checks that could not be made, or not in full, because the engine does not show the observable.
        unsupported_metrics: the metrics that could not be compared, if others were.
    """

    mismatches: tuple[Mismatch, ...] = ()
    compared: tuple[Compared, ...] = ()
    unsupported: tuple[Check, ...] = ()
    unsupported_metrics: tuple[str, ...] = ()


def has_metrics(outcome: Outcome, capabilities: Capabilities) -> bool:
    """Return whether metrics can be compared.

    A merge that commits nothing has no history entry (R-502), and a setting keeps metrics out of it (R-501).
    """
    kept = not isinstance(outcome, TableOutcome) or outcome.history_metrics
    return capabilities.metrics and (bool(outcome.metrics) or (outcome.committed is not False and kept))


def reported_metrics(wanted: Mapping[str, Bound], capabilities: Capabilities) -> dict[str, Bound]:
    """Leave out the metrics that the engine declares as not reported; the check then counts as not fully made."""
    names = capabilities.metric_names
    return {name: bound for name, bound in wanted.items() if names is None or name in names}


def compared_metrics(
    wanted: Iterable[str], capabilities: Capabilities, *, against: str, exact_names: bool = False
) -> Compared:
    """Describe which metrics were compared; an engine that reports all names may have one too many."""
    names = frozenset(wanted) if capabilities.metric_names is None else frozenset(wanted) & capabilities.metric_names
    kinds = names | HISTORY_METRICS | {"unknown_metric"} if exact_names else names
    return Compared(check=Check.METRICS, against=against, kinds=kinds)


def unreported_metrics(wanted: Iterable[str], capabilities: Capabilities) -> tuple[str, ...]:
    """Name the wanted metrics that the engine declares as not reported."""
    names = capabilities.metric_names
    return () if names is None else tuple(name for name in wanted if name not in names)


def row_difference(
    check: Check, against: str, wanted: tuple[Row, ...], found: tuple[Row, ...], schemas: tuple[Schema, Schema]
) -> tuple[Mismatch, ...]:
    """Compare two multisets of rows; rows of the change feed also by their change type."""
    # Two rows of the change feed are one changed row only if their change type is the same.
    tied = len(schemas[0].columns) - 1 if check is Check.CDF else None
    if len(schemas[0].columns) != len(schemas[1].columns):
        text = f"{against}: {counted(len(wanted), 'row')} of {counted(len(schemas[0].columns), 'column')}"
        other = f"engine: {counted(len(found), 'row')} of {counted(len(schemas[1].columns), 'column')}"
        return (mismatch(check, against, "row_width", text, other),)
    # another order of columns is a difference of its own; by position, every cell would seem to differ
    found, found_schema = in_columns_of(schemas[0], found, schemas[1])
    found_difference = difference(wanted, found, wanted_schema=schemas[0], found_schema=found_schema, tied=tied)
    return row_mismatches(
        found_difference, check=check, against=against, wanted_schema=schemas[0], found_schema=found_schema
    )


def mismatch(check: Check, against: str, kind: str, *lines: str) -> Mismatch:
    """Make a mismatch whose lines fit a report."""
    return Mismatch(check=check, against=against, kind=kind, lines=tuple(fit(line) for line in lines))


def one_line(message: str) -> str:
    """Write a message of several lines as one."""
    return " ".join(message.split())
