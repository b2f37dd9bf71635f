"""Types of Spark and of DataFusion: names, families, and the casts that both make alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import (
    BINARY,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    AtomicName,
    AtomicType,
    DecimalType,
    type_word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.data_types import DataType

INT, BIGINT = AtomicType(AtomicName.INT), AtomicType(AtomicName.BIGINT)
BITS = {AtomicName.TINYINT: 8, AtomicName.SMALLINT: 16, AtomicName.INT: 32, AtomicName.BIGINT: 64}
_FLOATS = (AtomicName.FLOAT, AtomicName.DOUBLE)
_MOST_DIGITS = 38
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_SQL_TYPES = {
    AtomicName.BOOLEAN: "BOOLEAN",
    AtomicName.TINYINT: "TINYINT",
    AtomicName.SMALLINT: "SMALLINT",
    AtomicName.INT: "INT",
    AtomicName.BIGINT: "BIGINT",
    AtomicName.FLOAT: "FLOAT",
    AtomicName.DOUBLE: "DOUBLE",
    AtomicName.STRING: "VARCHAR",
    AtomicName.DATE: "DATE",
}


class UntranslatableError(Exception):
    """delta-rs has no equivalent expression, or one of another meaning; ``reason`` is countable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Translated:
    """An expression in DataFusion's words with the Spark type of its values."""

    sql: str
    type: DataType


def sql_type(data_type: DataType) -> str:
    """Name a type in DataFusion's SQL.

    Raises:
        UntranslatableError: for a type without a name that means the same.
    """
    if isinstance(data_type, DecimalType):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if isinstance(data_type, AtomicType) and data_type.name in _SQL_TYPES:
        return _SQL_TYPES[data_type.name]
    raise UntranslatableError(f"expression cast to {type_word(data_type)}")


def is_safe_cast(given: DataType, wanted: DataType) -> bool:
    """Return whether a cast means the same in both systems, overflow included (both fail)."""
    if given in (wanted, VOID):
        return True
    if is_integer(given):
        return is_integer(wanted) or wanted == STRING or _holds_integer(wanted, given)
    if isinstance(given, DecimalType) and isinstance(wanted, DecimalType):
        return wanted.scale >= given.scale and wanted.precision - wanted.scale >= given.precision - given.scale
    return given == AtomicType(AtomicName.FLOAT) and wanted == DOUBLE


def _holds_integer(wanted: DataType, given: DataType) -> bool:
    bits = width(given)
    if isinstance(wanted, DecimalType):
        return wanted.precision - wanted.scale >= _DIGITS[bits]
    return wanted == DOUBLE and bits < BITS[AtomicName.BIGINT]


def cast_value(translated: Translated, wanted: DataType) -> Translated:
    """Cast, if both systems have the same values and the same failures.

    Raises:
        UntranslatableError: for any other pair of types.
    """
    if translated.type == wanted:
        return translated
    if translated.type == VOID:
        if wanted in (TIMESTAMP, TIMESTAMP_NTZ):
            return Translated(f"arrow_cast(NULL, {arrow_time(wanted)})", wanted)
        if not isinstance(wanted, AtomicType | DecimalType) or wanted == BINARY:
            return Translated("NULL", wanted)
        return Translated(f"CAST(NULL AS {sql_type(wanted)})", wanted)
    if not is_safe_cast(translated.type, wanted):
        raise UntranslatableError(f"expression cast from {type_word(translated.type)} to {type_word(wanted)}")
    return Translated(f"CAST({translated.sql} AS {sql_type(wanted)})", wanted)


def one_type(values: Sequence[Translated]) -> DataType:
    """Return the common type of several values.

    Raises:
        UntranslatableError: if they would have to be cast.
    """
    given = [value.type for value in values if value.type != VOID]
    if not given:
        return VOID
    if all(is_integer(data_type) for data_type in given):
        return max(given, key=width)
    if any(data_type != given[0] for data_type in given):
        raise UntranslatableError("expression with branches of several types")
    return given[0]


def are_comparable(left: DataType, right: DataType) -> bool:
    """Return whether both systems compare values of two types alike."""
    if left == right or (is_integer(left) and is_integer(right)) or (is_float(left) and is_float(right)):
        return True
    sizes = [_decimal_size(data_type) for data_type in (left, right)]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and sum(max(parts) for parts in zip(*known, strict=True)) <= _MOST_DIGITS


def _decimal_size(data_type: DataType) -> tuple[int, int] | None:
    if isinstance(data_type, DecimalType):
        return data_type.precision - data_type.scale, data_type.scale
    if isinstance(data_type, AtomicType) and data_type.name in BITS:
        return 20, 0
    return None


def is_integer(data_type: DataType) -> bool:
    """Return whether a type is any of the four whole-number types."""
    return isinstance(data_type, AtomicType) and data_type.name in BITS


def width(data_type: DataType) -> int:
    """Return the bits of a whole-number type, 0 for any other."""
    return BITS.get(data_type.name, 0) if isinstance(data_type, AtomicType) else 0


def is_float(data_type: DataType) -> bool:
    """Return whether a type is FLOAT or DOUBLE."""
    return isinstance(data_type, AtomicType) and data_type.name in _FLOATS


def arrow_time(wanted: DataType) -> str:
    """Name TIMESTAMP or TIMESTAMP_NTZ as ``arrow_cast`` wants it."""
    zone = 'Some("UTC")' if wanted == TIMESTAMP else "None"
    return f"'Timestamp(Microsecond, {zone})'"
