"""Spark's literals in DuckDB: typed as Spark types them (R-255, harness/specification/text/spark-and-duckdb.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import CaseFormatError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    NestedType,
)
from mergecheck.model.types.typed import Typed, duckdb_type, string_literal
from mergecheck.model.values import decode, encode

if TYPE_CHECKING:
    from mergecheck.model.case import Value

_MAX_DIGITS = 38
_SPECIAL = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity", "-infinity": "-Infinity", "-inf": "-Infinity"}


def text_literal(text: str) -> str:
    """Write text, whatever characters it has; DuckDB literals cannot hold NUL."""
    if "\0" in text:
        return "(" + " || chr(0) || ".join(string_literal(part) for part in text.split("\0")) + ")"
    return string_literal(text)


def whole_number(node: exp.Expr | None) -> int | None:
    """Read a whole number that is written with or without a sign; None for anything else."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or literal.is_string or not str(literal.this).isdigit():
        return None
    return int(literal.this) * (1 if literal is node else -1)


def plain_text(node: exp.Expr | None) -> str | None:
    """Read a text that is written as a literal; None for anything else."""
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def integer_literal(value: int) -> Typed:
    """Type a whole number as Spark does: INT, else BIGINT, else DECIMAL(n,0)."""
    for data_type in (INT, BIGINT):
        if _fits(value, data_type):
            return Typed(sql=f"CAST({value} AS {duckdb_type(data_type)})", type=data_type)
    return decimal_literal(str(value))


def narrow_literal(value: int, target: DataType) -> Typed | None:
    """Translate ``CAST(number AS type)`` of a whole number that fits an integer type; None for others."""
    if target not in INTEGER_BITS or not _fits(value, target):
        return None
    return Typed(sql=f"CAST({value} AS {duckdb_type(target)})", type=target)


def _fits(value: int, target: DataType) -> bool:
    limit = 1 << (INTEGER_BITS[target] - 1)
    return -limit <= value < limit


def decimal_literal(text: str) -> Typed:
    """Type a number with a point, or a very long one: DECIMAL of just the digits written."""
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = len(whole.lstrip("0")) + len(fraction)
    if digits > _MAX_DIGITS:
        raise UnsupportedByReferenceError("a literal of more than 38 digits")
    data_type = DecimalType(max(digits, 1), len(fraction))
    return Typed(sql=f"CAST({string_literal(text)} AS {duckdb_type(data_type)})", type=data_type)


def cast_literal(text: str, target: DataType) -> Typed:
    """Translate ``CAST('text' AS type)``, which is also what ``DATE 'text'`` means.

    Only the canonical spelling of a value is read; Spark reads more.

    Raises:
        UnsupportedByReferenceError: for other spellings.
    """
    if target == STRING:
        return Typed(sql=text_literal(text), type=STRING)
    try:
        value = decode(_as_json(text, target), target, "literal")
    except (CaseFormatError, ValueError):
        raise UnsupportedByReferenceError(f"text literal cast to {target.ddl().split('(')[0]}") from None
    if target in (DATE, TIMESTAMP_NTZ, TIMESTAMP):
        plain = value.isoformat()
        return Typed(sql=f"CAST({string_literal(plain)} AS {duckdb_type(target)})", type=target)
    if target in INTEGER_BITS or target == BOOLEAN or isinstance(target, DecimalType):
        return Typed(sql=f"CAST({string_literal(str(value))} AS {duckdb_type(target)})", type=target)
    if target in (FLOAT, DOUBLE):
        spelled = encode(value, target)
        return Typed(sql=f"CAST({string_literal(str(spelled))} AS {duckdb_type(target)})", type=target)
    raise UnsupportedByReferenceError(f"text literal cast to {target.ddl().split('(')[0]}")


def value_literal(value: Value, data_type: DataType) -> str:
    """Write an atomic value of a case as DuckDB SQL.

    Raises:
        UnsupportedByReferenceError: for nested values.
    """
    if isinstance(data_type, NestedType):
        raise UnsupportedByReferenceError("a subquery that gives a nested value")
    if data_type == STRING:
        return text_literal(value)
    if data_type == BINARY:
        return f"unhex({string_literal(value.hex())})"
    text = value.isoformat() if data_type in (DATE, TIMESTAMP, TIMESTAMP_NTZ) else str(value)
    return f"CAST({string_literal(text)} AS {duckdb_type(data_type)})"


def _as_json(text: str, target: DataType) -> object:
    """Give the JSON form that the case file has for a value spelled as Spark text."""
    if target in INTEGER_BITS:
        return int(text)
    if target in (FLOAT, DOUBLE):
        return _SPECIAL.get(text.lower()) or ("-0.0" if text == "-0.0" else float(text))
    if target == BOOLEAN:
        return {"true": True, "false": False}.get(text.lower(), text)
    return text
