"""Functions of arrays, found by their names: elements by place, parts, order, joined texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BIGINT, BOOLEAN, INT, STRING, ArrayType, MapType, StructType, type_word
from mergecheck.model.types.typed import Typed, combine, duckdb_type
from mergecheck.reference.casts.cast_sql import fail, let, unsupported
from mergecheck.reference.expressions.array_functions import is_plain
from mergecheck.reference.expressions.literals import text_literal
from mergecheck.reference.expressions.map_functions import value_of_key
from mergecheck.reference.expressions.operands import bound, count, literal_number, literal_text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from mergecheck.reference.expressions.operands import Call, Translate

_MOST_ELEMENTS = 10_000


def _array(node: exp.Expr, translate: Translate) -> tuple[Typed, ArrayType]:
    array = translate(node)
    if not isinstance(array.type, ArrayType):
        raise UnsupportedByReferenceError(f"a function of arrays of {type_word(array.type)}")
    return array, array.type


def _sortable(node: exp.Expr, translate: Translate) -> tuple[Typed, ArrayType]:
    array, data_type = _array(node, translate)
    if not is_plain(data_type.element) or isinstance(data_type.element, ArrayType | StructType):
        raise UnsupportedByReferenceError("the order of elements of this type")
    return array, data_type


def element(array: Typed, index: Typed, *, outside: str, first: int) -> Typed:
    """Take an element of an array.

    Args:
        array: the array.
        index: its place, an INT.
        outside: DuckDB SQL of the result for a place outside of the array.
        first: the place of the first element; if it is 1, places below zero count from the end and 0 is an error.

    Raises:
        UnsupportedByReferenceError: for something that is no array.
    """
    if not isinstance(array.type, ArrayType):
        raise UnsupportedByReferenceError(f"an element of {type_word(array.type)}")
    if first:
        inside, place, zero = "abs(p.i) <= len(p.x)", "p.i", f"WHEN p.i = 0 THEN {fail('INVALID_INDEX_OF_ZERO')} "
    else:
        inside, place, zero = "p.i >= 0 AND p.i < len(p.x)", "p.i + 1", ""
    body = f"CASE WHEN p.x IS NULL OR p.i IS NULL THEN NULL {zero}WHEN {inside} THEN p.x[{place}] ELSE {outside} END"
    sql = bound({"x": array.sql, "i": f"CAST({index.sql} AS BIGINT)"}, body)
    return combine(sql, array.type.element, array, index, partial=bool(first) or outside != "NULL")


def _element_at(*, tries: bool) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 2)
        container = translate(operands[0])
        if isinstance(container.type, MapType):
            return value_of_key(container, translate(operands[1]))
        outside = "NULL" if tries else fail("INVALID_ARRAY_INDEX_IN_ELEMENT_AT")
        return element(container, whole(operands[1], translate), outside=outside, first=1)

    return call


def _got(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    array, _ = _array(operands[0], translate)
    return element(array, whole(operands[1], translate), outside="NULL", first=0)


def _sorted(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``array_sort``, which puts NULLs at the end."""
    count(operands, 1)
    array, data_type = _sortable(operands[0], translate)
    return combine(f"list_sort({array.sql}, 'ASC', 'NULLS LAST')", data_type, array)


def _joined(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2, 3)
    array, data_type = _array(operands[0], translate)
    if data_type.element != STRING:
        raise UnsupportedByReferenceError("array_join of anything but texts")
    kept = "list_filter(x, lambda y: y IS NOT NULL)"
    if len(operands) > 2:  # noqa: PLR2004 - the third one
        kept = f"list_transform(x, lambda y: COALESCE(y, {text_literal(literal_text(operands[2]))}))"
    joined = f"COALESCE(array_to_string({kept}, {text_literal(literal_text(operands[1]))}), '')"
    return combine(let(array.sql, f"CASE WHEN x IS NULL THEN NULL ELSE {joined} END"), STRING, array)


def _longer(word: str, *, is_first: bool) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 2)
        array, data_type = _array(operands[0], translate)
        item = translate(operands[1])
        if item.type != data_type.element:
            raise UnsupportedByReferenceError(f"{word} of operands of different types")
        items = f"[{item.sql}]"
        joined = f"list_concat({items}, {array.sql})" if is_first else f"list_concat({array.sql}, {items})"
        return combine(f"CASE WHEN ({array.sql}) IS NULL THEN NULL ELSE {joined} END", data_type, array, item)

    return call


def _extreme(word: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        array, data_type = _sortable(operands[0], translate)
        return combine(f"{word}({array.sql})", data_type.element, array)

    return call


def _position(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    array, data_type = _sortable(operands[0], translate)
    item = translate(operands[1])
    if item.type != data_type.element:
        raise UnsupportedByReferenceError("array_position of operands of different types")
    null = f"({array.sql}) IS NULL OR ({item.sql}) IS NULL"
    place = f"COALESCE(CAST(list_position({array.sql}, {item.sql}) AS BIGINT), 0)"
    return combine(f"CASE WHEN {null} THEN NULL ELSE {place} END", BIGINT, array, item)


def _sliced(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 3)
    array, data_type = _array(operands[0], translate)
    start, length = literal_number(operands[1]), literal_number(operands[2], 0)
    if start == 0:
        raise UnsupportedByReferenceError("slice from the place 0")
    empty = f"CAST([] AS {duckdb_type(data_type)})"
    first = str(start) if start > 0 else f"(len(x) - {-start} + 1)"
    kept = f"x[{first}:{first} + {length - 1}]" if length else empty
    body = f"CASE WHEN x IS NULL THEN NULL WHEN {first} < 1 THEN {empty} ELSE {kept} END"
    return combine(let(array.sql, body.replace("len(x)", "CAST(len(x) AS BIGINT)")), data_type, array)


def _reversed(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    array, data_type = _array(operands[0], translate)
    return combine(f"list_reverse({array.sql})", data_type, array)


def _flattened(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``flatten``, which is NULL if any of the arrays is."""
    count(operands, 1)
    array, data_type = _array(operands[0], translate)
    if not isinstance(data_type.element, ArrayType):
        raise UnsupportedByReferenceError("flatten of anything but arrays")
    null = "x IS NULL OR len(list_filter(x, lambda y: y IS NULL)) > 0"
    return combine(let(array.sql, f"CASE WHEN {null} THEN NULL ELSE flatten(x) END"), data_type.element, array)


def _compact(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    array, data_type = _array(operands[0], translate)
    return combine(f"list_filter({array.sql}, lambda y: y IS NOT NULL)", data_type, array)


def _repeated(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    item, times = translate(operands[0]), literal_number(operands[1], 0)
    if times > _MOST_ELEMENTS:
        raise UnsupportedByReferenceError("an array of very many elements")
    data_type = ArrayType(item.type)
    sql = f"CAST(list_transform(range({times}), lambda i: {item.sql}) AS {duckdb_type(data_type)})"
    return combine(sql, data_type, item)


def _sequence(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``sequence`` of whole numbers, up or down; with a step it must lead from one to the other."""
    count(operands, 2, 3)
    ends = [translate(one) for one in operands[:2]]
    step = literal_number(operands[2]) if len(operands) > 2 else None  # noqa: PLR2004 - the third one
    if any(end.type not in (INT, BIGINT) or end.type != ends[0].type for end in ends) or step == 0:
        raise UnsupportedByReferenceError("sequence of this kind")
    far = unsupported("a sequence of many numbers, or whose step leads away from its end")
    by = "CASE WHEN p.a <= p.b THEN 1 ELSE -1 END" if step is None else str(step)
    wrong = "FALSE" if step is None else f"(p.b - p.a) * ({step}) < 0"
    listed = f"list_transform(generate_series(p.a, p.b, {by}), lambda i: CAST(i AS {duckdb_type(ends[0].type)}))"
    body = (
        f"CASE WHEN p.a IS NULL OR p.b IS NULL THEN NULL "
        f"WHEN abs(CAST(p.b AS HUGEINT) - p.a) > {_MOST_ELEMENTS} OR {wrong} THEN {far} ELSE {listed} END"
    )
    values = {name: f"CAST({end.sql} AS BIGINT)" for name, end in zip("ab", ends, strict=True)}
    return combine(bound(values, body), ArrayType(ends[0].type), *ends, partial=True)


def _overlap(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``arrays_overlap``: NULL if no element is common and a NULL might be one."""
    count(operands, 2)
    (left, data_type), (right, other) = (_sortable(one, translate) for one in operands)
    if data_type != other:
        raise UnsupportedByReferenceError("arrays_overlap of operands of different types")
    common = "len(list_filter(p.a, lambda y: y IS NOT NULL AND list_contains(p.b, y))) > 0"
    unsure = " OR ".join(f"len(list_filter(p.{one}, lambda y: y IS NULL)) > 0" for one in "ab")
    body = (
        f"CASE WHEN p.a IS NULL OR p.b IS NULL THEN NULL WHEN {common} THEN TRUE "
        f"WHEN len(p.a) > 0 AND len(p.b) > 0 AND ({unsure}) THEN NULL ELSE FALSE END"
    )
    return combine(bound({"a": left.sql, "b": right.sql}, body), BOOLEAN, left, right)


ARRAY_CALLS: Final[dict[str, Call]] = {
    "array_append": _longer("array_append", is_first=False),
    "array_compact": _compact,
    "array_join": _joined,
    "array_max": _extreme("list_max"),
    "array_min": _extreme("list_min"),
    "array_position": _position,
    "array_prepend": _longer("array_prepend", is_first=True),
    "array_repeat": _repeated,
    "array_sort": _sorted,
    "arrays_overlap": _overlap,
    "element_at": _element_at(tries=False),
    "flatten": _flattened,
    "get": _got,
    "reverse": _reversed,
    "sequence": _sequence,
    "slice": _sliced,
    "try_element_at": _element_at(tries=True),
}
