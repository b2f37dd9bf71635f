"""The merges of small scopes as cases for mutants: a mutant of row semantics must die by a scope alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.lab.exhaustive.pieces import ScopeStream
from mergecheck.harness.lab.exhaustive.scope_file import load_scope
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.reference import MergeReference
from tools.selfcheck.fault import Area

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.lab.exhaustive.scope import Pair, Statement
    from mergecheck.harness.search.stream import Drawn
    from tools.selfcheck.fault import Fault

    Chosen: TypeAlias = Callable[[Statement, tuple[Pair, ...]], Sequence[Pair]]

AREAS = frozenset({Area.MATCHING, Area.CLAUSES, Area.INSERT_ONLY, Area.CDF, Area.METRICS})
"""The areas of mutants that a scope has to show: row semantics, metrics and the change feed."""


def of_rows(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Choose the mutants of row semantics, metrics and the change feed."""
    return tuple(fault for fault in faults if fault.area in AREAS)


@dataclass(frozen=True, slots=True)
class Scopes:
    """Scopes whose merges are held against mutants.

    Attributes:
        names: of the scopes, whose statements take turns.
        pairs: so many pairs of tables of each statement, drawn by the seed; None for all. What kills a mutant is in
            the scope either way, and with fewer pairs a statement takes Spark less time.
    """

    names: tuple[str, ...]
    pairs: int | None = None

    def cases(self, seed: int) -> Iterator[Drawn]:
        """Yield the merges, each statement once, in an order of the seed: the first ones of a scope are much alike."""
        streams = []
        for name in self.names:
            scope = load_scope(name)
            numbers = Random(seed).sample(range(len(scope.statements)), len(scope.statements))  # noqa: S311 - an order, no secret
            stream = ScopeStream(scope, numbers, reference=MergeReference().evaluate, chosen=self.chosen_by(seed))
            streams.append(iter(partial(stream.draw, CaseSpace()), None))
        for turn in itertools.zip_longest(*streams):
            yield from (drawn for drawn in turn if drawn is not None)

    def chosen_by(self, seed: int) -> Chosen:
        """Return what chooses the pairs of a statement."""
        return partial(self._chosen, seed)

    def _chosen(self, seed: int, statement: Statement, found: tuple[Pair, ...]) -> Sequence[Pair]:
        if self.pairs is None or self.pairs >= len(found):
            return found
        return Random(f"{seed}/{statement.number}").sample(found, self.pairs)  # noqa: S311 - a choice, no secret
