"""What the cells of a column are drawn from, by what the column is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import STRING, StructType
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.choices.options import or_null
from mergecheck.strategies.syntax.columns import Column, Domain, Schemas
from mergecheck.strategies.tables.domains import FRESH, domain, small_values
from mergecheck.strategies.tables.nested import feeding, with_hollow_structs
from mergecheck.strategies.tables.values import LONG_TEXTS

if TYPE_CHECKING:
    from mergecheck.strategies.choices.options import Options

_VALUE_SPAN = 5
_PARTITION_SPAN = 3
_MANY_VALUES = 12


def cells_of(column: Column, features: frozenset[Feature], schemas: Schemas, span: int) -> Options:
    """Return what the cells of a column of ``schemas.target`` are drawn from; keys have ``span`` values."""
    keys = {name for name, _ in schemas.keys}
    is_key = column.name in keys
    nulls = Feature.NULL_KEYS if is_key else Feature.NULL_VALUES
    nullable = nulls in features and not column.required
    if column.computed is not None:
        # None is filled in later
        return (None, None, *domain(column.type)[-2:]) if column.misfits else (None,)
    if column.domain is Domain.LONG:
        return or_null(LONG_TEXTS) if nullable else LONG_TEXTS
    if column.domain is Domain.WIDE:
        present = feeding(column.type, column.feeds or column.type, misfits=column.misfits)
        if isinstance(column.type, StructType):
            present = with_hollow_structs(len(column.type.fields), present)
        return or_null(present) if nullable else present
    if column.name in schemas.partition_by:
        # the awkward texts of a domain stand behind its plain ones
        width = _MANY_VALUES if Feature.AWKWARD_PARTITIONS in features else _PARTITION_SPAN
        if Feature.AWKWARD_PARTITIONS in features and column.type == STRING and not column.required | is_key:
            # stored as NULL
            return (*domain(STRING)[:width], *("",) * 3, *(None,) * nullable)
        return small_values(column.type, span=width, null_weight=int(nullable))
    width = min(span, max(2, len(domain(column.type)) - FRESH)) if is_key else _VALUE_SPAN
    often = is_key and Feature.KEY_RANGES in features
    return small_values(column.type, span=width, null_weight=(max(1, width // 4) if often else 1) * nullable)
