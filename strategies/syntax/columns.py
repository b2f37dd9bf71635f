"""Columns as the drawing sees them, and which of them feed which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import BIGINT, INT, INTEGER_BITS, Field, NestedType, Schema
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.syntax.expressions import Expression


class Domain(Enum):
    """Where the cells of a column come from."""

    SMALL = "small"
    """``strategies.tables.domains``: few values, safe to add up; the empty string only in partition columns"""
    WIDE = "wide"
    """``strategies.tables.values``: whatever the type holds; never added up, never a partition value"""
    LONG = "long"
    """texts that are alike as far as the statistics of files go (R-804)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the drawing sees it.

    Attributes:
        feeds: of a source column: the other type that its values are good for by a cast (R-251); None without one.
        misfits: whether some values do not fit: they break a cast, a constraint or a generation expression.
        required: whether its cells, and mostly the values assigned to it, are not NULL.
        bounded: whether only small values of its own type are assigned to it, because something is computed from it.
        not_null: whether its table declares it NOT NULL (R-741).
        default: the target's default for it (R-220).
        computed: what its cells are computed from: of a target column the generation expression (R-222), of a source
            column the same over the source's columns.
    """

    name: str
    type: DataType
    domain: Domain = Domain.SMALL
    feeds: DataType | None = None
    misfits: bool = False
    required: bool = False
    bounded: bool = False
    not_null: bool = False
    default: Expression | None = None
    computed: Expression | None = None

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
        """Whether the column is a struct, an array or a map, which has no order and no constants (R-807)."""
        return isinstance(self.type, NestedType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A CHECK constraint of the target: its name, and the condition over the target's own columns (R-742)."""

    name: str
    condition: Expression
    violated: bool = False
    """whether rows of the source may break it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    """The columns of both tables.

    Attributes:
        source: the target's own columns if the target is merged into itself.
        keys: names of the key columns, (target, source).
        namesakes: target column name to the name of the source column meant for it; star actions need all (R-201).
        partition_by: the target's partition columns, in the order of partitioning.
        checks: the target's CHECK constraints.
        evolves: whether schema evolution is on.
        case_sensitive: whether names of columns that differ in case are different names (R-120).
        self_filter: which of its own rows the target is merged with if a query is the source; None for all.
    """

    target: tuple[Column, ...]
    source: tuple[Column, ...]
    keys: tuple[tuple[str, str], ...]
    namesakes: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()
    self_merge: bool = False
    checks: tuple[Check, ...] = ()
    evolves: bool = False
    case_sensitive: bool = False
    self_filter: Expression | None = None

    def target_column(self, name: str) -> Column:
        """Find a target column by its exact name."""
        return next(column for column in self.target if column.name == name)

    def source_column(self, name: str) -> Column:
        """Find a source column by its exact name."""
        return next(column for column in self.source if column.name == name)

    def namesake(self, target_name: str) -> Column | None:
        """Return the source column meant for a target column, None if the source has none."""
        found = dict(self.namesakes).get(target_name)
        return None if found is None else self.source_column(found)

    @property
    def allows_star(self) -> bool:
        """Whether every target column has a source column of its name, or evolution needs none (R-201 to R-203)."""
        names = dict(self.namesakes)
        return self.evolves or all(column.name.lower() == names.get(column.name, "").lower() for column in self.target)

    @property
    def new_columns(self) -> tuple[Column, ...]:
        """The source columns whose names the target lacks: what evolution may add (R-231, R-233)."""
        own = {self.folded(column.name) for column in self.target}
        return tuple(column for column in self.source if self.folded(column.name) not in own)

    def folded(self, name: str) -> str:
        """Return a name in the form that the session compares (R-120)."""
        return name if self.case_sensitive else name.lower()


def table_schema(columns: tuple[Column, ...]) -> Schema:
    """Turn the drawn columns of a source into its schema."""
    return Schema(tuple(Field(column.name, column.type, nullable=not column.not_null) for column in columns))


def target_schema(columns: tuple[Column, ...]) -> Schema:
    """Turn the drawn columns of a target into its schema, with NOT NULL, defaults and generation expressions."""
    return Schema(
        tuple(
            Field(
                column.name,
                column.type,
                nullable=not column.not_null,
                default=_text(column.default),
                generated=_text(column.computed),
            )
            for column in columns
        )
    )


def _text(expression: Expression | None) -> str | None:
    return None if expression is None else expression_text(expression, Aliases())


def fits(narrow: DataType, wide: DataType) -> bool:
    """Return whether an integer type holds every value of another."""
    return INTEGER_BITS.get(narrow, 0) <= INTEGER_BITS.get(wide, 0)


def assignable(origin: Column, column: Column, *, to_partition: bool) -> bool:
    """Return whether the values of ``origin`` fit ``column``: all of them, or those that it was drawn to feed (R-251).

    Partition columns take small values only; so do columns from which others are computed, so that no sum overflows.
    """
    small_only = to_partition or column.bounded
    if small_only and origin.domain is not Domain.SMALL:
        return False
    if origin.type == column.type or (origin.feeds is not None and origin.feeds == column.type):
        return True
    return origin.is_integer and column.is_integer and (origin.domain is Domain.SMALL or fits(origin.type, column.type))
