"""The values that the other evaluator computes, as columns of the evaluation's tables."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from mergecheck.model.arrow import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.reference.asked.asker import Asked
    from mergecheck.reference.asked.evaluator import CaseEvaluator
    from mergecheck.reference.expressions.names import Relation


def answers(
    asked: Sequence[Asked], evaluator: CaseEvaluator, inputs: Callable[[Relation], list[pa.ChunkedArray]], num_rows: int
) -> pa.Table:
    """Ask for values.

    Args:
        asked: what to ask for.
        evaluator: whom to ask.
        inputs: gives the columns of a relation for the rows in question, all in the same order.
        num_rows: how many rows these are.

    Returns:
        For each of the rows the values and errors, by the columns' names of ``asked``.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    for relations, group in groupby(asked, key=lambda one: one.relations):
        wanted = list(group)
        arrays = [column for relation in relations for column in inputs(relation)]
        # an expression without columns has a row for each time that it is evaluated
        rows = pa.table([*arrays, pa.nulls(num_rows)], names=[*(f"a{i}" for i in range(len(arrays))), "row"])
        found = evaluator.values([one.text for one in wanted], relations, rows)
        for number, one in enumerate(wanted):
            values = found.column(f"v{number}")
            # where nothing has a value, the type is still known
            columns[one.name] = pa.nulls(num_rows, arrow_type(one.type)) if pa.types.is_null(values.type) else values
            columns[one.error] = found.column(f"e{number}").cast(pa.string())
    return pa.table(columns)
