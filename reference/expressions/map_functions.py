"""Functions of maps, found by their names. Their entries keep the order in which they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BOOLEAN, ArrayType, Field, MapType, StructType, type_word
from mergecheck.model.types.typed import Typed, combine, duckdb_type, identifier
from mergecheck.reference.casts.cast_sql import fail, let
from mergecheck.reference.expressions.array_functions import is_plain
from mergecheck.reference.expressions.operands import bound, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from mergecheck.reference.expressions.operands import Call, Translate


def _map(node: exp.Expr, translate: Translate) -> tuple[Typed, MapType]:
    found = translate(node)
    if not isinstance(found.type, MapType):
        raise UnsupportedByReferenceError(f"a function of maps of {type_word(found.type)}")
    _check_key(found.type)
    return found, found.type


def _check_key(data_type: MapType) -> None:
    if not is_plain(data_type.key) or isinstance(data_type.key, ArrayType | StructType):
        raise UnsupportedByReferenceError("a key of a type that Spark compares in its own way")


def value_of_key(container: Typed, key: Typed) -> Typed:
    """Look up a key; NULL if the map does not have it.

    Raises:
        UnsupportedByReferenceError: for keys of another type than the map's, and types that are compared otherwise.
    """
    if not isinstance(container.type, MapType) or container.type.key != key.type:
        raise UnsupportedByReferenceError("a key of another type than the keys of the map")
    _check_key(container.type)
    return combine(f"({container.sql})[{key.sql}]", container.type.value, container, key)


def _keys(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    found, data_type = _map(operands[0], translate)
    return combine(f"map_keys({found.sql})", ArrayType(data_type.key), found)


def _values(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    found, data_type = _map(operands[0], translate)
    return combine(f"map_values({found.sql})", ArrayType(data_type.value), found)


def _entries(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    found, data_type = _map(operands[0], translate)
    entry = StructType((Field("key", data_type.key), Field("value", data_type.value)))
    return combine(f"CAST(map_entries({found.sql}) AS {duckdb_type(ArrayType(entry))})", ArrayType(entry), found)


def _has_key(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    found, data_type = _map(operands[0], translate)
    key = translate(operands[1])
    if key.type != data_type.key:
        raise UnsupportedByReferenceError("a key of another type than the keys of the map")
    null = f"({found.sql}) IS NULL OR ({key.sql}) IS NULL"
    sql = f"CASE WHEN {null} THEN NULL ELSE list_contains(map_keys({found.sql}), {key.sql}) END"
    return combine(sql, BOOLEAN, found, key)


def _made(keys: str, values: str, data_type: MapType, *operands: Typed) -> Typed:
    """Make a map of two lists; a NULL among the keys and a key twice are errors."""
    null = "len(list_filter(p.k, lambda y: y IS NULL)) > 0"
    twice = "len(list_distinct(p.k)) < len(p.k)"
    body = (
        f"CASE WHEN p.k IS NULL OR p.v IS NULL THEN NULL WHEN {null} THEN {fail('NULL_MAP_KEY')} "
        f"WHEN {twice} THEN {fail('DUPLICATED_MAP_KEY')} ELSE map(p.k, p.v) END"
    )
    sql = f"CAST({bound({'k': keys, 'v': values}, body)} AS {duckdb_type(data_type)})"
    return combine(sql, data_type, *operands, partial=True)


def _from_arrays(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    keys, values = (translate(one) for one in operands)
    if not isinstance(keys.type, ArrayType) or not isinstance(values.type, ArrayType):
        raise UnsupportedByReferenceError("map_from_arrays of anything but arrays")
    data_type = MapType(keys.type.element, values.type.element)
    _check_key(data_type)
    uneven = f"len({keys.sql}) <> len({values.sql})"
    checked = f"CASE WHEN {uneven} THEN {fail('UNSUPPORTED arrays of different lengths')} ELSE {keys.sql} END"
    return _made(checked, values.sql, data_type, keys, values)


def _from_entries(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    entries = translate(operands[0])
    entry = entries.type.element if isinstance(entries.type, ArrayType) else None
    if not isinstance(entry, StructType) or len(entry.fields) != 2:  # noqa: PLR2004 - key and value
        raise UnsupportedByReferenceError("map_from_entries of anything but entries")
    data_type = MapType(entry.fields[0].type, entry.fields[1].type)
    _check_key(data_type)
    keys, values = (f"list_transform(x, lambda y: (y).{identifier(field.name)})" for field in entry.fields)
    # an entry that is NULL makes the whole map NULL
    null = "x IS NULL OR len(list_filter(x, lambda y: y IS NULL)) > 0"
    made = _made(keys, values, data_type, entries)
    sql = let(entries.sql, f"CASE WHEN {null} THEN CAST(NULL AS {duckdb_type(data_type)}) ELSE {made.sql} END")
    return combine(sql, data_type, entries, partial=True)


def _concatenated(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1, 1_000)
    found = [_map(one, translate) for one in operands]
    data_type = found[0][1]
    if any(other != data_type for _, other in found):
        raise UnsupportedByReferenceError("map_concat of operands of different types")
    maps = [one for one, _ in found]
    keys, values = (f"list_concat({', '.join(f'{word}({one.sql})' for one in maps)})" for word in _LISTS)
    null = " OR ".join(f"({one.sql}) IS NULL" for one in maps)
    made = _made(keys, values, data_type, *maps)
    return combine(f"CASE WHEN {null} THEN NULL ELSE {made.sql} END", data_type, *maps, partial=True)


_LISTS = ("map_keys", "map_values")
MAP_CALLS: Final[dict[str, Call]] = {
    "map_concat": _concatenated,
    "map_contains_key": _has_key,
    "map_entries": _entries,
    "map_from_arrays": _from_arrays,
    "map_from_entries": _from_entries,
    "map_keys": _keys,
    "map_values": _values,
}
