"""Which variants a case runs under: by the number of the case, so that a run covers all places and most pairs."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.transformations.domains import is_repeatable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.variants.variant import EngineAxes, Variant
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

NUM_SINGLE, NUM_MIXED = 4, 4
"""How many variants of one value, and how many of several, a case gets."""

_FEWEST, _MOST = 3, 6


def selected(index: int, case: Case, facts: Facts, axes: EngineAxes) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
    """Choose variants for a case of a stream.

    Variants of one value cycle through all values from case to case; those with several are drawn by the case's number.

    Args:
        index: the number of the case; the same number and case give the same variants.
        case: the case.
        facts: the reference's facts about it.
        axes: of the engine.

    Returns:
        The variants whose domain contains the case, and the variants of one value passed over because theirs does not.
    """
    if not is_repeatable(case):
        return (), ()
    singles = axes.singles
    start = index * NUM_SINGLE % len(singles)
    chosen: list[Variant] = []
    outside: list[Variant] = []
    for variant in (*singles[start:], *singles[:start]):
        if len(chosen) == NUM_SINGLE:
            break
        (chosen if variant.holds(case, facts) else outside).append(variant)
    names = {variant.name for variant in chosen}
    for variant in itertools.islice(_mixed(index, case, facts, axes), NUM_MIXED):
        if variant.name not in names:
            names.add(variant.name)
            chosen.append(variant)
    return tuple(chosen), tuple(outside)


def every(case: Case, facts: Facts, axes: EngineAxes) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
    """Choose all variants of one value for a case, and as many of several as a case of a stream gets."""
    if not is_repeatable(case):
        return (), ()
    inside = tuple(variant for variant in axes.singles if variant.holds(case, facts))
    mixed = itertools.islice(_mixed(0, case, facts, axes), NUM_MIXED)
    return (*inside, *mixed), tuple(variant for variant in axes.singles if variant not in inside)


def pairs_of(variants: Iterable[Variant]) -> frozenset[tuple[str, str]]:
    """Return the pairs of values on two axes that some variants try together."""
    return frozenset((str(left), str(right)) for v in variants for left, right in itertools.combinations(v.values, 2))


def _mixed(index: int, case: Case, facts: Facts, axes: EngineAxes) -> Iterator[Variant]:
    random = Random(f"variants/{index}")  # noqa: S311 - a choice of tests, no secret
    inside = [value for value, single in zip(axes.values, axes.singles, strict=True) if single.holds(case, facts)]
    names = sorted({value.axis for value in inside})
    if len(names) < _FEWEST:
        return
    while True:
        # every axis is as likely as any other, however many values it has
        wanted = random.sample(names, min(len(names), random.randint(_FEWEST, _MOST)))
        drawn = [random.choice([value for value in inside if value.axis == name]) for name in wanted]
        # a value's needs override the value drawn for the axis
        yield axes.variant_of(sorted(drawn, key=lambda value: not value.needs))
