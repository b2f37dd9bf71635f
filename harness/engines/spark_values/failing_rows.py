"""Which rows an expression fails on, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.asked.evaluator import Answers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.model.case import Row, Value


def evaluate_rows(evaluate: Callable[[Sequence[Row]], tuple[Value, ...] | str], rows: Sequence[Row]) -> Answers:
    """Evaluate an expression on rows, and on halves of them if it fails on some.

    Args:
        evaluate: gives the values, or the error class if the expression fails on some row.
        rows: the rows.
    """
    if not rows:
        return Answers((), ())
    found = evaluate(rows)
    if not isinstance(found, str):
        return Answers(found, (None,) * len(rows))
    if len(rows) == 1:
        return Answers((None,), (found,))
    half = len(rows) // 2
    first, second = evaluate_rows(evaluate, rows[:half]), evaluate_rows(evaluate, rows[half:])
    return Answers((*first.values, *second.values), (*first.errors, *second.errors))
