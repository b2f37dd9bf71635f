"""A reading of DECIMAL columns that had fewer digits once: a constant may not fit the numbers in old files (R-716)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
from mergecheck.reference.outcome import Rejection
from mergecheck.reference.types.data_types import DecimalType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Target

_FAILED_READ = "FAILED_READ_FILE.NO_HINT"
_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)


def _constant_too_large(now: Judged) -> Judged | None:
    """Reading an old file fails if a comparison of the column has a constant that needs more bytes than its numbers."""
    statement = now.reference.trace.statement
    if statement is None or not isinstance(now.result, Rejection) or now.result.error_class != _FAILED_READ:
        return None
    conditions = [statement.on, *(c.condition for c in statement.clauses if c.condition is not None)]
    compared = [node for condition in conditions for node in condition.find_all(*_COMPARISONS)]
    if not any(_is_too_large(node, name, of_file) for name, of_file in _earlier(now.given.target) for node in compared):
        return None
    refused = Rejection(error_class=_FAILED_READ, message="the constant does not fit", unchanged=True)
    return replace(now, reference=replace(now.reference, answer=refused))


def _earlier(target: Target) -> Iterator[tuple[str, DecimalType]]:
    """Give the columns that are DECIMALs and had other types, with these; every second file has them."""
    for name, earlier in target.layout.widened_columns.items():
        now = next(column.type for column in target.schema.columns if column.name == name)
        if isinstance(earlier, DecimalType) and isinstance(now, DecimalType) and now.scale == earlier.scale:
            yield name, earlier


def _is_too_large(comparison: exp.Expr, name: str, of_file: DecimalType) -> bool:
    if all(column.name.lower() != name.lower() for column in comparison.find_all(exp.Column)):
        return False
    most = _num_bytes(10**of_file.precision - 1)
    return any(_num_bytes(_digits(literal, of_file.scale)) > most for literal in comparison.find_all(exp.Literal))


def _digits(literal: exp.Literal, scale: int) -> int:
    """Give a constant as a DECIMAL of this scale stores it; 0 if it is no number."""
    try:
        return int(Decimal(literal.name).scaleb(scale))
    except InvalidOperation:
        return 0


def _num_bytes(number: int) -> int:
    """Give the size of a number in bytes, with its sign."""
    return number.bit_length() // 8 + 1


READINGS = (
    Reading(
        name="a constant that does not fit the numbers of an older DECIMAL cannot be read",
        phase=Phase.REWRITE,
        apply=_constant_too_large,
    ),
)
