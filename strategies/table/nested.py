"""Structs, arrays and maps: the source's variants of a type, the fields below a column, nested paths (R-212, R-242)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, DOUBLE, INT, STRING, ArrayType, Field, MapType, StructType
from mergecheck.strategies.choices import chance, draw_some, or_null
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.expressions import FieldAccess
from mergecheck.strategies.table.casts import castable, origins_of
from mergecheck.strategies.table.values import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.syntax.expressions import Reference

_MAX_ELEMENTS = 2
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

_NEW_FIELDS = st.sampled_from((Field("z", INT), Field("z", _PAIR), Field("z", STRING), Field("z", ArrayType(INT))))


@st.composite
def variants(draw: DrawFn, data_type: DataType, features: frozenset[Feature]) -> DataType:
    """Types that the source may have for a type of the target; they shrink to the same type.

    Order, case and leaf types may differ (R-242, R-245); with schema evolution also the sets of fields (R-243).
    """
    match data_type:
        case StructType():
            return _struct_variant(draw, data_type, features)
        case ArrayType(element):
            return ArrayType(draw(variants(element, features)))
        case MapType(key, value):
            return MapType(draw(variants(key, features)), draw(variants(value, features)))
    origins = origins_of(data_type, features)
    if Feature.CASTS in features and origins and chance(draw, 25):
        return draw(st.sampled_from(origins))
    return data_type


def _struct_variant(draw: DrawFn, struct: StructType, features: frozenset[Feature]) -> StructType:
    evolves = Feature.SCHEMA_EVOLUTION in features
    fields = [
        Field(_cased(draw, field.name, features), draw(variants(field.type, features))) for field in struct.fields
    ]
    if evolves and len(fields) > 1 and chance(draw, 45):
        fields.remove(draw(st.sampled_from(fields)))
    if evolves and chance(draw, 45):
        fields.append(draw(_NEW_FIELDS))
    if chance(draw, 50):
        fields = draw(st.permutations(fields))
    return StructType(tuple(fields))


def _cased(draw: DrawFn, name: str, features: frozenset[Feature]) -> str:
    return name.swapcase() if Feature.OTHER_CASE in features and chance(draw, 20) else name


def feeding(origin: DataType, to: DataType, *, misfits: bool) -> SearchStrategy[Value]:
    """Return a strategy of values of ``origin``, not NULL, whose leaves survive the cast to ``to``.

    Nested types have the same shape. If ``misfits``, some leaves do not survive.
    """
    if origin == to:
        return values(origin)
    match origin, to:
        case StructType(fields), StructType(others):
            own = {field.name.lower(): field.type for field in others}
            parts = (feeding(field.type, own.get(field.name.lower(), field.type), misfits=misfits) for field in fields)
            return st.tuples(*map(or_null, parts))
        case ArrayType(element), ArrayType(other):
            return st.lists(or_null(feeding(element, other, misfits=misfits)), max_size=_MAX_ELEMENTS).map(tuple)
        case MapType(key, value), MapType(wanted, other):
            # different keys may become one
            keys, items = feeding(key, wanted, misfits=misfits), or_null(feeding(value, other, misfits=misfits))
            return st.dictionaries(keys, items, max_size=_MAX_ELEMENTS).map(lambda found: tuple(found.items()))
    return st.sampled_from(castable(origin, to, misfits=misfits))


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
    """Yield every field below a struct, at every depth, each before its own fields."""
    if isinstance(data_type, StructType):
        for position, field in enumerate(data_type.fields):
            access = FieldAccess(base, field.name, position)
            below = (*path, field.name)
            yield Leaf(below, field.type, access)
            yield from fields_below(access, field.type, below)


@st.composite
def field_paths(draw: DrawFn, struct: StructType) -> tuple[tuple[tuple[str, ...], DataType], ...]:
    """Paths of fields to assign, with their types; none is a prefix of another (R-210, R-215).

    They shrink to the first field alone.
    """
    found: list[tuple[tuple[str, ...], DataType]] = []
    for field in draw_some(draw, struct.fields):
        if isinstance(field.type, StructType) and chance(draw, 60):
            deeper = draw(field_paths(field.type))
            found += [((field.name, *path), data_type) for path, data_type in deeper]
        else:
            found.append(((field.name,), field.type))
    return tuple(found)


def comparable(data_type: DataType) -> bool:
    """Return whether ``=`` takes values of a type: it takes nothing with a map inside (R-807)."""
    if isinstance(data_type, StructType):
        return all(comparable(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return comparable(data_type.element)
    return not isinstance(data_type, MapType)


def cased_path(draw: DrawFn, path: tuple[str, ...], features: frozenset[Feature]) -> tuple[str, ...]:
    """Return a path, by a feature with some names in another case (R-120)."""
    return tuple(_cased(draw, name, features) for name in path)


def has_constants(data_type: DataType) -> bool:
    """Return whether every value of a type can be written as a constant: arrays and maps have no literals here."""
    if isinstance(data_type, StructType):
        return all(has_constants(field.type) for field in data_type.fields)
    return not isinstance(data_type, ArrayType | MapType)
