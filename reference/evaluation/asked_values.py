"""The values that the other evaluator computes, as columns of the evaluation's tables."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.model.case import Row
    from mergecheck.reference.asked.asker import Asked
    from mergecheck.reference.asked.evaluator import CaseEvaluator
    from mergecheck.reference.expressions.names import Relation


def answers(
    asked: Sequence[Asked], evaluator: CaseEvaluator, inputs: Callable[[Relation], Sequence[Row]], num_rows: int
) -> tuple[Schema, tuple[Row, ...]]:
    """Ask for values.

    Args:
        asked: what to ask for.
        evaluator: whom to ask.
        inputs: gives the cells of a relation for each of the rows in question, all in the same order.
        num_rows: how many rows these are.

    Returns:
        For each of the rows the values and errors, by the columns' names of ``asked``.
    """
    fields: list[Field] = []
    columns: list[Sequence[object]] = []
    for relations, group in groupby(asked, key=lambda one: one.relations):
        wanted = list(group)
        cells = [inputs(relation) for relation in relations]
        rows = [tuple(cell for part in cells for cell in part[number]) for number in range(num_rows)]
        found = evaluator.values([one.text for one in wanted], relations, rows)
        for one, answered in zip(wanted, found, strict=True):
            fields += [Field(one.name, one.type), Field(one.error, STRING)]
            columns += [answered.values, answered.errors]
    return Schema(tuple(fields)), tuple(zip(*columns, strict=True))
