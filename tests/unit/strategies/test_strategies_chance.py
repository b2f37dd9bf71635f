"""Many draws in one choice: how often each answer and each option comes, and what comes first."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

from mergecheck.reference.types.data_types import INT, STRING
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.choices import chances, chosen, throws
from mergecheck.strategies.choices.options import draw_options, or_null, with_further
from mergecheck.strategies.table.nested import with_hollow_structs
from mergecheck.strategies.table.values import value_options

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

FACES = range(256)
QUICK = settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def answering(*answers: object) -> Any:
    """Return a draw function whose next choices are these."""
    answer = iter(answers)
    return lambda _: next(answer)


@pytest.mark.parametrize(
    ("percent", "num_faces"), [(0, 0), (0.01, 1), (0.8, 2), (25, 64), (50, 128), (99.99, 255), (100, 256), (150, 256)]
)
def test_as_many_faces_say_yes_as_are_so_many_percent(percent: float, num_faces: int) -> None:
    """To the 256th below; what is possible comes, and the low numbers, to which choices shrink, say no."""
    answers = [chances(answering(bytes([face])), [percent]) == (True,) for face in FACES]
    assert sum(answers) == num_faces
    assert answers == sorted(answers)


def test_each_answer_has_a_number_of_its_own() -> None:
    """In the order of the percentages."""
    assert chances(answering(bytes([0, 255, 128, 127])), [50] * 4) == (False, True, True, False)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 24, 256])
def test_options_come_equally_often_and_in_order(size: int) -> None:
    """The low numbers are the first option; no option comes twice as often as another."""
    found = [chosen(range(size), face) for face in FACES]
    counts = Counter(found)
    assert found == sorted(found)
    assert counts.keys() == set(range(size))
    assert max(counts.values()) - min(counts.values()) <= 1


def test_numbers_of_one_choice_shrink_one_by_one() -> None:
    """What needs one of them large leaves the others at 0."""

    @st.composite
    def thrown(draw: DrawFn) -> bytes:
        return throws(draw, 5)

    assert find(thrown(), lambda faces: faces[3] >= 100, settings=QUICK) == bytes([0, 0, 0, 100, 0])


def test_nothing_is_drawn_for_nothing() -> None:
    """No columns but the key: no choice."""
    assert throws(answering(), 0) == b""


def test_disabling_a_feature_changes_no_other() -> None:
    """The same number then means the same other features."""
    without = Profile().without(Feature.STATEMENT_TIME)
    for one, other in islice(zip(samples(3), samples(3, profile=without), strict=True), 60):
        assert one.enabled - {Feature.STATEMENT_TIME} == other.enabled


@pytest.mark.parametrize("size", range(1, 20))
def test_one_option_in_five_is_null(size: int) -> None:
    """Roughly, for lists of any length, and never the first one."""
    options = or_null(tuple(range(size)))
    assert 0.16 <= options.count(None) / len(options) <= 0.25
    assert options[0] == 0
    assert set(options) == {*range(size), None}


def test_further_values_come_from_a_strategy() -> None:
    """One in three here; a listed value takes no choice of its own."""
    options = with_further((1, 2, 3, 4), st.just(5))
    found = Counter(draw_options(answering(5), [options], bytes([face])) for face in FACES)
    assert found.keys() == {(1,), (2,), (3,), (4,), (5,)}
    assert 80 <= found[(5,)] <= 90
    assert draw_options(answering(), [options, options], bytes([0, 100])) == (1, 3)


def test_a_struct_of_nulls_is_no_null_struct() -> None:
    """It comes now and then, also among options that hold NULL (R-806)."""
    drawn = or_null(with_hollow_structs(2, value_options(STRING)[:1]))
    assert {(None, None), None, "a"} == set(drawn)
    assert 0.08 <= drawn.count((None, None)) / len(drawn) <= 0.15


def test_listed_values_are_of_the_type() -> None:
    """Simple ones first, those at the ends of the type among them."""
    listed = [value for value in value_options(INT) if isinstance(value, int)]
    assert listed[:3] == [0, 1, -1]
    assert {2**31 - 1, -(2**31)} < set(listed)
