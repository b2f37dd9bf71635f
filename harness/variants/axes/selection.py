"""Which variants a case runs under: by the number of the case, so that a run covers all places and most pairs."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES
from mergecheck.harness.variants.axes.domains import is_repeatable
from mergecheck.harness.variants.axes.variant import Variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

NUM_SINGLE, NUM_MIXED = 4, 4
"""How many variants of one place, and how many of several, a case gets."""

_FEWEST, _MOST = 3, 6
SINGLES: tuple[Variant, ...] = tuple(variant_of([axis_value]) for axis_value in AXIS_VALUES)
"""One variant for each place, with the places that it needs."""


def selected(
    index: int, case: Case, facts: Facts, *, own: Collection[str] = ()
) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
    """Choose variants for a case of a stream.

    Variants of one place cycle through all places from case to case; those with several are drawn by the case's number.

    Args:
        index: the number of the case; the same number and case give the same variants.
        case: the case.
        facts: the reference's facts about it.
        own: the settings that the engine declares as its own; places that set others of the kind are left out.

    Returns:
        The variants whose domain contains the case, and the one-place variants passed over because theirs does not.
    """
    if not is_repeatable(case):
        return (), ()
    singles = _known(own)
    start = index * NUM_SINGLE
    chosen: list[Variant] = []
    outside: list[Variant] = []
    for variant in itertools.islice(
        itertools.cycle(singles), start % len(singles), start % len(singles) + len(singles)
    ):
        if len(chosen) == NUM_SINGLE:
            break
        (chosen if variant.holds(case, facts) else outside).append(variant)
    names = {variant.name for variant in chosen}
    for variant in itertools.islice(_mixed(index, case, facts, singles), NUM_MIXED):
        if variant.name not in names:
            names.add(variant.name)
            chosen.append(variant)
    return tuple(chosen), tuple(outside)


def every(case: Case, facts: Facts, *, own: Collection[str] = ()) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
    """Choose all variants of one place for a case, and as many of several as a case of a stream gets."""
    if not is_repeatable(case):
        return (), ()
    singles = _known(own)
    inside = tuple(variant for variant in singles if variant.holds(case, facts))
    mixed = itertools.islice(_mixed(0, case, facts, singles), NUM_MIXED)
    return (*inside, *mixed), tuple(variant for variant in singles if variant not in inside)


def _known(own: Collection[str]) -> tuple[Variant, ...]:
    """Leave out what sets a setting of this project's merge, for an engine that has no such setting."""
    return tuple(v for v in SINGLES if all(axis_value.own_settings.issubset(own) for axis_value in v.axis_values))


def pairs_of(variants: Iterable[Variant]) -> frozenset[tuple[str, str]]:
    """Return the pairs of places on two axes that some variants try together."""
    return frozenset(
        (str(left), str(right)) for v in variants for left, right in itertools.combinations(v.axis_values, 2)
    )


def _mixed(index: int, case: Case, facts: Facts, singles: Sequence[Variant]) -> Iterator[Variant]:
    random = Random(f"variants/{index}")  # noqa: S311 - a choice of tests, no secret
    every_value = zip(AXIS_VALUES, SINGLES, strict=True)
    inside = [axis_value for axis_value, single in every_value if single in singles and single.holds(case, facts)]
    if len({axis_value.axis for axis_value in inside}) < _FEWEST:
        return
    while True:
        # every axis is as likely as any other, however many places it has
        axes = sorted({axis_value.axis.value for axis_value in inside})
        wanted = random.sample(axes, min(len(axes), random.randint(_FEWEST, _MOST)))
        drawn = [random.choice([c for c in inside if c.axis.value == axis]) for axis in wanted]
        # a place's needs override the value drawn for the axis
        yield variant_of(sorted(drawn, key=lambda axis_value: not axis_value.needs))
