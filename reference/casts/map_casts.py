"""Maps whose keys are cast: keys that become equal or NULL (R-256)."""

from __future__ import annotations

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    has_type,
)
from mergecheck.model.types.typed import duckdb_type
from mergecheck.reference.casts.cast_sql import fail, let, unsupported
from mergecheck.reference.casts.conversions import is_up_cast

_FLOATING = (FLOAT, DOUBLE)


def rebuilt_map(entries: str, given: MapType, wanted: MapType) -> str:
    """Make a map of a list of entries ``{k, v}`` whose keys were cast; NULL stays NULL.

    Args:
        entries: DuckDB SQL of the list.
        given: the map's type before the cast.
        wanted: its type after it.

    Raises:
        UnsupportedByReferenceError: for keys with floating-point numbers inside, whose zeros and NaN were not compared.
    """
    checked = is_rebuilt_by_key(given, wanted)
    if wanted.key not in _FLOATING and any(has_type(wanted.key, floating) for floating in _FLOATING):
        raise UnsupportedByReferenceError("a map whose keys hold floating-point numbers, cast")
    keys = "list_transform(x, lambda p: p.k)"
    null = "len(list_filter(x, lambda p: p.k IS NULL)) > 0"
    twice = f"len(list_distinct({keys})) < len(list_filter(x, lambda p: p.k IS NOT NULL))"
    whens = [
        f"x IS NULL THEN CAST(NULL AS {duckdb_type(wanted)})",
        f"{null} AND {twice} THEN {unsupported('a map with a NULL key and a key twice')}",
        f"{null} THEN {fail('NULL_MAP_KEY') if checked else unsupported('a map with a NULL key')}",
        f"{twice} THEN {fail('DUPLICATED_MAP_KEY') if checked else unsupported('a map with a key twice')}",
    ]
    return let(entries, f"CASE {' '.join(f'WHEN {when}' for when in whens)} ELSE map_from_entries(x) END")


def is_rebuilt_by_key(given: MapType, wanted: MapType) -> bool:
    """Return whether Delta rebuilds a map key by key, which checks the keys, and does not cast it whole (R-256)."""
    return (_has_struct(given) and _has_struct(wanted)) or _forces_null(given.key, wanted.key)


def _has_struct(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType):
        return _has_struct(data_type.element)
    if isinstance(data_type, MapType):
        return _has_struct(data_type.key) or _has_struct(data_type.value)
    return isinstance(data_type, StructType)


def _forces_null(given: DataType, wanted: DataType) -> bool:
    """Return whether Spark's cast without ANSI may make NULL of a value, in Spark's opinion: ``Cast.forceNullable``."""
    if given in (wanted, VOID) or wanted == STRING:
        return False
    if given == STRING:
        return wanted != BINARY
    if DATE in (given, wanted):
        return TIMESTAMP not in (given, wanted)
    if isinstance(wanted, DecimalType):
        return not _always_fits(given, wanted)
    if wanted == TIMESTAMP:
        return given in _FLOATING
    if wanted in INTEGER_BITS:
        seconds = given == TIMESTAMP and wanted != BIGINT
        return seconds or given in _FLOATING or isinstance(given, DecimalType)
    return False


def _always_fits(given: DataType, wanted: DecimalType) -> bool:
    digits = wanted.precision - wanted.scale
    if given == BOOLEAN:
        return digits > 0
    if isinstance(given, DecimalType) and digits > given.precision - given.scale:
        return True
    return (given in INTEGER_BITS or isinstance(given, DecimalType)) and is_up_cast(given, wanted)
