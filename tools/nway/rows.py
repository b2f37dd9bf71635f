"""Dimensions of the rows: matches, values of conditions, results, and values written to special columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.properties.matches import sorts_of_matches
from mergecheck.harness.properties.vocabulary import has
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference.analysis.constraints import CHECK_VIOLATED, NOT_NULL_VIOLATED
from mergecheck.reference.dialects import MULTI_MATCH
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.properties.rules.evidence import Evidence
    from mergecheck.reference.analysis.resolved import ResolvedClause
    from mergecheck.reference.trace import Candidate

_SORTS = {"1:1": "one to one", "1:n": "source row with several targets"}


def conditions(kind: Kind, *, ambiguous: bool = False) -> Callable[[Evidence], Iterator[str]]:
    """Return a dimension: the values of the conditions of a kind's clauses on its rows.

    A condition that comes after the applied clause is not counted as FALSE, nor is one beside a NULL one: the trace
    does not distinguish them.

    Args:
        kind: of the clauses.
        ambiguous: look at the target rows with several matches instead of those with one.
    """

    def found(e: Evidence) -> Iterator[str]:
        effects, matches, merge = e.reference.trace.effects, e.matches, e.merge
        if effects is None or matches is None or merge is None:
            return
        clauses = merge.of(kind)
        for candidate in effects.candidates[kind]:
            if (candidate.rid in matches.multi_matched) is ambiguous:
                yield from _truths(candidate, clauses)

    return found


def _truths(candidate: Candidate, clauses: Sequence[ResolvedClause]) -> Iterator[str]:
    applied = candidate.applied
    if candidate.null_condition:
        yield "NULL"
    if applied is not None:
        yield "no condition" if clauses[applied].condition is None else "TRUE"
    tried = clauses if applied is None else clauses[:applied]
    if not candidate.null_condition and any(clause.condition is not None for clause in tried):
        yield "FALSE"


def matches(e: Evidence) -> Iterator[str]:
    """Name the sorts of matches."""
    found, merge, source = e.matches, e.merge, e.reference.trace.source
    if found is None or merge is None or source is None:
        return
    sorts = sorts_of_matches(e.reference.trace)
    yield from (_SORTS[sort] for sort in sorts if sort in _SORTS)
    if found.multi_matched:
        rejected = isinstance(e.reference.answer, Rejection) and e.reference.answer.error_class == MULTI_MATCH
        yield "ambiguous, refused" if rejected else "ambiguous, allowed"
    if found.null_on:
        yield "NULL in ON"
    if has(e, "empty-source"):
        yield "empty source"
    if has(e, "empty-target"):
        yield "empty target"
    if source.rows and e.case.target.rows and not found.pairs:
        yield "none"
    if found.pairs and sorts.isdisjoint(("source alone", "target alone")):
        yield "all"


def lone_rows(e: Evidence) -> Iterator[str]:
    """Name the tables that have rows without a match."""
    sorts = sorts_of_matches(e.reference.trace)
    if e.matches is not None:
        yield from (sort for sort in ("source alone", "target alone") if sort in sorts)
        if sorts.isdisjoint(("source alone", "target alone")):
            yield "nobody"


def results(e: Evidence) -> Iterator[str]:
    """Name the path of a merge that succeeds, or how far one that fails came."""
    answer = e.reference.answer
    if isinstance(answer, Prediction):
        # a repeated transaction matches no rows and takes no path
        yield "repeated transaction" if e.matches is None else f"path {answer.path.value}"
    elif isinstance(answer, Rejection):
        yield "refused" if e.matches is None else "failed"


def changes(e: Evidence) -> Iterator[str]:
    """Name the changes to rows of a merge that succeeds."""
    effects = e.effects
    if effects is not None:
        done = {
            "updates": bool(effects.updated),
            "deletes": bool(effects.deleted),
            "inserts": bool(effects.inserted),
            "copies": e.counted("numTargetRowsCopied") > 0,
        }
        yield from [name for name, holds in done.items() if holds] or ["nothing"]


def feed(e: Evidence) -> Iterator[str]:
    """Return whether the target records its changes."""
    yield "on" if has(e, "change-data-feed") else "off"


def written(e: Evidence) -> Iterator[str]:
    """Name the values that clauses write to special columns: ``sort=what``."""
    if e.merge is None:
        return
    answer = e.reference.answer
    failed = answer.error_class if isinstance(answer, Rejection) else ""
    if failed.startswith(NOT_NULL_VIOLATED):
        yield "NOT NULL=violated"
    if failed.startswith(CHECK_VIOLATED):
        yield "CHECK=violated"
    for sort, names in _special(e).items():
        for clause in e.merge.clauses:
            if clause.action is Action.DELETE:
                continue
            assigned = Counter(each.path[0].lower() for each in clause.assigned)
            for name in names:
                if assigned[name]:
                    yield f"{sort}={'updated' if clause.action is Action.UPDATE else 'inserted'}"
                elif clause.action is Action.INSERT:
                    yield f"{sort}=left out"
        if any(value is None for value in _new_cells(e, names)):
            yield f"{sort}=NULL"


def _special(e: Evidence) -> dict[str, set[str]]:
    """Give the lower-case names of the special columns of the target, by their sort."""
    columns = e.case.target.schema.columns
    found = {
        "NOT NULL": {column.name.lower() for column in columns if not column.nullable},
        "default": {column.name.lower() for column in columns if column.default is not None},
        "generated": {column.name.lower() for column in columns if column.generated is not None},
        "partition": {name.lower() for name in e.case.target.partition_by},
    }
    return {sort: names for sort, names in found.items() if names}


def _new_cells(e: Evidence, names: set[str]) -> Iterator[object]:
    effects = e.reference.trace.effects
    if effects is None or e.merge is None:
        return
    places = [place for place, name in enumerate(e.merge.final_schema.names) if name.lower() in names]
    for row in (*effects.updated.values(), *effects.inserted.values()):
        yield from (row[place] for place in places)
