"""The functions whose meaning is one in Spark and DuckDB; every other function is unsupported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    VOID,
    ArrayType,
    MapType,
    NestedType,
    type_word,
)
from mergecheck.model.types.implicit_casts import common_type
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.arithmetic import absolute
from mergecheck.reference.expressions.char_padding import refuse_char
from mergecheck.reference.syntax.query_tree import described

if TYPE_CHECKING:
    from collections.abc import Callable

_ASCII = r"'[\x01-\x7f]*'"


def function(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    """Translate a call.

    Raises:
        UnsupportedByReferenceError: for functions and operands that were not compared between the engines.
    """
    known = _FUNCTIONS.get(type(node))
    if known is None:
        raise UnsupportedByReferenceError(described(node))
    call, names = known
    if any(value for name, value in node.args.items() if name not in names and name not in _HARMLESS):
        raise UnsupportedByReferenceError(f"{described(node)} with more than its usual operands")
    operands: list[Typed] = []
    for name in names:
        given = node.args.get(name)
        operands += [translate(item) for item in (given if isinstance(given, list) else [given]) if item is not None]
    return call(operands)


def same_type(operands: list[Typed]) -> list[Typed]:
    """Bring operands to the type in which Spark compares them.

    Raises:
        UnsupportedByReferenceError: if the reference does not know that type.
    """
    wanted = operands[0].type if operands else VOID
    for operand in operands[1:]:
        wanted = common_type(wanted, operand.type)
    return operands if wanted == VOID else [cast_value(operand, wanted) for operand in operands]


def concatenated(operands: list[Typed]) -> Typed:
    """Join texts; other atomic values are written as CAST to STRING writes them."""
    if any(isinstance(operand.type, NestedType) or operand.type in (VOID, BINARY) for operand in operands):
        raise UnsupportedByReferenceError("concat of anything but text")
    texts = [cast_value(operand, STRING) for operand in operands]
    return combine("(" + (" || ".join(f"({text.sql})" for text in texts) or "''") + ")", STRING, *texts)


def _extreme(word: str) -> Callable[[list[Typed]], Typed]:
    def call(operands: list[Typed]) -> Typed:
        operands = same_type(operands)
        data_type = operands[0].type
        if isinstance(data_type, NestedType) or data_type in (
            FLOAT,
            DOUBLE,
            VOID,
        ):  # of 0.0 and -0.0 either is greatest
            raise UnsupportedByReferenceError(f"{word} of {type_word(data_type)}")
        return combine(f"{word}({', '.join(operand.sql for operand in operands)})", data_type, *operands)

    return call


def _text(operands: list[Typed]) -> Typed:
    if operands[0].type != STRING:
        raise UnsupportedByReferenceError(f"a text function of {type_word(operands[0].type)}")
    return operands[0]


def _cased(word: str) -> Callable[[list[Typed]], Typed]:
    def call(operands: list[Typed]) -> Typed:
        text = _text(operands)
        plain = f"x IS NULL OR regexp_full_match(x, {_ASCII})"
        body = f"CASE WHEN {plain} THEN {word}(x) ELSE {unsupported('upper or lower case of other letters')} END"
        return combine(let(text.sql, body), STRING, text, partial=True)

    return call


def _length(operands: list[Typed]) -> Typed:
    text = _text(operands)
    return combine(f"CAST(length({text.sql}) AS INTEGER)", INT, text)


def _trim(operands: list[Typed]) -> Typed:
    text = _text(operands)
    return combine(f"trim({text.sql}, ' ')", STRING, text)


def _size(operands: list[Typed]) -> Typed:
    (operand,) = operands
    if isinstance(operand.type, ArrayType):
        return combine(f"CAST(len({operand.sql}) AS INTEGER)", INT, operand)
    if isinstance(operand.type, MapType):
        return combine(f"CAST(cardinality({operand.sql}) AS INTEGER)", INT, operand)
    raise UnsupportedByReferenceError(f"size of {type_word(operand.type)}")


def _is_nan(operands: list[Typed]) -> Typed:
    (operand,) = operands
    if operand.type not in (FLOAT, DOUBLE):
        raise UnsupportedByReferenceError(f"isnan of {type_word(operand.type)}")
    return combine(f"COALESCE(isnan({operand.sql}), FALSE)", BOOLEAN, operand)


def _null_if(operands: list[Typed]) -> Typed:
    first, second = operands
    refuse_char(operands, "nullif")
    if VOID in (first.type, second.type) or isinstance(first.type, NestedType):
        raise UnsupportedByReferenceError("nullif of an untyped NULL or a nested value")
    left, right = same_type(operands)
    return combine(f"CASE WHEN ({left.sql}) = ({right.sql}) THEN NULL ELSE {first.sql} END", first.type, left, right)


def _nvl2(operands: list[Typed]) -> Typed:
    tested, *results = operands
    left, right = same_type(results)
    sql = f"CASE WHEN ({tested.sql}) IS NOT NULL THEN {left.sql} ELSE {right.sql} END"
    return combine(sql, left.type, tested, left, right)


def _coalesce(operands: list[Typed]) -> Typed:
    operands = same_type(operands)
    return combine(f"COALESCE({', '.join(operand.sql for operand in operands)})", operands[0].type, *operands)


_HARMLESS = ("safe", "coalesce", "ignore_nulls")
_FUNCTIONS: dict[type[exp.Expr], tuple[Callable[[list[Typed]], Typed], tuple[str, ...]]] = {
    exp.Abs: (lambda operands: absolute(operands[0]), ("this",)),
    exp.ArraySize: (_size, ("this",)),
    exp.Coalesce: (_coalesce, ("this", "expressions")),
    exp.Concat: (concatenated, ("expressions",)),
    exp.DPipe: (concatenated, ("this", "expression")),
    exp.Greatest: (_extreme("greatest"), ("this", "expressions")),
    exp.IsNan: (_is_nan, ("this",)),
    exp.Least: (_extreme("least"), ("this", "expressions")),
    exp.Length: (_length, ("this",)),
    exp.Lower: (_cased("lower"), ("this",)),
    exp.Nullif: (_null_if, ("this", "expression")),
    exp.Nvl2: (_nvl2, ("this", "true", "false")),
    exp.Trim: (_trim, ("this",)),
    exp.Upper: (_cased("upper"), ("this",)),
}
