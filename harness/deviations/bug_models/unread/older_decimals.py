"""Bug models of DECIMAL columns that were widened, and of constants that do not fit files of the earlier type (R-716).

Spark's Parquet reader cuts such a constant to the 32 or 64 bits of the older DECIMAL, and leaves rows out. It fails on
files that store DECIMALs as bytes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.statements import constant_of
from mergecheck.harness.deviations.bug_models.unread.comparisons import (
    comparisons,
    conditions,
    old_files,
    row_groups,
    without_rows,
)
from mergecheck.harness.deviations.bug_models.unread.old_rows import old_rows_stay
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import MergePath, Prediction, Rejection
from mergecheck.model.storage import StringType
from mergecheck.model.types.data_types import DecimalType
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from decimal import Decimal

    from mergecheck.model.case import Target
    from mergecheck.reference.syntax.statement import Statement

_FAILED_READ = "FAILED_READ_FILE.NO_HINT"
_COMPARED = (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)
_LONG_DIGITS = 18  # are the most of a DECIMAL that is stored as an integer
_SHORT_DIGITS = 9  # the most digits of a 32-bit decimal


def _constant_is_cut(now: Judged) -> Judged | None:
    """Rows of an older DECIMAL are not read if no value of their row group fulfils a comparison with the cut constant.

    Conditions are pushed down to the reader by a merge that only inserts, and by one that marks rows in vectors.
    """
    answer, statement = now.reference.answer, now.reference.trace.statement
    if not isinstance(answer, Prediction) or statement is None or answer.path not in (MergePath.A, MergePath.E):
        return None
    kinds = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE) if answer.path is MergePath.E else ()
    return without_rows(now, _cut_off(now, conditions(statement, *kinds), statement))


def _cut_off(now: Judged, pushed: Iterable[exp.Expr], statement: Statement) -> set[int]:
    """Number the rows of row groups of which no value fulfils a comparison with the cut constant."""
    target, rows = now.given.target, physical_rows(now.given.target)
    if target.layout.string_type is not StringType.STRING:
        return set()  # such files store DECIMALs as bytes
    older: dict[tuple[str, ...], DecimalType] = {(name,): kind for name, kind in _older_decimals(target)}
    found: set[int] = set()
    for one in comparisons(pushed, statement, target.schema):
        kind = older.get(one.leaf.names)
        if kind is None or kind.precision > _LONG_DIGITS:
            continue
        bits = 32 if kind.precision <= _SHORT_DIGITS else 64
        constant = _digits(one.constant, kind.scale)
        cut = (constant + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        if cut == constant:
            continue
        for group in _old_row_groups(now):
            values = [one.leaf.of(rows[rid]) for rid in group]
            stored = [_digits(value, kind.scale) for value in values if value is not None]
            if all(one.excludes(value, value, cut) for value in stored):
                found.update(group)
    return found


def _old_row_groups(now: Judged) -> Iterator[list[int]]:
    """Give the rows of each row group of the files that hold the earlier types."""
    for number, rids in old_files(now):
        yield from row_groups(rids, number, now.given.target.layout)


def _older_decimals(target: Target) -> Iterator[tuple[str, DecimalType]]:
    """Give the columns that are DECIMALs and had other types, with these."""
    for name, earlier in target.layout.widened_columns.items():
        now = next(column.type for column in target.schema.columns if column.name == name)
        if isinstance(earlier, DecimalType) and isinstance(now, DecimalType) and now.scale == earlier.scale:
            yield name, earlier


def _may_be_cut_off(now: Judged) -> Collection[int]:
    """Number the rows that a scan by the condition of some clause leaves out."""
    statement = now.reference.trace.statement
    if statement is None:
        return ()
    of_clauses = (clause.condition for clause in statement.clauses if clause.condition is not None)
    return {rid for one in of_clauses for rid in _cut_off(now, [one], statement)}


def _constant_too_large(now: Judged) -> Judged | None:
    """Reading an old file fails if a comparison of the column has a constant that needs more bytes than its numbers."""
    statement, target = now.reference.trace.statement, now.given.target
    if statement is None or not isinstance(now.result, Rejection) or now.result.error_class != _FAILED_READ:
        return None
    everywhere = [statement.on, *(c.condition for c in statement.clauses if c.condition is not None)]
    compared = [node for condition in everywhere for node in condition.find_all(*_COMPARED)]
    in_bytes = [
        (name, kind)
        for name, kind in _older_decimals(target)
        if target.layout.string_type is not StringType.STRING or kind.precision > _LONG_DIGITS
    ]
    if not any(_is_too_large(node, name, of_file) for name, of_file in in_bytes for node in compared):
        return None
    refused = Rejection(error_class=_FAILED_READ, message="the constant does not fit", unchanged=True)
    return replace(now, reference=replace(now.reference, answer=refused))


def _is_too_large(comparison: exp.Expr, name: str, of_file: DecimalType) -> bool:
    if all(column.name.lower() != name.lower() for column in comparison.find_all(exp.Column)):
        return False
    most = _num_bytes(10**of_file.precision - 1)
    constants = filter(None, map(constant_of, comparison.find_all(exp.Literal)))
    return any(_num_bytes(_digits(constant, of_file.scale)) > most for constant in constants)


def _digits(number: Decimal, scale: int) -> int:
    """Give a number as a DECIMAL of this scale stores it."""
    return int(Fraction(number) * 10**scale)


def _num_bytes(number: int) -> int:
    """Give the size of a number in bytes, with its sign."""
    return number.bit_length() // 8 + 1


BUG_MODELS = (
    BugModel(
        name="a constant that does not fit the numbers of an older DECIMAL cannot be read",
        phase=Phase.REWRITE,
        apply=_constant_too_large,
    ),
    BugModel(
        name="rows of an older DECIMAL are not read by a constant that does not fit",
        phase=Phase.REWRITE,
        apply=_constant_is_cut,
    ),
    BugModel(
        name="if rows are marked in vectors rows of an older DECIMAL stay",
        phase=Phase.REPAIR,
        apply=old_rows_stay(_may_be_cut_off),
    ),
)
