"""Other words for one statement: clause kinds in another order, conditions that never decide anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature, uses
from mergecheck.strategies.syntax.expressions import And, Or, Verbatim
from mergecheck.strategies.syntax.rewriting import with_clause
from mergecheck.strategies.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Clause, Statement

_PAST = ("2001-01-01", "1969-12-31")
_FUTURE = ("9000-01-01",)
_NEVER_PERCENT = 30


def interleaved(draw: DrawFn, features: frozenset[Feature], clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Mix the kinds of clauses; those of one kind keep their order, so nothing else changes (R-102)."""
    if Feature.INTERLEAVED not in features or len({clause.kind for clause in clauses}) == 1:
        return clauses
    waiting = {kind: [clause for clause in clauses if clause.kind is kind] for kind in ClauseKind}
    kinds = draw(st.permutations([clause.kind for clause in clauses]))
    return tuple(waiting[kind].pop(0) for kind in kinds)


def with_statement_time(draw: DrawFn, features: frozenset[Feature], statement: Statement) -> Statement:
    """Add a test of the statement's time to ON or to some clause: no run comes near the moment in it (R-136)."""
    if not uses(draw, features, Feature.STATEMENT_TIME):
        return statement
    place = pick(draw, (None, *range(len(statement.clauses))))
    if place is None:
        return replace(statement, condition=_decided(draw, statement.condition))
    clause = statement.clauses[place]
    return with_clause(statement, place, replace(clause, condition=_decided(draw, clause.condition)))


def _decided(draw: DrawFn, condition: Expression | None) -> Expression:
    """Add a conjunct that always holds, or something that never does as the other side of an OR."""
    never = condition is not None and chance(draw, _NEVER_PERCENT)
    test = _test(draw, holds=not never)
    if condition is None:
        return test
    return Or(condition, test) if never else And(condition, test)


def _test(draw: DrawFn, *, holds: bool) -> Verbatim:
    """Write a comparison of the statement's time that comes out as told."""
    later = chance(draw, 50)
    day = pick(draw, _FUTURE if later else _PAST)
    operator = "<" if later is holds else ">"
    call = pick(draw, ("current_date()", "current_timestamp()", "now()"))
    literal = f"DATE '{day}'" if call == "current_date()" else f"TIMESTAMP '{day} 00:00:00+00:00'"
    return Verbatim(f"({call} {operator} {literal})", holds)
