"""NOT NULL fields of structs (R-741): what a merge writes there may come from a source that knows no such thing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import Schema, StructType
from mergecheck.strategies.choices.chance import pick
from mergecheck.strategies.choices.features import Feature, uses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Row


def with_strict_fields(draw: DrawFn, features: frozenset[Feature], schema: Schema, rows: Iterable[Row]) -> Schema:
    """Declare a field of some struct column NOT NULL, by flag, where the table's rows keep to that.

    Args:
        draw: given by Hypothesis.
        features: what the case may use.
        schema: of the target.
        rows: of the target; the fields of a NULL struct are NULL.
    """
    wanted = uses(draw, features, Feature.NOT_NULL_FIELDS)  # before the rows are looked at, which shrink
    rows = tuple(rows)
    free = [
        (place, position)
        for place, column in enumerate(schema.columns)
        if isinstance(column.type, StructType)
        for position in range(len(column.type.fields))
        if all(row[place] is not None and row[place][position] is not None for row in rows)
    ]
    if not free or not wanted:
        return schema
    place, position = pick(draw, free)
    column = schema.columns[place]
    assert isinstance(column.type, StructType)  # noqa: S101 - chosen above
    fields = list(column.type.fields)
    fields[position] = replace(fields[position], nullable=False)
    columns = list(schema.columns)
    columns[place] = replace(column, type=StructType(tuple(fields)))
    return Schema(tuple(columns))
