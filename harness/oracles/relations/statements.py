"""Relations that write the statement differently: a merge that means the same must do the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.relations.relation import OutOfDomainError, Relation
from mergecheck.harness.oracles.relations.shape import has_random_values
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.harness.properties.vocabulary import AUTO_MERGE, evolves
from mergecheck.reference.syntax.statement import Action, Kind, is_insert_only, is_sole_unconditional_delete

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.oracles.relations.relation import Trial
    from mergecheck.harness.properties.merge_text import ClauseText, StatementText
    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.case import Case


def _dead_clauses(condition: str) -> Callable[[Trial], tuple[Mismatch, ...]]:
    """Put a clause that never fires before the clauses of each kind that is there (P-18)."""

    def holds(trial: Trial) -> tuple[Mismatch, ...]:
        # A sole DELETE stops being sole, and with a MATCHED clause an insert-only merge would leave its route.
        text = trial.text
        trial.require(condition=not is_sole_unconditional_delete(text.clauses) and not is_insert_only(text.clauses))
        clauses: list[ClauseText] = []
        seen = {Kind.NOT_MATCHED}  # its clauses cannot delete
        for clause in text.clauses:
            if clause.kind not in seen:
                clauses.append(replace(clause.deleting(), condition=condition))
            seen.add(clause.kind)
            clauses.append(clause)
        trial.require(condition=len(clauses) > len(text.clauses))
        changed = replace(text, clauses=tuple(clauses))
        return trial.same(trial.with_clauses(changed), may_be_ambiguous=True)

    return holds


def _swapped(trial: Trial) -> tuple[Mismatch, ...]:
    """Let the second of two clauses come first, where the first one's condition does not hold (P-19)."""
    clauses = list(trial.text.clauses)
    for index in range(len(clauses) - 1):
        first, second = clauses[index], clauses[index + 1]
        if first.condition is not None and first.kind is second.kind:
            excluded = f"(({first.condition}) IS NOT TRUE)"
            condition = excluded if second.condition is None else f"({second.condition}) AND {excluded}"
            clauses[index : index + 2] = [replace(second, condition=condition), first]
            return trial.same(_with(trial, clauses), may_be_ambiguous=True)
    raise OutOfDomainError


def _split(pieces: Callable[[str], list[str]]) -> Callable[[Trial], tuple[Mismatch, ...]]:
    """Write every clause with a condition as several clauses whose conditions add up to it."""

    def holds(trial: Trial) -> tuple[Mismatch, ...]:
        clauses: list[ClauseText] = []
        for clause in trial.text.clauses:
            conditions = [clause.condition] if clause.condition is None else pieces(clause.condition)
            clauses += [replace(clause, condition=condition) for condition in conditions]
        trial.require(condition=len(clauses) > len(trial.text.clauses))
        return trial.same(_with(trial, clauses), may_be_ambiguous=True)

    return holds


def _on(write: Callable[[str], str]) -> Callable[[Trial], tuple[Mismatch, ...]]:
    """Write ON differently."""

    def holds(trial: Trial) -> tuple[Mismatch, ...]:
        changed = replace(trial.text, on=write(trial.text.on))
        return trial.same(trial.with_clauses(changed), may_be_ambiguous=True)

    return holds


def _wrapped_conditions(trial: Trial) -> tuple[Mismatch, ...]:
    """Hide the conditions of clauses behind CASE."""
    clauses = [
        clause if clause.condition is None else replace(clause, condition=_hidden(clause.condition, "FALSE"))
        for clause in trial.text.clauses
    ]
    trial.require(condition=any(clause.condition is not None for clause in clauses))
    return trial.same(_with(trial, clauses), may_be_ambiguous=True)


def _wrapped_values(trial: Trial) -> tuple[Mismatch, ...]:
    """Hide the values of UPDATE SET behind CASE."""
    trial.require(condition=not has_random_values(trial.case.sql))
    given = list(trial.text.clauses)
    clauses = [
        replace(clause, values=tuple(_hidden(value, f"({value})") for value in clause.values))
        if clause.action is Action.UPDATE and not any(value.upper() == "DEFAULT" for value in clause.values)
        else clause
        for clause in given
    ]
    trial.require(condition=clauses != given)
    return trial.same(_with(trial, clauses))


def _evolving(trial: Trial) -> tuple[Mismatch, ...]:
    """Allow schema evolution where the source has nothing to add (P-28)."""
    case = trial.case
    source = source_table(case)
    given = {} if source is None else {column.name.lower(): column.type for column in source.schema.columns}
    trial.require(condition={column.name.lower(): column.type for column in case.target.schema.columns} == given)
    trial.require(condition=not evolves(case) and not has_random_values(case.sql))
    return trial.same(replace(case, conf={**case.conf, AUTO_MERGE: "true"}))


def _hidden(expression: str, if_null: str) -> str:
    return f"CASE WHEN ({expression}) IS NULL THEN {if_null} ELSE ({expression}) END"


def _with(trial: Trial, clauses: list[ClauseText]) -> Case:
    text: StatementText = replace(trial.text, clauses=tuple(clauses))
    return trial.with_clauses(text)


STATEMENT_RELATIONS = (
    Relation(
        name="P-28",
        sentence="schema evolution changes nothing where the source adds nothing",
        domain="source and target have the same columns of the same types; the source is a table; no random values",
        holds=_evolving,
    ),
    Relation(
        name="P-18-false",
        sentence="a clause with the condition FALSE changes nothing",
        domain="not a sole unconditional DELETE, not insert-only",
        holds=_dead_clauses("FALSE"),
    ),
    Relation(
        name="P-18-null",
        sentence="a clause with the condition NULL changes nothing",
        domain="not a sole unconditional DELETE, not insert-only",
        holds=_dead_clauses("CAST(NULL AS BOOLEAN)"),
    ),
    Relation(
        name="P-19",
        sentence="two clauses of one kind that exclude each other may be swapped",
        domain="two clauses of a kind, the first with a condition",
        holds=_swapped,
    ),
    Relation(
        name="P-20",
        sentence="a clause is two clauses with a further condition and its opposite",
        domain="some clause has a condition",
        holds=_split(lambda c: [f"({c}) AND (1 = 0)", f"({c}) AND ((1 = 0) IS NOT TRUE)"]),
    ),
    Relation(
        name="three-way-split",
        sentence="a clause is three clauses: with a further condition, its negation, and where that is NULL",
        domain="some clause has a condition",
        holds=_split(lambda c: [f"({c}) AND ({c})", f"({c}) AND NOT ({c})", f"({c}) AND (({c}) IS NULL)"][::-1]),
    ),
    Relation(
        name="P-22-and-true",
        sentence="ON p is ON p AND TRUE",
        domain="every merge",
        holds=_on(lambda on: f"({on}) AND TRUE"),
    ),
    Relation(
        name="P-22-true-and",
        sentence="ON p is ON TRUE AND p",
        domain="every merge",
        holds=_on(lambda on: f"TRUE AND ({on})"),
    ),
    Relation(
        name="P-22-or-false",
        sentence="ON p is ON p OR FALSE",
        domain="every merge",
        holds=_on(lambda on: f"({on}) OR FALSE"),
    ),
    Relation(
        name="hidden-on",
        sentence="ON behind CASE, where no equality can be seen, is the same ON",
        domain="every merge",
        holds=_on(lambda on: _hidden(on, "FALSE")),
    ),
    Relation(
        name="hidden-conditions",
        sentence="conditions of clauses behind CASE are the same conditions",
        domain="some clause has a condition",
        holds=_wrapped_conditions,
    ),
    Relation(
        name="hidden-values",
        sentence="values of UPDATE SET behind CASE are the same values",
        domain="some UPDATE SET; no random values",
        holds=_wrapped_values,
    ),
)
