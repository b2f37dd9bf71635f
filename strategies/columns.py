"""Columns as the drawing sees them, and which of them feed which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from reference.types import BIGINT, INT, INTEGER_BITS, ArrayType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from reference.types import DataType


class Domain(Enum):
    """Where the cells of a column come from."""

    SMALL = "small"
    """``strategies.domains``: few values, safe to add up, never the empty string"""
    WIDE = "wide"
    """``strategies.values``: whatever the type holds; never added up, never a partition value"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the drawing sees it."""

    name: str
    type: DataType
    domain: Domain = Domain.SMALL

    @property
    def is_integer(self) -> bool:
        """Whether the column holds integers of some width."""
        return self.type in INTEGER_BITS

    @property
    def summable(self) -> bool:
        """Whether sums of this column cannot overflow and have one type everywhere."""
        return self.type in (INT, BIGINT) and self.domain is Domain.SMALL

    @property
    def nested(self) -> bool:
        """Whether the column is a struct, an array or a map, which only ``IS NULL`` compares (R-807)."""
        return isinstance(self.type, StructType | ArrayType | MapType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    """The columns of both tables.

    Attributes:
        source: the target's own columns where the target is merged into itself.
        keys: names of the key columns, (target, source).
        namesakes: target column name to the name of the source column meant for it; star actions need all (R-201).
        partition_by: the target's partition columns, in the order of partitioning.
    """

    target: tuple[Column, ...]
    source: tuple[Column, ...]
    keys: tuple[tuple[str, str], ...]
    namesakes: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()
    self_merge: bool = False

    def target_column(self, name: str) -> Column:
        """Find a target column by its exact name."""
        return next(column for column in self.target if column.name == name)

    def source_column(self, name: str) -> Column:
        """Find a source column by its exact name."""
        return next(column for column in self.source if column.name == name)

    def namesake(self, target_name: str) -> Column | None:
        """Return the source column meant for a target column, None where the source has none."""
        found = dict(self.namesakes).get(target_name)
        return None if found is None else self.source_column(found)

    @property
    def allows_star(self) -> bool:
        """Whether every target column has a source column of its name, whatever the case (R-201)."""
        names = dict(self.namesakes)
        return all(column.name.lower() == names.get(column.name, "").lower() for column in self.target)


def table_schema(columns: tuple[Column, ...]) -> Schema:
    """Turn drawn columns into the schema of a case."""
    return Schema(tuple(Field(column.name, column.type) for column in columns))


def fits(narrow: DataType, wide: DataType) -> bool:
    """Tell whether an integer type holds every value of another."""
    return INTEGER_BITS.get(narrow, 0) <= INTEGER_BITS.get(wide, 0)


def assignable(origin: Column, column: Column, *, to_partition: bool) -> bool:
    """Tell whether every value of ``origin`` fits ``column`` without loss and alike in every engine (R-250, R-251).

    Partition columns take small values only, which are never the empty string (R-744).
    """
    if to_partition and origin.domain is Domain.WIDE:
        return False
    if origin.type == column.type:
        return True
    return origin.is_integer and column.is_integer and (origin.domain is Domain.SMALL or fits(origin.type, column.type))
