"""SQL types of a case, as in a Spark DDL string such as ``id BIGINT, v STRUCT<a: INT>``.

The names are Spark's. Nothing here knows DuckDB, Arrow or Spark; those translations live beside their use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


ELEMENT, KEY, VALUE = "element", "key", "value"
"""Steps into an array and a map, in the paths of what is inside of a column."""


class AtomicName(Enum):
    """The atomic types of a case file; the value is Spark's DDL word."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    VOID = "VOID"


@dataclass(frozen=True, slots=True)
class AtomicType:
    """A type without parameters."""

    name: AtomicName

    def ddl(self) -> str:
        """Format the type as Spark DDL."""
        return self.name.value


@dataclass(frozen=True, slots=True)
class DecimalType:
    """``DECIMAL(precision, scale)`` with 1 <= precision <= 38 and 0 <= scale <= precision."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):  # noqa: PLR2004 - Spark's limits
            raise ValueError(f"DECIMAL({self.precision},{self.scale}) is not a decimal type of Spark")

    def ddl(self) -> str:
        """Format the type as Spark DDL."""
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """``ARRAY<element>``; elements may be NULL."""

    element: DataType

    def ddl(self) -> str:
        """Format the type as Spark DDL."""
        return f"ARRAY<{self.element.ddl()}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """``MAP<key, value>``; keys are never NULL, values may be."""

    key: DataType
    value: DataType

    def ddl(self) -> str:
        """Format the type as Spark DDL."""
        return f"MAP<{self.key.ddl()}, {self.value.ddl()}>"


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a column an identity column (R-226).

    Attributes:
        start: the first value that the table generates.
        step: from one value to the next; not 0.
        by_default: whether an INSERT may give values; else the table generates all of them.
        mark: the high-water mark: no value beyond it has been generated. None if none has been generated at all.
    """

    start: int = 1
    step: int = 1
    by_default: bool = False
    mark: int | None = None

    @property
    def first(self) -> int:
        """The next value that the table may generate."""
        return self.start if self.mark is None else self.mark + self.step

    def ddl(self) -> str:
        """Format it as Spark DDL, and the mark, which DDL lacks, in the same brackets."""
        mark = "" if self.mark is None else f" HIGH WATER MARK {self.mark}"
        kind = "BY DEFAULT" if self.by_default else "ALWAYS"
        return f"GENERATED {kind} AS IDENTITY (START WITH {self.start} INCREMENT BY {self.step}{mark})"


@dataclass(frozen=True, slots=True)
class TextLimit:
    """The most characters of a text that was declared as VARCHAR or CHAR, in a column or inside of it (R-822).

    Attributes:
        padded: whether it was declared as CHAR.
        path: where it is inside of its column: names of fields, ``element``, ``key`` and ``value``.
    """

    length: int
    padded: bool = False
    path: tuple[str, ...] = ()

    def ddl(self) -> str:
        """Format it as Spark DDL."""
        return f"{'CHAR' if self.padded else 'VARCHAR'}({self.length})"


@dataclass(frozen=True, slots=True)
class Field:
    """A named member of a struct or a column of a table.

    Attributes:
        default: Spark SQL text of the column's default, None without one; columns of a target only (R-220).
        generated: Spark SQL text of the generation expression; columns of a target only (R-222).
        identity: of a column whose values the table generates; columns of a target only (R-226).
        invariant: Spark SQL text of a condition on every row that is written; columns of a target only (R-746).
        limits: of texts in the column; their type is STRING all the same. Columns of a target only (R-822).
    """

    name: str
    type: DataType
    nullable: bool = True
    default: str | None = None
    generated: str | None = None
    identity: Identity | None = None
    invariant: str | None = None
    limits: tuple[TextLimit, ...] = ()

    @property
    def limit(self) -> TextLimit | None:
        """The length of the column itself, without the lengths of texts inside of it."""
        return next((limit for limit in self.limits if not limit.path), None)

    @property
    def of_delta_only(self) -> str | None:
        """Name the property of the column that only Delta tables have; None if there is none."""
        named = {
            "an identity column": self.identity is not None,
            "a column invariant": self.invariant is not None,
            "a column with a CHAR or VARCHAR length": bool(self.limits),
        }
        return next((name for name, holds in named.items() if holds), None)


@dataclass(frozen=True, slots=True)
class StructType:
    """``STRUCT<name: type, ...>``; a NULL struct differs from a struct of NULLs (R-806)."""

    fields: tuple[Field, ...]

    def ddl(self) -> str:
        """Format the type as Spark DDL."""
        return declared_ddl(self)


@dataclass(frozen=True, slots=True)
class Schema:
    """The ordered columns of a table."""

    columns: tuple[Field, ...]

    def ddl(self) -> str:
        """Format the schema as Spark DDL, with quotes around names that need them."""
        return ", ".join(
            f"{quote(c.name)} {declared_ddl(c.type, c.limits)}{_not_null(c)}{_value(c)}" for c in self.columns
        )

    @property
    def of_delta_only(self) -> str | None:
        """Name the first thing of a column that other systems than Delta tables do not have."""
        return next((column.of_delta_only for column in self.columns if column.of_delta_only), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(c.name for c in self.columns)

    @property
    def plain(self) -> Schema:
        """The columns with their names and types only: any of them may be NULL, and none has a value or a condition."""
        return Schema(tuple(Field(c.name, c.type) for c in self.columns))


NestedType: TypeAlias = StructType | ArrayType | MapType
DataType: TypeAlias = AtomicType | DecimalType | NestedType

BOOLEAN = AtomicType(AtomicName.BOOLEAN)
TINYINT = AtomicType(AtomicName.TINYINT)
SMALLINT = AtomicType(AtomicName.SMALLINT)
INT = AtomicType(AtomicName.INT)
BIGINT = AtomicType(AtomicName.BIGINT)
FLOAT = AtomicType(AtomicName.FLOAT)
DOUBLE = AtomicType(AtomicName.DOUBLE)
STRING = AtomicType(AtomicName.STRING)
BINARY = AtomicType(AtomicName.BINARY)
DATE = AtomicType(AtomicName.DATE)
TIMESTAMP = AtomicType(AtomicName.TIMESTAMP)
TIMESTAMP_NTZ = AtomicType(AtomicName.TIMESTAMP_NTZ)
VOID = AtomicType(AtomicName.VOID)

INTEGER_BITS: dict[DataType, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def type_word(data_type: DataType) -> str:
    """Name a type without its parameters, so that reasons and labels can be counted."""
    return data_type.ddl().partition("(")[0].partition("<")[0]


def type_at(schema: Schema, path: Sequence[str]) -> DataType | None:
    """Return the type of a column or of a field below one, case ignored; None if there is none."""
    fields: tuple[Field, ...] = schema.columns
    found: DataType | None = None
    for name in path:
        found = next((field.type for field in fields if field.name.lower() == name.lower()), None)
        fields = found.fields if isinstance(found, StructType) else ()
    return found


def declared_ddl(data_type: DataType, limits: Sequence[TextLimit] = ()) -> str:
    """Format a type as Spark DDL, with the lengths that texts in it were declared with."""
    own = next((limit for limit in limits if not limit.path), None)
    if own is not None:
        return own.ddl()
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{declared_ddl(data_type.element, limits_below(limits, ELEMENT))}>"
    if isinstance(data_type, MapType):
        key = declared_ddl(data_type.key, limits_below(limits, KEY))
        return f"MAP<{key}, {declared_ddl(data_type.value, limits_below(limits, VALUE))}>"
    if isinstance(data_type, StructType):
        fields = (
            f"{quote(f.name)}: {declared_ddl(f.type, limits_below(limits, f.name))}{_not_null(f)}"
            for f in data_type.fields
        )
        return f"STRUCT<{', '.join(fields)}>"
    return data_type.ddl()


def limits_below(limits: Sequence[TextLimit], step: str) -> tuple[TextLimit, ...]:
    """Give the lengths inside of a part of a type, with their paths from there."""
    return tuple(replace(limit, path=limit.path[1:]) for limit in limits if limit.path[:1] == (step,))


def has_type(data_type: DataType | Schema, wanted: DataType) -> bool:
    """Return whether a type is another one or has it inside, at any depth."""
    if isinstance(data_type, Schema):
        return any(has_type(column.type, wanted) for column in data_type.columns)
    if isinstance(data_type, StructType):
        return any(has_type(field.type, wanted) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return has_type(data_type.element, wanted)
    if isinstance(data_type, MapType):
        return has_type(data_type.key, wanted) or has_type(data_type.value, wanted)
    return data_type == wanted


def quote(name: str) -> str:
    """Quote an identifier for Spark SQL unless it is a plain lower- or upper-case word."""
    if name.isascii() and name.isidentifier() and name.lower() not in _RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def _not_null(field: Field) -> str:
    return "" if field.nullable else " NOT NULL"


def _value(column: Field) -> str:
    invariant = "" if column.invariant is None else f" INVARIANT ({column.invariant})"
    return _own_value(column) + invariant


def _own_value(column: Field) -> str:
    if column.generated is not None:
        return f" GENERATED ALWAYS AS ({column.generated})"
    if column.identity is not None:
        return f" {column.identity.ddl()}"
    return "" if column.default is None else f" DEFAULT {column.default}"


# Words that would end or change a MERGE statement or a schema if they stood unquoted.
_RESERVED = frozenset(
    """add all and any array as between binary boolean by case cast column constraint date decimal default
    delete desc distinct double else end except exists false float for from group having in insert int
    integer intersect interval into is join like limit map matched merge not null on or order outer select
    set source string struct table target then timestamp true union unique update using values void when
    where window with""".split()  # noqa: SIM905 - one word list reads better than forty quoted words
)
