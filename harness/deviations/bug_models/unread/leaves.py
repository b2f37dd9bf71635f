"""Columns, and fields of structs, that hold single values: the operands of a scan's conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.types.data_types import DOUBLE, FLOAT, StructType, quote
from mergecheck.reference.syntax.statement import name_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Field, Schema


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column, or a field at any depth of structs.

    Attributes:
        names: of the column and of the fields below it.
        places: their positions, each within the one before.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    type: DataType

    @property
    def is_float(self) -> bool:
        """Whether its values may be NaN, or have a zero with a sign."""
        return self.type in (DOUBLE, FLOAT)

    @property
    def sql(self) -> str:
        """Its name in a statement."""
        return ".".join(map(quote, self.names))

    def of(self, row: Row) -> Value:
        """Give its value in a row; None if a struct around it is NULL."""
        value: Value = row
        for place in self.places:
            value = None if value is None else value[place]
        return value


def leaves(schema: Schema) -> tuple[Leaf, ...]:
    """List the leaves of all columns."""
    return tuple(_leaves(schema.columns, (), ()))


def _leaves(fields: tuple[Field, ...], names: tuple[str, ...], places: tuple[int, ...]) -> Iterator[Leaf]:
    for place, field in enumerate(fields):
        own_names, own_places = (*names, field.name), (*places, place)
        if isinstance(field.type, StructType):
            yield from _leaves(field.type.fields, own_names, own_places)
        else:
            yield Leaf(own_names, own_places, field.type)


def holds_float(row: Row, known: tuple[Leaf, ...], is_wanted: Callable[[float], bool]) -> bool:
    """Return whether some DOUBLE or FLOAT of a row is such a number."""
    values = (leaf.of(row) for leaf in known if leaf.is_float)
    return any(value is not None and is_wanted(value) for value in values)


@dataclass(frozen=True, slots=True)
class TableNames:
    """How a statement may call the leaves of its table."""

    alias: str
    known: tuple[Leaf, ...]

    def leaf(self, node: exp.Expr) -> Leaf | None:
        """Find the leaf that a name means; None if it is another expression, or no leaf of the table."""
        path = self._path(node) if isinstance(node, exp.Column) else None
        return next((leaf for leaf in self.known if tuple(map(str.lower, leaf.names)) == path), None)

    def has(self, column: exp.Column) -> bool:
        """Return whether a name means a column of the table, or a field of one."""
        columns = {leaf.names[0].lower() for leaf in self.known}
        return self._path(column)[0] in columns

    def _path(self, column: exp.Column) -> tuple[str, ...]:
        names = tuple(name.lower() for name in name_parts(column))
        return names[1:] if len(names) > 1 and names[0] == self.alias.lower() else names
