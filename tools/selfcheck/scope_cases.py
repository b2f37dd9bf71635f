"""The merges of small scopes as cases for mutants: a mutant of row semantics must die by a scope alone."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.lab.exhaustive.pieces import ScopeStream
from mergecheck.harness.lab.exhaustive.scope import load_scope
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.reference import MergeReference
from tools.selfcheck.fault import Area

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Case
    from tools.selfcheck.fault import Fault

AREAS = frozenset({Area.MATCHING, Area.CLAUSES, Area.INSERT_ONLY, Area.CDF, Area.METRICS})
"""The areas of mutants that a scope has to show: row semantics, metrics and the change feed."""


def of_rows(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Choose the mutants of row semantics, metrics and the change feed."""
    return tuple(fault for fault in faults if fault.area in AREAS)


def scope_cases(names: Sequence[str], seed: int) -> Iterator[Case]:
    """Yield the merges of scopes, those of one statement after those of another, each statement once.

    Args:
        names: of the scopes, whose statements take turns.
        seed: of the order; the first statements of a scope are much alike.
    """
    streams = []
    for name in names:
        scope = load_scope(name)
        numbers = Random(seed).sample(range(len(scope.statements)), len(scope.statements))  # noqa: S311 - an order, no secret
        streams.append(_cases(ScopeStream(scope, numbers, reference=MergeReference().evaluate)))
    for turn in itertools.zip_longest(*streams):
        yield from (case for case in turn if case is not None)


def _cases(stream: ScopeStream) -> Iterator[Case]:
    while (drawn := stream.draw(CaseSpace())) is not None:
        yield drawn.case
