"""Part 3: which clause fires on which row, and its effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.rules.evidence import Evidence, Rule, comparable
from mergecheck.model.layout import partition_indexes
from mergecheck.model.outcome import MergePath
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Row

_MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
_NON_DETERMINISTIC = "a non-deterministic value has no expected value; tested on the engine"
_NOT_IN_AN_OUTCOME = "an outcome does not show it; tested on the engine"


def _chooses(e: Evidence) -> bool:
    """Look for a kind with several clauses of which one applies."""
    return any(len(e.resolved(applied.clause.kind)) > 1 for applied in e.applied)


def _nothing_applies(e: Evidence) -> bool:
    return any(candidate.applied is None for kind in Kind if e.resolved(kind) for candidate in e.candidates(kind))


def _inserts_equal_rows(e: Evidence) -> bool:
    if e.effects is None or e.merge is None or not e.merge.final_schema.columns:
        return False
    rows = [comparable(row) for row in e.effects.inserted.values()]
    return len(set(rows)) < len(rows)


def _null_keys(e: Evidence) -> bool:
    return e.matches is not None and e.matches.null_on


def _updates_key(e: Evidence) -> bool:
    if e.statement is None:
        return False
    keys = {column.name.lower() for column in e.statement.on.find_all(exp.Column)}
    return any(
        assigned.path[0].lower() in keys and not assigned.preserves
        for applied in e.applied_clauses(Action.UPDATE)
        for assigned in applied.clause.assigned
    )


def same_images(e: Evidence) -> bool:
    """Return whether an UPDATE gave a row the values that it had (R-310, R-612)."""
    return any(comparable(old) == comparable(new) for old, new in _images(e))


def moves_between_partitions(e: Evidence) -> bool:
    """Return whether an UPDATE changed a partition value (R-311, R-613)."""
    indexes = partition_indexes(e.case.target)
    return any(comparable(old[index]) != comparable(new[index]) for old, new in _images(e) for index in indexes)


def _images(e: Evidence) -> Iterator[tuple[Row, Row]]:
    """Go through the updated rows as (old, new)."""
    if e.effects is not None:
        for rid, new in e.effects.updated.items():
            yield e.effects.old[rid], new


def _unseen_by_its_clause(e: Evidence) -> bool:
    """Look for an ambiguous merge that fails although its conditions would settle it."""
    matched = e.resolved(Kind.MATCHED)
    return e.rejected(_MULTI_MATCH) and (not matched or any(c.condition is not None for c in matched))


def multi_matched_delete(e: Evidence) -> bool:
    """Return whether several matches are allowed because all they do is delete (R-320, R-530)."""
    return e.prediction is not None and e.facts.multi_matched and e.path is not MergePath.A


RULES = (
    Rule(number="R-301", reached=_chooses),
    Rule(number="R-302", reached=_nothing_applies),
    Rule(number="R-303", reached=lambda e: e.changed_rows > 0),
    Rule(number="R-304", reached=lambda e: e.prediction is not None),
    Rule(number="R-305", reached=_inserts_equal_rows),
    Rule(number="R-306", reached=lambda e: e.prediction is not None and "1:n" in e.facts.matches),
    Rule(number="R-307", reached=lambda e: e.counted("numTargetRowsInserted") > 0 and bool(e.resolved(Kind.MATCHED))),
    Rule(number="R-308", reached=_null_keys),
    Rule(number="R-309", reached=_updates_key),
    Rule(number="R-310", reached=same_images),
    Rule(number="R-311", reached=moves_between_partitions),
    Rule(
        number="R-312", reached=lambda e: e.path is MergePath.D and any(c.condition is not None for c in e.resolved())
    ),
    Rule(number="R-320", reached=lambda e: e.facts.multi_matched),
    Rule(number="R-321", reached=_unseen_by_its_clause),
    Rule(number="R-322", reached=lambda e: e.reference.alternative is not None),
    Rule(number="R-323", reached=lambda e: e.rejected(_MULTI_MATCH)),
    Rule(number="R-324", reached=lambda e: multi_matched_delete(e) and len(e.resolved()) > 1),
    Rule(number="R-330", out_of_reach=_NON_DETERMINISTIC),
    Rule(number="R-331", out_of_reach=_NOT_IN_AN_OUTCOME),
)
