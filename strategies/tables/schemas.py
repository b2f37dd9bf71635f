"""The columns of both tables, drawn together: which source column feeds which target column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DecimalType,
)
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import DEFAULT_PROFILE, Feature, Profile, draw_features, uses
from mergecheck.strategies.statements.source_queries import draw_self_filter
from mergecheck.strategies.syntax.columns import Column, Domain, Schemas
from mergecheck.strategies.tables.constraints import constrained
from mergecheck.strategies.tables.names import draw_names
from mergecheck.strategies.tables.nested import STRUCTS, TYPES
from mergecheck.strategies.tables.source_columns import WIDTHS, draw_source_columns

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.syntax.columns import Check

_SCALARS: tuple[DataType, ...] = (
    BOOLEAN,
    TINYINT,
    SMALLINT,
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    DecimalType(10, 2),
    DecimalType(38, 18),
    DecimalType(38, 0),
    DecimalType(5, 5),
    STRING,
    BINARY,
    DATE,
    TIMESTAMP,
)
_TYPED_KEYS: tuple[DataType, ...] = (STRING, DATE, DecimalType(10, 2), TIMESTAMP, TINYINT, SMALLINT, BINARY)
_PARTITION_TYPES: tuple[DataType, ...] = (
    STRING,
    INT,
    DATE,
    STRING,
    BOOLEAN,
    BIGINT,
    DecimalType(10, 2),
    TIMESTAMP,
)
_PARTITIONABLE = frozenset({*_PARTITION_TYPES, TINYINT, SMALLINT})


def draw_schemas(draw: DrawFn, features: frozenset[Feature]) -> Schemas:
    """Draw the columns of both tables within the features."""
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
    columns, checks = constrained(draw, features, columns, key_names=key_names)
    ordered = _ordered(draw, columns, features)
    if Feature.SELF_MERGE in features:
        pairs = tuple((column.name, column.name) for column in ordered)
        return Schemas(
            target=ordered,
            source=ordered,
            keys=tuple((name, name) for name in key_names),
            namesakes=pairs,
            partition_by=partition_by,
            self_merge=True,
            checks=checks,
            evolves=Feature.SCHEMA_EVOLUTION in features,
            case_sensitive=Feature.CASE_SENSITIVE in features,
            self_filter=draw_self_filter(draw, features, columns[0]),
        )
    return _with_source(draw, features, ordered, key_names=key_names, partition_by=partition_by, checks=checks)


def _key_type(draw: DrawFn, features: frozenset[Feature]) -> DataType:
    options: list[DataType] = [INT, BIGINT]
    if Feature.TYPED_KEYS in features:
        options += _TYPED_KEYS
        if Feature.TIMESTAMP_NTZ in features:
            options.append(TIMESTAMP_NTZ)
    if Feature.FLOAT_KEYS in features:
        options += [DOUBLE, FLOAT] * (1 + len(options) // 3)
    return pick(draw, options)


def _payload_columns(draw: DrawFn, features: frozenset[Feature]) -> tuple[Column, ...]:
    columns = [Column(name="v", type=_number_type(draw, features))]
    if chance(draw, 50):
        columns.append(Column(name="w", type=pick(draw, (STRING, INT, BIGINT))))
    if uses(draw, features, Feature.WIDE_TYPES):
        columns.append(Column(name="x", type=_wide_type(draw, features), domain=Domain.WIDE))
        if chance(draw, 50):
            columns.append(Column(name="y", type=_wide_type(draw, features), domain=Domain.WIDE))
    if uses(draw, features, Feature.LONG_TEXTS):
        columns.append(Column(name="z", type=STRING, domain=Domain.LONG))
    if uses(draw, features, Feature.NESTED_TYPES):
        columns.append(
            Column(
                name="n",
                type=pick(draw, STRUCTS if Feature.NESTED_UPDATE in features else (*TYPES, *STRUCTS)),
                domain=Domain.WIDE,
            )
        )
    return tuple(columns)


def _number_type(draw: DrawFn, features: frozenset[Feature]) -> DataType:
    options: tuple[DataType, ...] = (INT, BIGINT)
    return pick(draw, (*options, *WIDTHS) if Feature.INTEGER_WIDTHS in features else options)


def _wide_type(draw: DrawFn, features: frozenset[Feature]) -> DataType:
    ntz: tuple[DataType, ...] = (TIMESTAMP_NTZ,) * 4 if Feature.TIMESTAMP_NTZ in features else ()
    return pick(draw, (*_SCALARS, *ntz))


def _partition_columns(draw: DrawFn, features: frozenset[Feature]) -> tuple[Column, ...]:
    if not uses(draw, features, Feature.PARTITIONS):
        return ()
    names = pick(draw, (("p",), ("p",), ("p", "q")))
    return tuple(Column(name=name, type=pick(draw, _PARTITION_TYPES)) for name in names)


def _partition_names(
    draw: DrawFn, columns: tuple[Column, ...], num_dedicated: int, features: frozenset[Feature]
) -> tuple[str, ...]:
    dedicated = tuple(column.name for column in columns[len(columns) - num_dedicated :])
    # another order of partitioning than of the schema is a known source of bugs
    if len(dedicated) > 1 and chance(draw, 50):
        return tuple(reversed(dedicated))
    if dedicated:
        return dedicated
    if not uses(draw, features, Feature.PARTITIONS, percent=50):
        return ()
    # a key or a payload column; there are two columns at least, so one is left to be data
    ordinary = [column.name for column in columns if column.type in _PARTITIONABLE and column.domain is Domain.SMALL]
    return (pick(draw, ordinary),) if ordinary else ()


def _ordered(draw: DrawFn, columns: tuple[Column, ...], features: frozenset[Feature]) -> tuple[Column, ...]:
    if Feature.COLUMN_ORDER not in features:
        return columns
    return tuple(draw(st.permutations(columns)))


def _with_source(
    draw: DrawFn,
    features: frozenset[Feature],
    target: tuple[Column, ...],
    *,
    key_names: tuple[str, ...],
    partition_by: tuple[str, ...],
    checks: tuple[Check, ...],
) -> Schemas:
    namesakes, extra = draw_source_columns(draw, features, target, key_names=key_names, partition_by=partition_by)
    return Schemas(
        target=target,
        source=_ordered(draw, (*namesakes.values(), *extra), features),
        keys=tuple((name, namesakes[name].name) for name in key_names),
        namesakes=tuple((name, column.name) for name, column in namesakes.items()),
        partition_by=partition_by,
        checks=checks,
        evolves=Feature.SCHEMA_EVOLUTION in features,
        case_sensitive=Feature.CASE_SENSITIVE in features,
    )


@st.composite
def schemas(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> Schemas:
    """Draw the columns of a target and a source that a merge can bring together."""
    return draw_schemas(draw, draw_features(draw, profile))
