"""Weighted choices: how often each answer comes, the answer that it shrinks to, and which features go together."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

from mergecheck.model.types.data_types import INT, SMALLINT, STRING, TINYINT, Field, StructType
from mergecheck.strategies import ALWAYS_ON, Feature, Profile, Stream, feature_sets, samples
from mergecheck.strategies.choices import chance, draw_some, or_null, weighted
from mergecheck.strategies.features import CONFLICTS, NEEDS
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.table.cells import cells

QUICK = settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def answering(*answers: object) -> Any:
    """Return a draw function whose next draws are these."""
    answer = iter(answers)
    return lambda _: next(answer)


def drawn(strategy: st.SearchStrategy[Any], number: int = 600) -> Counter[Any]:
    stream = Stream(strategy)
    return Counter(stream.draw(1, index) for index in range(number))


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 0), (0.01, 1), (0.8, 1), (3.6, 4), (25, 25), (99.9, 100), (100, 100), (150, 100)]
)
def test_a_chance_is_as_good_as_its_percentage(percent: float, expected: int) -> None:
    """Rounded to whole percents; possible answers happen; the low numbers, to which draws shrink, are False."""
    answers = [chance(answering(number), percent) for number in range(100)]
    assert sum(answers) == expected
    assert answers == sorted(answers)


def test_some_options_are_never_none() -> None:
    """In their order, each by itself, and the first one if no other is drawn."""
    assert draw_some(answering(99, 0, 99), "abc") == ("a", "c")
    assert draw_some(answering(0, 0, 0), "abc") == ("a",)


def test_strategies_come_as_often_as_their_weights_say() -> None:
    """They shrink to the first one."""
    strategy = weighted((6, st.just("often")), (0, st.just("never")), (2, st.just("seldom")))
    counts = drawn(strategy)
    assert counts.keys() == {"often", "seldom"}
    assert 0.2 < counts["seldom"] / counts.total() < 0.3
    assert find(strategy, lambda _: True, settings=QUICK) == "often"


def test_one_value_in_five_is_null() -> None:
    """NULL shrinks to a value."""
    counts = drawn(or_null(st.just(1)))
    assert 0.16 < counts[None] / counts.total() < 0.25
    assert find(or_null(st.just(1)), lambda _: True, settings=QUICK) == 1


def test_a_struct_of_nulls_is_no_null_struct() -> None:
    """It comes now and then, beside NULL (R-806)."""
    column = Column(name="n", type=StructType((Field("a", INT), Field("b", INT))), domain=Domain.WIDE)
    counts = drawn(cells(column, frozenset({Feature.NULL_VALUES}), is_key=False, is_partition=False, span=4))
    assert 0.08 < counts[None, None] / counts.total() < 0.2
    assert counts[None] > 0


def test_disabling_a_feature_changes_no_other() -> None:
    """The same number then means the same other features."""
    without = Profile().without(Feature.STATEMENT_TIME)
    for one, other in islice(zip(samples(3), samples(3, profile=without), strict=True), 60):
        assert one.enabled - {Feature.STATEMENT_TIME} == other.enabled


def test_what_is_always_on_can_be_left_out() -> None:
    """For an engine without TINYINT and SMALLINT, or without partitions by texts; the source may have all types."""
    without = Profile().without(*ALWAYS_ON)
    for profile, expected in ((Profile(), {True}), (without, {False})):
        targets = [one.case.target for one in islice(samples(3, profile=profile), 400)]
        columns = [(column, target) for target in targets for column in target.schema.columns]
        narrow = {column.type in (TINYINT, SMALLINT) for column, _ in columns}
        texts = {column.type == STRING for column, target in columns if column.name in target.partition_by}
        assert narrow - {False} == texts - {False} == expected - {False}


def test_features_bring_what_they_need() -> None:
    """A feature without its needs leads to nothing; one that was turned off may come back for another feature."""
    stream = Stream(feature_sets())
    for features in (stream.draw(5, index) for index in range(300)):
        for feature, needed in NEEDS.items():
            # file pruning for long texts comes after file pruning's own needs
            if feature in features and not (feature is Feature.FILE_PRUNING and Feature.LONG_TEXTS in features):
                assert features.issuperset(needed)


def test_no_feature_is_in_conflict_with_what_it_needs() -> None:
    """The needs would bring back features that the conflicts turned off."""
    for feature, needed in NEEDS.items():
        assert not set(needed).intersection(CONFLICTS.get(feature, ()))
