"""Lengths of texts that were declared as CHAR or VARCHAR, in columns and inside of them (R-822)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.merge.syntax.dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pyspark.sql.types import StructType

DECLARED_TYPE: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata of a column whose type has such texts: the type as it was declared."""

AS_STORED: Final = "Set spark.sql.readSideCharPadding to false, so that the column is read as it is stored."
"""What to do about a CHAR column that would be read with spaces."""
_NESTED = (exp.DType.STRUCT, exp.DType.ARRAY, exp.DType.MAP)
_TEXTS = (exp.DType.CHAR, exp.DType.VARCHAR)


def length_condition(metadata: Mapping[str, Any] | None, value: str) -> str | None:
    """Write the condition on a column's value, as Spark SQL; None if it may have any length.

    Args:
        metadata: of the column.
        value: its value, as Spark SQL.

    Raises:
        ValueError: the declared type cannot be read.
    """
    declared = (metadata or {}).get(DECLARED_TYPE)
    if declared is None:
        return None
    conditions = list(_conditions(read_declared(declared), value, depth=0))
    return " AND ".join(conditions) or None


def read_declared(declared: str) -> exp.DataType:
    """Read a declared type.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        read = exp.DataType.build(declared, dialect="databricks")
    except SqlglotError as error:
        raise ValueError(f"the declared type {declared}") from error
    if not all(_is_whole(kind) for kind in read.find_all(exp.DataType)):
        raise ValueError(f"the declared type {declared}")
    return read


def _is_whole(kind: exp.DataType) -> bool:
    """Return whether a text has a length, and a nested type has something inside."""
    if kind.this in _TEXTS:
        return len(kind.expressions) == 1 and kind.expressions[0].name.isdigit()
    return kind.this not in _NESTED or bool(kind.expressions)


def char_length(metadata: Mapping[str, Any] | None) -> int | None:
    """Give the length of a column that was declared as CHAR; None for any other."""
    declared = (metadata or {}).get(DECLARED_TYPE)
    if declared is None or (kind := read_declared(declared)).this is not exp.DType.CHAR:
        return None
    return int(kind.expressions[0].name)


def padded_columns(schema: StructType, *, padding: bool) -> dict[int, int]:
    """Give the lengths of CHAR columns by position: Spark pads them where it reads them (R-822).

    Args:
        schema: the table's columns.
        padding: whether the session pads at all; if not, there are none.
    """
    lengths = (
        (position, char_length(field.metadata)) for position, field in enumerate(schema.fields if padding else ())
    )
    return {position: length for position, length in lengths if length is not None}


def has_char_inside(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether a column has a CHAR inside of it."""
    declared = (metadata or {}).get(DECLARED_TYPE)
    if declared is None:
        return False
    whole = read_declared(declared)
    return any(kind.this is exp.DType.CHAR for kind in whole.find_all(exp.DataType) if kind is not whole)


def _conditions(kind: exp.DataType, value: str, *, depth: int) -> Iterator[str]:
    if kind.this in _TEXTS:
        yield f"({value} IS NULL OR length({value}) <= {kind.expressions[0].name})"
    elif kind.this is exp.DType.STRUCT:
        for field in kind.expressions:
            yield from _conditions(field.args["kind"], f"{value}.{quote_name(field.name)}", depth=depth)
    elif kind.this is exp.DType.ARRAY:
        yield from _of_elements(kind.expressions[0], value, depth=depth)
    elif kind.this is exp.DType.MAP:
        for part, elements in zip(kind.expressions, (f"map_keys({value})", f"map_values({value})"), strict=True):
            yield from _of_elements(part, elements, depth=depth)


def _of_elements(kind: exp.DataType, elements: str, *, depth: int) -> Iterator[str]:
    element = f"element_{depth}"
    inside = " AND ".join(_conditions(kind, element, depth=depth + 1))
    if inside:
        yield f"({elements} IS NULL OR forall({elements}, {element} -> {inside}))"
