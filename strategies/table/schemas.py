"""The columns of both tables, drawn together: which source column feeds which target column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile, feature_sets, uses
from mergecheck.strategies.syntax.columns import Column, Domain, Schemas
from mergecheck.strategies.syntax.expressions import Comparison, Literal, MergeTable, Operator, Reference
from mergecheck.strategies.table.constraints import constrained
from mergecheck.strategies.table.names import draw_names
from mergecheck.strategies.table.nested import STRUCTS, TYPES
from mergecheck.strategies.table.source_columns import WIDTHS, draw_source_columns

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.expressions import Expression

_SCALARS: tuple[t.DataType, ...] = (
    *(t.BOOLEAN, t.TINYINT, t.SMALLINT, t.INT, t.BIGINT, t.FLOAT, t.DOUBLE),
    *(t.DecimalType(10, 2), t.DecimalType(38, 18), t.DecimalType(38, 0), t.DecimalType(5, 5)),
    *(t.STRING, t.BINARY, t.DATE, t.TIMESTAMP),
)
_TYPED_KEYS: tuple[t.DataType, ...] = (
    t.STRING,
    t.DATE,
    t.DecimalType(10, 2),
    t.TIMESTAMP,
    t.TINYINT,
    t.SMALLINT,
    t.BINARY,
)
_SECOND_TYPES = st.sampled_from((t.STRING, t.INT, t.BIGINT, t.DATE, t.TIMESTAMP))
_PARTITIONABLE = (
    t.STRING,
    t.INT,
    t.DATE,
    t.BOOLEAN,
    t.BIGINT,
    t.DecimalType(10, 2),
    t.TIMESTAMP,
    t.TINYINT,
    t.SMALLINT,
)
_PARTITION_NAMES = st.sampled_from((("p",), ("p",), ("p", "q")))
_PARTITION_TYPES = (
    *(t.STRING, t.INT, t.DATE, t.STRING, t.BOOLEAN, t.BIGINT),
    *(t.DecimalType(10, 2), t.TIMESTAMP),
)

_FLOATING_TYPES = (t.DOUBLE, t.FLOAT)


@st.composite
def schemas(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> Schemas:
    """Columns of a target and a source that a merge can bring together."""
    return draw_schemas(draw, draw(feature_sets(profile=profile)))


def draw_schemas(draw: DrawFn, features: frozenset[Feature]) -> Schemas:
    """Draw the columns of both tables; they shrink to two INT columns ``id`` and ``v`` in each table."""
    keys = [Column(name="id", type=_key_type(draw, features))]
    if uses(draw, features, Feature.SEVERAL_KEYS):
        keys.append(Column(name="k", type=_key_type(draw, features)))
    payload = _payload_columns(draw, features)
    dedicated = _partition_columns(draw, features)
    columns = (*keys, *payload, *dedicated)
    names = draw_names(draw, [column.name for column in columns], features)
    columns = tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True))
    partition_by = _partition_names(draw, columns, len(dedicated), features)
    key_names = names[: len(keys)]
    columns, checks = constrained(draw, features, columns, key_names=key_names, partition_by=partition_by)
    target = in_some_order(draw, columns, features)
    self_merge = Feature.SELF_MERGE in features
    if self_merge:
        source = target
        namesakes = {column.name: column for column in target}
    else:
        namesakes, extra = draw_source_columns(draw, features, target, key_names=key_names, partition_by=partition_by)
        source = in_some_order(draw, (*namesakes.values(), *extra), features)
    return Schemas(
        target=target,
        source=source,
        keys=tuple((name, namesakes[name].name) for name in key_names),
        namesakes=tuple((name, column.name) for name, column in namesakes.items()),
        partition_by=partition_by,
        self_merge=self_merge,
        checks=checks,
        evolves=Feature.SCHEMA_EVOLUTION in features,
        case_sensitive=Feature.CASE_SENSITIVE in features,
        self_filter=_self_filter(draw, features, columns[0]) if self_merge else None,
    )


def _self_filter(draw: DrawFn, features: frozenset[Feature], key: Column) -> Expression | None:
    """Draw which of its own rows a target is merged with; None for all of them."""
    if not uses(draw, features, Feature.SUBQUERY_SOURCE, percent=60) or not key.summable:
        return None
    return Comparison(
        Operator.GREATER,
        Reference(side=MergeTable.SOURCE, name=key.name, qualified=False),
        Literal(draw(st.sampled_from((0, 1, 2))), key.type),
    )


def _key_type(draw: DrawFn, features: frozenset[Feature]) -> t.DataType:
    options: list[t.DataType] = [t.INT, t.BIGINT]
    if Feature.TYPED_KEYS in features:
        options += _permitted(_TYPED_KEYS, features)
        if Feature.TIMESTAMP_NTZ in features:
            options.append(t.TIMESTAMP_NTZ)
    if Feature.FLOAT_KEYS in features:
        options += [t.DOUBLE, t.FLOAT] * (1 + len(options) // 3)
    return draw(st.sampled_from(options))


def _permitted(types: tuple[t.DataType, ...], features: frozenset[Feature]) -> tuple[t.DataType, ...]:
    """Leave out TINYINT and SMALLINT for an engine that lacks them."""
    if Feature.NARROW_INTEGERS in features:
        return types
    return tuple(each for each in types if each not in (t.TINYINT, t.SMALLINT))


def _of_partitions(types: tuple[t.DataType, ...], features: frozenset[Feature]) -> tuple[t.DataType, ...]:
    """Leave out texts for an engine that cannot partition by them."""
    return types if Feature.TEXT_PARTITIONS in features else tuple(each for each in types if each != t.STRING)


def _payload_columns(draw: DrawFn, features: frozenset[Feature]) -> tuple[Column, ...]:
    numbers = (t.INT, t.BIGINT, *WIDTHS) if Feature.INTEGER_WIDTHS in features else (t.INT, t.BIGINT)
    columns = [Column(name="v", type=draw(st.sampled_from(_permitted(numbers, features))))]
    if draw(st.booleans()):
        columns.append(Column(name="w", type=draw(_SECOND_TYPES)))
    if uses(draw, features, Feature.WIDE_TYPES):
        scalars = (*_SCALARS, *[t.TIMESTAMP_NTZ] * 4) if Feature.TIMESTAMP_NTZ in features else _SCALARS
        types = st.sampled_from(_permitted(scalars, features))
        columns.append(Column(name="x", type=draw(types), domain=Domain.WIDE))
        if draw(st.booleans()):
            columns.append(Column(name="y", type=draw(types), domain=Domain.WIDE))
    if uses(draw, features, Feature.LONG_TEXTS):
        columns.append(Column(name="z", type=t.STRING, domain=Domain.LONG))
    if uses(draw, features, Feature.NESTED_TYPES):
        types = st.sampled_from(STRUCTS if Feature.NESTED_UPDATE in features else (*TYPES, *STRUCTS))
        columns.append(Column(name="n", type=draw(types), domain=Domain.WIDE))
        if chance(draw, 30):
            columns.append(Column(name="m", type=draw(st.sampled_from((*TYPES, *STRUCTS))), domain=Domain.WIDE))
    return tuple(columns)


def _partition_columns(draw: DrawFn, features: frozenset[Feature]) -> tuple[Column, ...]:
    if not uses(draw, features, Feature.PARTITIONS):
        return ()
    names = draw(_PARTITION_NAMES)
    # 0.0 and -0.0 are two partition values
    floating = {Feature.FLOAT_KEYS, Feature.AWKWARD_PARTITIONS} <= features
    types = st.sampled_from(_FLOATING_TYPES if floating else _of_partitions(_PARTITION_TYPES, features))
    if Feature.PARTITIONED_BY_TEXT in features:
        return tuple(Column(name=name, type=draw(types) if place else t.STRING) for place, name in enumerate(names))
    return tuple(Column(name=name, type=draw(types)) for name in names)


def _partition_names(
    draw: DrawFn, columns: tuple[Column, ...], num_dedicated: int, features: frozenset[Feature]
) -> tuple[str, ...]:
    dedicated = tuple(column.name for column in columns[len(columns) - num_dedicated :])
    # partitioning in another order than the schema's is a known source of bugs
    if len(dedicated) > 1 and draw(st.booleans()):
        return tuple(reversed(dedicated))
    if dedicated:
        return dedicated
    if not uses(draw, features, Feature.PARTITIONS, percent=50):
        return ()
    # a key or a payload column; a table has at least two columns, so another one stays a data column
    types = _of_partitions(_PARTITIONABLE, features)
    ordinary = [column.name for column in columns if column.type in types and column.domain is Domain.SMALL]
    return (draw(st.sampled_from(ordinary)),) if ordinary else ()


def in_some_order(draw: DrawFn, columns: tuple[Column, ...], features: frozenset[Feature]) -> tuple[Column, ...]:
    """Draw an order of columns, by a feature another than theirs."""
    if Feature.COLUMN_ORDER not in features:
        return columns
    return tuple(draw(st.permutations(columns)))
