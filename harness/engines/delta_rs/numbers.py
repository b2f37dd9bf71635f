"""Ranges of the numbers in a case's tables, on which the meaning of some expressions in delta-rs depends."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import DOUBLE, FLOAT, INTEGER_BITS, ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema


class HeldNumbers:
    """The numbers of a table, those inside structs, arrays and maps included."""

    def __init__(self, schema: Schema, rows: Sequence[Row]) -> None:
        self._schema, self._rows = schema, rows

    @cached_property
    def has_negative_zero(self) -> bool:
        """Whether it holds -0.0, which Spark takes for 0.0 and DataFusion does not."""
        return any(
            number == 0 and math.copysign(1, number) < 0
            for values in self._columns(FLOAT, DOUBLE).values()
            for number in _numbers(values)
            if isinstance(number, float)
        )

    def largest_integer(self, names: Collection[str]) -> int:
        """Give the largest absolute value of an integer in some columns, named in lower case; 0 if there is none."""
        columns = self._columns(*INTEGER_BITS).items() if names else ()
        held = (number for name, values in columns if name.lower() in names for number in _numbers(values))
        return max((abs(number) for number in held if isinstance(number, int)), default=0)

    def _columns(self, *types: DataType) -> dict[str, tuple[Value, ...]]:
        """Give the values of the columns of some types, and of nested ones."""
        columns = zip(self._schema.columns, zip(*self._rows, strict=True), strict=True) if self._rows else ()
        nested = (StructType, ArrayType, MapType)
        return {
            column.name: values for column, values in columns if column.type in types or isinstance(column.type, nested)
        }


def _numbers(values: Iterable[Value]) -> Iterator[int | float]:
    for value in values:
        if isinstance(value, tuple):
            yield from _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value
