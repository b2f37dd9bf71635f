"""The values that the cells of a column are drawn from, by the column's role, and the keys of source rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import STRING, StructType
from mergecheck.strategies.choices import or_null, weighted
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.table.domains import FRESH, domain, neighbour, small_values
from mergecheck.strategies.table.nested import feeding
from mergecheck.strategies.table.values import LONG_TEXTS

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Row, Value

_VALUE_SPAN = 5
_PARTITION_SPAN = 3
_MANY_VALUES = 12


def cells(
    column: Column, features: frozenset[Feature], *, is_key: bool, is_partition: bool, span: int
) -> SearchStrategy[Value]:
    """Return a strategy of the cells of a column; they shrink to the simplest value and not to NULL.

    A key has ``span`` different values.
    """
    nullable = (Feature.NULL_KEYS if is_key else Feature.NULL_VALUES) in features and not column.required
    if column.computed is not None:
        # None is filled in later
        return st.sampled_from((None, None, *domain(column.type)[-2:])) if column.misfits else st.none()
    if column.domain is not Domain.SMALL:
        present = st.sampled_from(LONG_TEXTS) if column.domain is Domain.LONG else _wide(column)
        return or_null(present) if nullable else present
    if is_partition:
        awkward = Feature.AWKWARD_PARTITIONS in features
        if awkward and column.type == STRING and not is_key and not column.required:
            # the empty text is stored as NULL
            return st.sampled_from((*domain(STRING)[:_MANY_VALUES], *("",) * 3, *(None,) * nullable))
        # the awkward texts of a domain are behind its plain ones
        return small_values(column.type, span=_MANY_VALUES if awkward else _PARTITION_SPAN, null_weight=int(nullable))
    width = min(span, max(2, len(domain(column.type)) - FRESH)) if is_key else _VALUE_SPAN
    null_weight = max(1, width // 4) if is_key and Feature.KEY_RANGES in features else 1
    if is_key and Feature.MANY_NULL_KEYS in features:
        null_weight = max(1, width // 2)
    return small_values(column.type, span=width, null_weight=null_weight * nullable)


def _wide(column: Column) -> SearchStrategy[Value]:
    present = feeding(column.type, column.feeds or column.type, misfits=column.misfits)
    if not isinstance(column.type, StructType):
        return present
    # a struct of NULLs is not a NULL struct
    return weighted((7, present), (1, st.just((None,) * len(column.type.fields))))


def source_keys(
    columns: tuple[Column, ...], features: frozenset[Feature], *, present: tuple[Row, ...], span: int
) -> SearchStrategy[Row]:
    """Return a strategy of the keys of source rows: keys of the target, near misses and others.

    They shrink to the first of the target's keys, ``present``. A key has ``span`` different values.
    """
    fresh = st.tuples(*(st.sampled_from(domain(column.type)[-FRESH:]) for column in columns))
    small = st.tuples(*(small_values(column.type, span=span) for column in columns))
    if not present:
        return weighted((9, fresh), (1, small))
    nulls = repeated = 0
    if Feature.NULL_KEYS in features:
        # NULL lies in no range
        nulls = 5 if features & {Feature.KEY_RANGES, Feature.MANY_NULL_KEYS} else 1
    if Feature.DUPLICATE_SOURCE_KEYS in features:
        repeated = 3
    return weighted(
        (5, st.sampled_from(present)),
        (1, _changed(present, columns)),
        (3, fresh),
        (1, small),
        (nulls, _changed(present)),
        (repeated, st.just(present[0])),
    )


@st.composite
def _changed(draw: DrawFn, present: tuple[Row, ...], columns: tuple[Column, ...] | None = None) -> Row:
    """Keys of the target, one value of each replaced by its neighbour in the domain; by NULL without columns."""
    key = list(draw(st.sampled_from(present)))
    place = draw(st.integers(0, len(key) - 1))
    if columns is None:
        key[place] = None
    else:
        key[place] = neighbour(key[place], columns[place].type, step=draw(st.sampled_from((1, -1))))
    return tuple(key)
