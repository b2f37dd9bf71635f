"""A DuckDB expression with the Spark type of its values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import ArrayType, AtomicName, AtomicType, DecimalType, MapType

if TYPE_CHECKING:
    from collections.abc import Collection

    from mergecheck.model.types.data_types import DataType

_DUCKDB = {
    AtomicName.BOOLEAN: "BOOLEAN",
    AtomicName.TINYINT: "TINYINT",
    AtomicName.SMALLINT: "SMALLINT",
    AtomicName.INT: "INTEGER",
    AtomicName.BIGINT: "BIGINT",
    AtomicName.FLOAT: "FLOAT",
    AtomicName.DOUBLE: "DOUBLE",
    AtomicName.STRING: "VARCHAR",
    AtomicName.BINARY: "BLOB",
    AtomicName.DATE: "DATE",
    AtomicName.TIMESTAMP: "TIMESTAMPTZ",
    AtomicName.TIMESTAMP_NTZ: "TIMESTAMP",
}


class TableSide(Enum):
    """The two tables; the value is the prefix of their columns in the evaluation."""

    TARGET = "t"
    SOURCE = "s"


class ArrayFunction(Enum):
    """Array functions that compare elements (R-246); the value is Spark's name."""

    DISTINCT = "array_distinct"
    UNION = "array_union"
    EXCEPT = "array_except"
    INTERSECT = "array_intersect"
    REMOVE = "array_remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A translated expression.

    Attributes:
        sql: DuckDB SQL, safe to place anywhere an operand may stand.
        type: its Spark type; VOID for an untyped NULL.
        sides: the tables whose columns it uses.
        partial: whether evaluating it can fail on some row (R-312).
        skippable: whether a part of it can fail that Spark need not evaluate to know the value (R-257).
        call: an array function whose operands may be cast before it is evaluated (R-246), None for all else.
        stored: it is a column or a field as stored, so that its type determines which of its fields may be NULL.
        char_length: the length of a CHAR column that is read as it is stored; None for all else (R-822).
        asked: its value is another evaluator's, so that it has one only on the rows that were asked about.
    """

    sql: str
    type: DataType
    sides: frozenset[TableSide] = frozenset()
    partial: bool = False
    skippable: bool = False
    call: ArrayCall | None = None
    stored: bool = False
    char_length: int | None = None
    asked: bool = False


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A call whose operands can be cast before the function is evaluated again.

    Attributes:
        operands: arrays; the second operand of ``array_remove`` is an element.
    """

    function: ArrayFunction
    operands: tuple[Typed, ...]


def combine(
    sql: str, data_type: DataType, *operands: Typed, partial: bool = False, evaluated: Collection[Typed] = ()
) -> Typed:
    """Make an expression of operands: it uses their tables, and fails if any of them may fail.

    Args:
        sql: the expression in DuckDB SQL.
        data_type: its type.
        operands: all parts.
        partial: whether it may fail although its operands do not.
        evaluated: the operands that Spark surely evaluates wherever DuckDB does.
    """
    return Typed(
        sql=sql,
        type=data_type,
        sides=frozenset(side for operand in operands for side in operand.sides),
        partial=partial or any(operand.partial for operand in operands),
        skippable=any(o.skippable if any(o is e for e in evaluated) else o.partial for o in operands),
    )


def string_literal(text: str) -> str:
    """Write a DuckDB string literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote a DuckDB identifier."""
    return '"' + name.replace('"', '""') + '"'


def duckdb_type(data_type: DataType) -> str:
    """Format a Spark type in DuckDB.

    Raises:
        UnsupportedByReferenceError: for VOID, which DuckDB columns cannot have.
    """
    if isinstance(data_type, AtomicType):
        if data_type.name not in _DUCKDB:
            raise UnsupportedByReferenceError("a value of type VOID")
        return _DUCKDB[data_type.name]
    if isinstance(data_type, DecimalType):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if isinstance(data_type, ArrayType):
        return duckdb_type(data_type.element) + "[]"
    if isinstance(data_type, MapType):
        return f"MAP({duckdb_type(data_type.key)}, {duckdb_type(data_type.value)})"
    return "STRUCT(" + ", ".join(f"{identifier(f.name)} {duckdb_type(f.type)}" for f in data_type.fields) + ")"


def typed_null(data_type: DataType) -> str:
    """Write a NULL of a type."""
    return f"CAST(NULL AS {duckdb_type(data_type)})"
