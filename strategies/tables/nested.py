"""Structs, arrays and maps: the source's variant of a type, the fields below a column, nested paths (R-212, R-242)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, DOUBLE, INT, STRING, ArrayType, Field, MapType, StructType
from mergecheck.strategies.choices.chance import chance, pick, pick_some
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.choices.options import one_of, or_null
from mergecheck.strategies.syntax.expressions import FieldAccess
from mergecheck.strategies.tables.casts import castable, origins_of
from mergecheck.strategies.tables.values import value_options, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.choices.options import Options
    from mergecheck.strategies.syntax.expressions import Reference

_SHUFFLED_PERCENT = 50
_OTHER_CASE_PERCENT = 20
_OTHER_LEAF_PERCENT = 25
_MISSING_FIELD_PERCENT = 45
_NEW_FIELD_PERCENT = 45
_DEEPER_PERCENT = 60
_MAX_ELEMENTS = 2
_HOLLOW_WEIGHT = 7
_PAIR = StructType((Field("a", INT), Field("b", STRING)))
TYPES: tuple[DataType, ...] = (
    _PAIR,
    ArrayType(INT),
    MapType(STRING, INT),
    ArrayType(STRING),
    StructType((Field("a", INT), Field("c", StructType((Field("x", BIGINT), Field("y", DOUBLE)))))),
    ArrayType(_PAIR),
    MapType(INT, ArrayType(STRING)),
    StructType((Field("b", StructType((Field("c", INT), Field("d", _PAIR)))), Field("e", ArrayType(INT)))),
    MapType(STRING, _PAIR),
)
STRUCTS = tuple(data_type for data_type in TYPES if isinstance(data_type, StructType))
"""The types whose fields can be assigned one by one (R-212)."""

_NEW_FIELDS = (Field("z", INT), Field("z", _PAIR), Field("z", STRING), Field("z", ArrayType(INT)))


def draw_variant(draw: DrawFn, data_type: DataType, features: frozenset[Feature]) -> DataType:
    """Draw the type that the source has for a nested target type; shrinks to the same type.

    Order, case and leaf types may differ (R-242, R-245); with schema evolution also the sets of fields (R-243).
    """
    if isinstance(data_type, StructType):
        return _struct(draw, data_type, features)
    if isinstance(data_type, ArrayType):
        return ArrayType(draw_variant(draw, data_type.element, features))
    if isinstance(data_type, MapType):
        # other key types could make two keys one
        return MapType(data_type.key, draw_variant(draw, data_type.value, features))
    origins = origins_of(data_type, features)
    if Feature.CASTS in features and origins and chance(draw, _OTHER_LEAF_PERCENT):
        return pick(draw, origins)
    return data_type


def _struct(draw: DrawFn, struct: StructType, features: frozenset[Feature]) -> StructType:
    evolves = Feature.SCHEMA_EVOLUTION in features
    fields = [
        Field(_cased(draw, field.name, features), draw_variant(draw, field.type, features)) for field in struct.fields
    ]
    if evolves and len(fields) > 1 and chance(draw, _MISSING_FIELD_PERCENT):
        fields.remove(pick(draw, fields))
    if evolves and chance(draw, _NEW_FIELD_PERCENT):
        fields.append(pick(draw, _NEW_FIELDS))
    if chance(draw, _SHUFFLED_PERCENT):
        fields = draw(st.permutations(fields))
    return StructType(tuple(fields))


def _cased(draw: DrawFn, name: str, features: frozenset[Feature]) -> str:
    return name.swapcase() if Feature.OTHER_CASE in features and chance(draw, _OTHER_CASE_PERCENT) else name


@cache
def feeding(origin: DataType, to: DataType, *, misfits: bool) -> Options:
    """Return what values of ``origin`` are drawn from whose leaves survive the cast to ``to``, NULL left out."""
    if origin == to:
        return value_options(origin)
    if isinstance(origin, StructType) and isinstance(to, StructType):
        own = {field.name.lower(): field.type for field in to.fields}
        parts = (
            feeding(field.type, own.get(field.name.lower(), field.type), misfits=misfits) for field in origin.fields
        )
        return (st.tuples(*(one_of(or_null(part)) for part in parts)),)
    if isinstance(origin, ArrayType) and isinstance(to, ArrayType):
        elements = one_of(or_null(feeding(origin.element, to.element, misfits=misfits)))
        return (st.lists(elements, max_size=_MAX_ELEMENTS).map(tuple),)
    if isinstance(origin, MapType) and isinstance(to, MapType):
        items = one_of(or_null(feeding(origin.value, to.value, misfits=misfits)))
        pairs = st.tuples(values(origin.key), items)
        return (st.lists(pairs, max_size=_MAX_ELEMENTS, unique_by=lambda entry: entry[0]).map(tuple),)
    return castable(origin, to, misfits=misfits)


def with_hollow_structs(num_fields: int, present: Options) -> Options:
    """Return options of which about one in eight is a struct of so many NULLs: it is not a NULL struct (R-806)."""
    several = present * -(-_HOLLOW_WEIGHT // len(present))
    return (*several, (None,) * num_fields)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field below a struct column: its path, its type, and how an expression reads it."""

    path: tuple[str, ...]
    type: DataType
    access: FieldAccess

    def value(self, cell: Value) -> Value:
        """Read the field of a cell; a NULL on the way is NULL."""
        for position in _positions(self.access):
            if cell is None:
                return None
            cell = cell[position]
        return cell


def _positions(access: FieldAccess) -> tuple[int, ...]:
    base = access.base
    return (*(_positions(base) if isinstance(base, FieldAccess) else ()), access.position)


def fields_below(base: Reference | FieldAccess, data_type: DataType, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield every field below a struct, at every depth, structs before their own fields."""
    if isinstance(data_type, StructType):
        for position, field in enumerate(data_type.fields):
            access = FieldAccess(base, field.name, position)
            below = (*path, field.name)
            yield Leaf(below, field.type, access)
            yield from fields_below(access, field.type, below)


def draw_paths(draw: DrawFn, struct: StructType) -> tuple[tuple[tuple[str, ...], DataType], ...]:
    """Draw paths of fields to assign with their types: none is a prefix of another (R-210, R-215)."""
    found: list[tuple[tuple[str, ...], DataType]] = []
    for field in pick_some(draw, struct.fields):
        if isinstance(field.type, StructType) and chance(draw, _DEEPER_PERCENT):
            deeper = draw_paths(draw, field.type)
            found += [((field.name, *path), data_type) for path, data_type in deeper]
        else:
            found.append(((field.name,), field.type))
    return tuple(found)


def comparable(data_type: DataType) -> bool:
    """Tell whether values of a type can stand on both sides of ``=``: nothing with a map inside can (R-807)."""
    if isinstance(data_type, StructType):
        return all(comparable(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return comparable(data_type.element)
    return not isinstance(data_type, MapType)


def cased_path(draw: DrawFn, path: tuple[str, ...], features: frozenset[Feature]) -> tuple[str, ...]:
    """Return a path, by flag with some names in another case (R-120)."""
    return tuple(_cased(draw, name, features) for name in path)


def has_constants(data_type: DataType) -> bool:
    """Tell whether every value of a type can be written down: arrays and maps have no literals here."""
    if isinstance(data_type, StructType):
        return all(has_constants(field.type) for field in data_type.fields)
    return not isinstance(data_type, ArrayType | MapType)
