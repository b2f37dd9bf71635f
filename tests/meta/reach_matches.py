"""Predicates over which rows of a drawn case match, and on which of them a clause fires."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.strategies.statement.matches import match_matrix
from mergecheck.strategies.syntax.statement import Action, ClauseKind
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.rows import visible_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Value
    from mergecheck.strategies import DrawnCase

    Predicate = Callable[[DrawnCase], bool]


class Pairs:
    """Which drawn source row matches which drawn target row, computed once per case."""

    def __init__(self, drawn: DrawnCase) -> None:
        merge = drawn.merge
        self.target = merge.tables.target
        self.source = visible_source(merge.schemas, merge.tables)
        self.matrix = match_matrix(merge.statement.condition, merge.schemas, self.target, self.source)
        self.matched_targets = Counter(place for row in self.matrix for place in row)
        found = places(merge.schemas.target, merge.schemas.source)
        self.tests = [
            None if clause.condition is None else evaluator(clause.condition, found)
            for clause in merge.statement.of_kind(ClauseKind.MATCHED)
        ]

    def num_firing(self, target: int) -> int:
        """Count the matches of a target row on which some MATCHED clause fires."""
        matches = (self.source[s] for s, row in enumerate(self.matrix) if target in row)
        row = self.target[target]
        return sum(any(test is None or test(row, source) is True for test in self.tests) for source in matches)


_pairs: dict[str, Pairs] = {}


def pairs(drawn: DrawnCase) -> Pairs:
    """Return the pairs of a case."""
    if drawn.case.id not in _pairs:
        _pairs[drawn.case.id] = Pairs(drawn)
    return _pairs[drawn.case.id]


def null_in_untouched_row(drawn: DrawnCase) -> bool:
    """Return whether an unmatched row has a NULL outside of its keys."""
    keys = {name for name, _ in drawn.merge.schemas.keys}
    own = [place for place, column in enumerate(drawn.merge.schemas.target) if column.name not in keys]
    found = pairs(drawn)
    return any(
        row[place] is None for t, row in enumerate(found.target) if t not in found.matched_targets for place in own
    )


def several_matches(num_firing: range) -> Predicate:
    """Return whether a row has several matches, so many of which satisfy the condition of a clause."""

    def holds(drawn: DrawnCase) -> bool:
        if not drawn.merge.statement.of_kind(ClauseKind.MATCHED):
            return False
        found = pairs(drawn)
        return any(n > 1 and found.num_firing(t) in num_firing for t, n in found.matched_targets.items())

    return holds


def duplicates_among_unmatched(drawn: DrawnCase) -> bool:
    """Return whether two source rows without a match have one key."""
    schemas, found = drawn.merge.schemas, pairs(drawn)
    key = [place for place, column in enumerate(schemas.source) if column.name in {name for _, name in schemas.keys}]
    lonely = [repr([row[p] for p in key]) for row, hits in zip(found.source, found.matrix, strict=True) if not hits]
    return bool(drawn.merge.statement.of_kind(ClauseKind.NOT_MATCHED)) and len(set(lonely)) < len(lonely)


def transition(wanted: Callable[[Value, Value], bool]) -> Predicate:
    """Return whether a matching pair has such a value in a column and in the source column meant for it."""

    def holds(drawn: DrawnCase) -> bool:
        schemas, found = drawn.merge.schemas, pairs(drawn)
        keys = {name for name, _ in schemas.keys}
        names = {own.name: place for place, own in enumerate(schemas.target)}
        others = {other.name: place for place, other in enumerate(schemas.source)}
        both = [(names[own], others[other]) for own, other in schemas.namesakes if own not in keys]
        return any(
            wanted(found.target[t][own], found.source[s][other])
            for s, row in enumerate(found.matrix)
            for t in row
            for own, other in both
        )

    return holds


def mixed_file(drawn: DrawnCase) -> bool:
    """Return whether one file has matched and unmatched rows, and both firing and other matches."""
    found = pairs(drawn)
    if not found.tests:
        return False
    place = 0
    for file in drawn.merge.tables.files:
        rows = range(place, place + len(file))
        place += len(file)
        matched = [t for t in rows if t in found.matched_targets]
        firing = {bool(found.num_firing(t)) for t in matched}
        if 0 < len(matched) < len(file) and len(firing) > 1:
            return True
    return False


def file_by_matches(wanted: Callable[[int, int], bool]) -> Predicate:
    """Return whether a table of several files has one with such a number of matched rows among all of its rows."""

    def holds(drawn: DrawnCase) -> bool:
        found, place = pairs(drawn), 0
        if len(drawn.merge.tables.files) < 2:
            return False
        for file in drawn.merge.tables.files:
            matched = sum(t in found.matched_targets for t in range(place, place + len(file)))
            place += len(file)
            if wanted(matched, len(file)):
                return True
        return False

    return holds


def moved_row(drawn: DrawnCase) -> bool:
    """Return whether a match assigns another partition value than the row has."""
    schemas = drawn.merge.schemas
    assigned = {a.column.lower() for c in drawn.merge.statement.clauses for a in c.assignments}
    star = any(c.star and c.action is Action.UPDATE for c in drawn.merge.statement.clauses)
    moved = [name for name in schemas.partition_by if name.lower() in assigned or star]
    return bool(moved) and transition(lambda own, other: own != other)(drawn)


def overlapping(drawn: DrawnCase) -> bool:
    """Return whether a match satisfies the conditions of two clauses."""
    found = pairs(drawn)
    return len(found.tests) > 1 and any(
        sum(test is None or test(found.target[t], found.source[s]) is True for test in found.tests) > 1
        for s, row in enumerate(found.matrix)
        for t in row
    )


def nothing_fires(drawn: DrawnCase) -> bool:
    """Return whether a row matched and no clause acts on it."""
    found = pairs(drawn)
    return bool(found.tests) and any(found.num_firing(t) == 0 for t in found.matched_targets)


def same_values(own: Value, other: Value) -> bool:
    """Return whether a source value equals the target's."""
    return own is not None and own == other
