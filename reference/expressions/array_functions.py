"""Array functions that compare elements: distinct, union, except, intersect, remove (R-246)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BOOLEAN, DOUBLE, FLOAT, VOID, ArrayType, MapType, StructType, type_word
from mergecheck.model.types.typed import ArrayCall, ArrayFunction, Typed, combine

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.data_types import DataType


def array_call(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a call of an array function; None for any other expression.

    Raises:
        UnsupportedByReferenceError: for operands of different types, and for elements that equality is intricate for.
    """
    if isinstance(node, exp.ArraySort):
        return sorted_array(node, translate(node.this))
    found = _function(node)
    if found is None:
        return None
    function, arguments = found
    operands = tuple(translate(argument) for argument in arguments)
    first = operands[0].type
    if not isinstance(first, ArrayType) or not is_plain(first.element):
        raise UnsupportedByReferenceError(f"{function.value} of {type_word(first)}")
    wanted = first.element if function is ArrayFunction.REMOVE else first
    if any(operand.type != wanted for operand in operands[1:]):
        raise UnsupportedByReferenceError(f"{function.value} of operands of different types")
    return evaluated(ArrayCall(function, operands))


def array_contains(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate ``array_contains``: NULL if the element is not found and might be one that is NULL."""
    if not isinstance(node, exp.ArrayContains):
        return None
    array, element = translate(node.this), translate(node.expression)
    if not isinstance(array.type, ArrayType) or not is_plain(array.type.element) or element.type != array.type.element:
        raise UnsupportedByReferenceError("array_contains of operands of different types")
    has_null = f"len(list_filter({array.sql}, lambda y: y IS NULL)) > 0"
    whens = (
        f"WHEN ({array.sql}) IS NULL OR ({element.sql}) IS NULL THEN NULL "
        f"WHEN list_contains({array.sql}, {element.sql}) THEN TRUE WHEN {has_null} THEN NULL"
    )
    return combine(f"CASE {whens} ELSE FALSE END", BOOLEAN, array, element)


def evaluated(call: ArrayCall) -> Typed:
    """Write the call of an array function in DuckDB SQL."""
    sql = _SQL[call.function](*(operand.sql for operand in call.operands))
    return replace(combine(sql, call.operands[0].type, *call.operands), call=call)


def sorted_array(node: exp.Expr, array: Typed) -> Typed:
    """Translate ``sort_array`` of an array: NULLs are the least.

    Raises:
        UnsupportedByReferenceError: for elements that the engines may order differently.
    """
    if not isinstance(array.type, ArrayType) or not is_plain(array.type.element):
        raise UnsupportedByReferenceError(f"sort_array of {type_word(array.type)}")
    if isinstance(array.type.element, ArrayType | StructType):
        raise UnsupportedByReferenceError("sort_array of nested values")
    ascending = node.args.get("asc")
    if node.expression or (ascending is not None and not isinstance(ascending, exp.Boolean)):
        raise UnsupportedByReferenceError("sort_array with a comparison of its own")
    words = "'ASC', 'NULLS FIRST'" if ascending is None or ascending.this else "'DESC', 'NULLS LAST'"
    return combine(f"list_sort({array.sql}, {words})", array.type, array)


def _function(node: exp.Expr) -> tuple[ArrayFunction, list[exp.Expr]] | None:
    if isinstance(node, exp.ArrayDistinct):
        return ArrayFunction.DISTINCT, [node.this]
    if isinstance(node, exp.ArrayExcept):
        return ArrayFunction.EXCEPT, [node.this, node.expression]
    if isinstance(node, exp.ArrayRemove):
        return ArrayFunction.REMOVE, [node.this, node.expression]
    if isinstance(node, exp.ArrayIntersect):
        return ArrayFunction.INTERSECT, list(node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.lower() == ArrayFunction.UNION.value:
        return ArrayFunction.UNION, list(node.expressions)
    return None


def is_plain(data_type: DataType) -> bool:
    """Return whether values of a type that look equal are equal: zeros and NaN are not, maps never."""
    if isinstance(data_type, StructType):
        return all(is_plain(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return is_plain(data_type.element)
    return not isinstance(data_type, MapType) and data_type not in (FLOAT, DOUBLE, VOID)


def _of(values: str, body: str) -> str:
    """Evaluate ``body`` with ``p.l`` and ``p.r`` bound to the operands; NULL if either is."""
    guarded = f"CASE WHEN p.l IS NULL OR p.r IS NULL THEN NULL ELSE {body} END"
    return f"(list_transform([struct_pack({values})], lambda p: {guarded})[1])"


def _first_of(array: str) -> str:
    """Keep the first of equal elements, NULL among them, in their order."""
    return f"list_filter({array}, lambda v, i: list_position({array}, v) = i)"


def _distinct(array: str) -> str:
    return _of(f"l := {array}, r := TRUE", _first_of("p.l"))


def _union(left: str, right: str) -> str:
    return _distinct(_of(f"l := {left}, r := {right}", "list_concat(p.l, p.r)"))


def _except(left: str, right: str) -> str:
    body = f"list_filter({_first_of('p.l')}, lambda w: COALESCE(list_position(p.r, w), 0) = 0)"
    return _of(f"l := {left}, r := {right}", body)


def _intersect(left: str, right: str) -> str:
    body = f"list_filter({_first_of('p.l')}, lambda w: COALESCE(list_position(p.r, w), 0) > 0)"
    return _of(f"l := {left}, r := {right}", body)


def _remove(array: str, element: str) -> str:
    return _of(f"l := {array}, r := {element}", "list_filter(p.l, lambda v: v IS DISTINCT FROM p.r)")


_SQL: dict[ArrayFunction, Callable[..., str]] = {
    ArrayFunction.DISTINCT: _distinct,
    ArrayFunction.UNION: _union,
    ArrayFunction.EXCEPT: _except,
    ArrayFunction.INTERSECT: _intersect,
    ArrayFunction.REMOVE: _remove,
}
