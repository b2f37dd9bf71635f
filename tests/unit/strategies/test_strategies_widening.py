"""Drawn merges of tables that widen their types: columns of the source are wider, and the schema evolves."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.types.data_types import DecimalType
from mergecheck.model.types.widening import was_widened
from mergecheck.strategies import DrawnCase, Feature, Profile, samples
from mergecheck.strategies.table_features.drawing import SESSION_EVOLUTION, TYPE_WIDENING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType

FAVOURED = (Feature.TYPE_WIDENING, Feature.WIDE_TYPES, Feature.NESTED_TYPES, Feature.SUBQUERY_SOURCE)
PROFILE = Profile(table_features=frozenset({Feature.TYPE_WIDENING})).favouring(*FAVOURED)


@pytest.fixture(scope="module")
def widening() -> tuple[DrawnCase, ...]:
    drawn = islice(samples(71, profile=PROFILE), 130)
    return tuple(each for each in drawn if each.case.target.properties.get(TYPE_WIDENING) == "true")


def test_most_of_them_evolve(widening: tuple[DrawnCase, ...]) -> None:
    """Without evolution no column is widened (R-237)."""
    assert len(widening) > 60
    assert sum(_evolves(each.case) for each in widening) > len(widening) / 2


def test_the_source_has_wider_columns_also_behind_a_query(widening: tuple[DrawnCase, ...]) -> None:
    """Columns of every sort that may be widened, elements of arrays and values of maps included."""
    wider = Counter(each.merge.query is not None for each in widening if any(_wider(each.case)))
    assert min(wider[False], wider[True]) > 5
    sorts = {type(old).__name__ for each in widening for old, _ in _wider(each.case)}
    assert {"DecimalType", "ArrayType", "MapType"} < sorts


def test_a_decimal_may_gain_digits_and_lose_some_behind_the_point(widening: tuple[DrawnCase, ...]) -> None:
    """That is no widening (R-237)."""
    assert any(
        old.scale > new.scale and old.precision < new.precision
        for each in widening
        for old, new in _namesakes(each.case)
        if isinstance(old, DecimalType) and isinstance(new, DecimalType)
    )


def _evolves(case: Case) -> bool:
    return "WITH SCHEMA EVOLUTION" in case.sql or case.conf.get(SESSION_EVOLUTION) == "true"


def _namesakes(case: Case) -> Iterator[tuple[DataType, DataType]]:
    """Give the types of columns of one name, of the target and of the source."""
    if case.source is not None:
        given = {column.name.lower(): column.type for column in case.source.schema.columns}
        for column in case.target.schema.columns:
            if column.name.lower() in given:
                yield column.type, given[column.name.lower()]


def _wider(case: Case) -> list[tuple[DataType, DataType]]:
    return [(old, new) for old, new in _namesakes(case) if was_widened(old, new)]
