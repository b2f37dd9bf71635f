"""Counts of pairs and triples of values over many cases."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from tools.nway.exclusions import Impossible

Values = tuple[str, ...]
"""Values of different dimensions, as ``dimension=value``, in the order of the dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """How often values of different dimensions occur together.

    Attributes:
        counts: of every combination, impossible ones included.
        impossible: the combinations that cannot be, with the number of the entry that has the reason.
    """

    counts: Mapping[Values, int]
    impossible: Mapping[Values, int]

    @property
    def possible(self) -> dict[Values, int]:
        """The combinations that can be, with how many cases have them."""
        return {values: number for values, number in self.counts.items() if values not in self.impossible}

    @property
    def contradicted(self) -> dict[Values, int]:
        """The combinations that cannot be and are: each is an error of the table."""
        return {values: self.counts[values] for values in self.impossible if self.counts[values]}

    def below(self, least: int) -> dict[Values, int]:
        """Return the possible combinations of which there are too few, fewest first."""
        few = [(number, values) for values, number in self.possible.items() if number < least]
        return {values: number for number, values in sorted(few)}


def pairs_together(
    cases: Sequence[Collection[str]], dimensions: Sequence[Sequence[str]], impossible: Sequence[Impossible]
) -> Together:
    """Count pairs.

    Args:
        cases: the values that each case has.
        dimensions: the values of each dimension.
        impossible: what cannot be.
    """
    names, places = _numbered(dimensions)
    table = _table(cases, names)
    both = (table.T @ table).astype(np.int64)
    counts: dict[Values, int] = {
        (names[one], names[other]): int(both[one, other])
        for left, right in itertools.combinations(places, 2)
        for one, other in itertools.product(left, right)
    }
    return Together(counts=counts, impossible=_impossible(counts, impossible))


def triples_together(
    cases: Sequence[Collection[str]], dimensions: Sequence[Sequence[str]], impossible: Sequence[Impossible]
) -> Together:
    """Count combinations of three values; see ``pairs_together``."""
    names, places = _numbered(dimensions)
    table = _table(cases, names)
    counts: dict[Values, int] = {}
    for number, first in enumerate(places):
        for one in first:
            those = table[table[:, one] > 0]
            both = (those.T @ those).astype(np.int64)
            for left, right in itertools.combinations(places[number + 1 :], 2):
                for two, three in itertools.product(left, right):
                    counts[names[one], names[two], names[three]] = int(both[two, three])
    return Together(counts=counts, impossible=_impossible(counts, impossible))


def _numbered(dimensions: Sequence[Sequence[str]]) -> tuple[list[str], list[range]]:
    names = [value for values in dimensions for value in values]
    ends = list(itertools.accumulate(map(len, dimensions), initial=0))
    return names, [range(start, end) for start, end in itertools.pairwise(ends)]


def _table(cases: Sequence[Collection[str]], names: Sequence[str]) -> npt.NDArray[np.float32]:
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(cases), len(names)), dtype=np.float32)  # whole numbers below 2^24 are exact
    for number, values in enumerate(cases):
        table[number, [place[value] for value in values if value in place]] = 1
    return table


def _impossible(combinations: Mapping[Values, int], entries: Sequence[Impossible]) -> dict[Values, int]:
    return dict(_ruled_out(combinations, entries))


def _ruled_out(combinations: Mapping[Values, int], entries: Sequence[Impossible]) -> Iterator[tuple[Values, int]]:
    by_value: dict[str, list[tuple[int, int]]] = {}
    for number, entry in enumerate(entries):
        for part, values in enumerate(entry.parts):
            for value in values:
                by_value.setdefault(value, []).append((number, part))
    for combination in combinations:
        met: dict[int, set[int]] = {}
        for value in combination:
            for number, part in by_value.get(value, ()):
                met.setdefault(number, set()).add(part)
        for number, parts in met.items():
            if len(parts) == len(entries[number].parts):
                yield combination, number
                break
