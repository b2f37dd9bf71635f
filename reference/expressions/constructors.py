"""Structs, arrays and maps written in a statement, and looking up a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    VOID,
    ArrayType,
    Field,
    MapType,
    StructType,
)
from mergecheck.model.types.typed import Typed, combine, identifier
from mergecheck.reference.casts.cast_sql import fail
from mergecheck.reference.expressions.array_items import element
from mergecheck.reference.expressions.functions import same_type
from mergecheck.reference.expressions.map_functions import value_of_key

if TYPE_CHECKING:
    from collections.abc import Callable

    _Translate = Callable[[exp.Expr], Typed]


def constructed(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a constructor or a lookup; None for any other expression.

    Raises:
        UnsupportedByReferenceError: for forms that were not compared between the engines.
    """
    form = _FORMS.get(type(node))
    return None if form is None else form(node, translate)


def _struct(node: exp.Expr, translate: _Translate) -> Typed:
    fields, operands = [], []
    for item in node.expressions:
        if not isinstance(item, exp.PropertyEQ) or not isinstance(item.this, exp.Identifier):
            raise UnsupportedByReferenceError("a struct without field names")
        operand = translate(item.expression)
        fields.append(Field(item.this.name, operand.type))
        operands.append(operand)
    packed = ", ".join(f"{identifier(f.name)} := {o.sql}" for f, o in zip(fields, operands, strict=True))
    return combine(f"struct_pack({packed})", StructType(tuple(fields)), *operands)


def _array(node: exp.Expr, translate: _Translate) -> Typed:
    operands = same_type([translate(item) for item in node.expressions])
    if not operands or operands[0].type == VOID:
        raise UnsupportedByReferenceError("an array without typed elements")
    listed = ", ".join(operand.sql for operand in operands)
    return combine(f"list_value({listed})", ArrayType(operands[0].type), *operands)


def _bracket(node: exp.Expr, translate: _Translate) -> Typed:
    """Look up a key, or take an element; a place outside of the array is an error."""
    container, (key_node, *more) = translate(node.this), node.expressions
    key = translate(key_node)
    if more:
        raise UnsupportedByReferenceError("an element of several keys")
    if isinstance(container.type, ArrayType):
        if key.type not in INTEGER_BITS or key.type == BIGINT:
            raise UnsupportedByReferenceError("an element at a place that is no INT")
        return element(container, key, outside=fail("INVALID_ARRAY_INDEX"), first=0)
    return value_of_key(container, key)


def _map(node: exp.Expr, translate: _Translate) -> Typed:
    keys, values = node.args["keys"].expressions, node.args["values"].expressions
    literals = [str(key.this) for key in keys if isinstance(key, exp.Literal)]
    if not keys or len(set(literals)) != len(keys):
        raise UnsupportedByReferenceError("a map whose keys are not distinct literals")
    given_keys = [translate(key) for key in keys]
    if len({key.type for key in given_keys}) > 1 or given_keys[0].type in (FLOAT, DOUBLE):
        raise UnsupportedByReferenceError("a map whose keys a cast may make equal")
    typed_keys = same_type(given_keys)
    typed_values = same_type([translate(value) for value in values])
    if typed_values[0].type == VOID:
        raise UnsupportedByReferenceError("a map without typed values")
    listed = ", ".join(f"{k.sql}: {v.sql}" for k, v in zip(typed_keys, typed_values, strict=True))
    data_type = MapType(typed_keys[0].type, typed_values[0].type)
    return combine(f"MAP {{{listed}}}", data_type, *typed_keys, *typed_values)


_FORMS: dict[type[exp.Expr], Callable[[exp.Expr, _Translate], Typed]] = {
    exp.Struct: _struct,
    exp.Array: _array,
    exp.VarMap: _map,
    exp.Bracket: _bracket,
}
