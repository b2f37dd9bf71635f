"""The source's columns for a drawn target: of other types, names and order, missing and additional ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.choices import chance, draw_some
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax.columns import Column, Domain, fits
from mergecheck.strategies.table.casts import draw_origin, origin_allowed
from mergecheck.strategies.table.constraints import computed_in_source
from mergecheck.strategies.table.names import in_other_case
from mergecheck.strategies.table.nested import variants

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


WIDTHS = (t.TINYINT, t.SMALLINT, t.INT, t.BIGINT)
_EXTRA: tuple[t.DataType, ...] = (t.INT, t.STRING, t.BOOLEAN)
_EXTRA_NESTED: tuple[t.DataType, ...] = (
    t.StructType((t.Field("a", t.INT), t.Field("b", t.STRING))),
    t.ArrayType(t.StructType((t.Field("a", t.INT),))),
    t.MapType(t.STRING, t.INT),
)
_OTHER_DECIMALS: dict[t.DataType, tuple[t.DataType, ...]] = {
    t.DecimalType(10, 2): (t.DecimalType(9, 1), t.DecimalType(10, 4), t.DecimalType(8, 0), t.DecimalType(9, 2))
}
"""For a decimal type, others whose values it holds, perhaps rounded."""


def draw_source_columns(
    draw: DrawFn,
    features: frozenset[Feature],
    target: tuple[Column, ...],
    *,
    key_names: tuple[str, ...],
    partition_by: tuple[str, ...],
) -> tuple[dict[str, Column], tuple[Column, ...]]:
    """Draw the namesakes by target column name, and the columns that the target lacks."""
    missing = _missing_names(draw, features, target, key_names)
    fixed = {*key_names, *partition_by}
    namesakes = {
        column.name: _namesake(draw, column, features, fixed=column.name in fixed)
        for column in target
        if column.name not in missing
    }
    for column in target:
        found = namesakes.get(column.name)
        if found is not None and column.computed is not None:
            violated = Feature.VIOLATIONS in features and draw(st.booleans())
            computed = computed_in_source(column.computed, namesakes)
            if computed is None:
                # the source lacks a column that it is computed from: only the table can compute it
                del namesakes[column.name]
            else:
                namesakes[column.name] = replace(found, computed=computed, misfits=violated)
    return namesakes, _extra_columns(draw, features)


def _missing_names(
    draw: DrawFn, features: frozenset[Feature], target: tuple[Column, ...], key_names: tuple[str, ...]
) -> tuple[str, ...]:
    evolves = Feature.SCHEMA_EVOLUTION in features
    if Feature.STAR in features and not evolves:
        return ()
    # a generated column is mostly left to the table
    generated = tuple(column.name for column in target if column.computed is not None and chance(draw, 75))
    if Feature.MISSING_SOURCE_COLUMNS not in features:
        return generated
    # a star inserts NULL for a missing column
    free = [column.name for column in target if column.name not in key_names and not column.required]
    return (*generated, *draw_some(draw, free)) if free else generated


def _namesake(draw: DrawFn, column: Column, features: frozenset[Feature], *, fixed: bool) -> Column:
    # a star finds columns by name; with evolution it inserts NULL for those that it does not find
    star_needs_names = Feature.STAR in features and (Feature.SCHEMA_EVOLUTION not in features or column.required)
    renamed = Feature.RENAMED_SOURCE_COLUMNS in features and not star_needs_names and chance(draw, 60)
    # no plain or awkward name starts like this
    name = f"src_{column.name}" if renamed else in_other_case(draw, column.name, features)
    if Feature.CASE_SENSITIVE in features and name.isascii() and chance(draw, 0 if fixed else 22):
        # this session takes it for another column, which evolution cannot add beside the target's
        name = name.swapcase()
    violated = Feature.VIOLATIONS in features and column.required and chance(draw, 85)
    plain = Column(
        name=name, type=column.type, domain=column.domain, required=column.required and not violated, misfits=violated
    )
    if column.nested:
        # evolution adds fields to columns of one name only: others must have the target's fields
        variant = draw(variants(column.type, features - {Feature.SCHEMA_EVOLUTION} if renamed else features))
        return plain if variant == column.type else replace(plain, type=variant, feeds=column.type)
    if Feature.CASTS in features and not fixed and not column.bounded and column.computed is None:
        if chance(draw, 55):
            return draw_origin(draw, plain, features)
        return plain
    if fixed and Feature.TYPED_KEYS in features and column.type in _OTHER_DECIMALS and draw(st.booleans()):
        # decimals are compared by value
        others = [each for each in _OTHER_DECIMALS[column.type] if origin_allowed(each, column.type, features)]
        return replace(plain, type=draw(st.sampled_from(others)), feeds=column.type)
    if Feature.INTEGER_WIDTHS not in features or not column.is_integer:
        return plain
    # small numbers fit into every type, others only into an equal or wider one
    narrower_only = column.domain is Domain.WIDE or Feature.STRICT_POLICY in features
    fitting = [width for width in WIDTHS if not narrower_only or fits(width, column.type)]
    return replace(plain, type=draw(st.sampled_from((column.type, *fitting))))


def _extra_columns(draw: DrawFn, features: frozenset[Feature]) -> tuple[Column, ...]:
    evolves = Feature.SCHEMA_EVOLUTION in features
    if not uses(draw, features, Feature.EXTRA_SOURCE_COLUMNS) and not (evolves and chance(draw, 60)):
        return ()
    options = (*_EXTRA, *_EXTRA_NESTED) if evolves else _EXTRA
    # evolution adds it to the target as nullable even so
    filled = chance(draw, 40)
    kind = draw(st.sampled_from(options))
    # a table with a change feed cannot have a column of the first name
    reserved = Feature.RESERVED_NAMES in features and evolves and draw(st.booleans())
    extra = Column(
        name="_commit_timestamp" if reserved else "extra",
        type=kind,
        domain=Domain.SMALL if kind in _EXTRA else Domain.WIDE,
        required=filled,
        not_null=filled,
    )
    return (extra, Column(name="more", type=t.BIGINT)) if chance(draw, 40) else (extra,)
