"""The statement written differently: a merge that means the same must do the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.transformations.domains import AMBIGUOUS, has_fixed_values
from mergecheck.harness.properties.merge_text import merge_text
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.harness.properties.vocabulary import AUTO_MERGE, evolves
from mergecheck.model.axis import MayChange, Transformation
from mergecheck.reference.syntax.statement import Action, Kind, is_insert_only, is_sole_unconditional_delete

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.properties.merge_text import ClauseText, StatementText
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

# Another text may scan other files, so that matches come to light that the case's own layout hides.
_OTHER_MATCHES = (MayChange(frozenset({AMBIGUOUS}), ("R-320", "R-322")),)


def _rewritten(write: Callable[[StatementText], StatementText | None]) -> Callable[[Case], Case]:
    def rewrite(case: Case) -> Case:
        text = merge_text(case.sql)
        changed = None if text is None else write(text)
        return case if changed is None else replace(case, sql=changed.sql())

    return rewrite


def _keeps_its_shape(case: Case, _facts: Facts) -> bool:
    """A sole DELETE stops being sole, and with a MATCHED clause an insert-only merge would leave its route (R-320)."""
    text = merge_text(case.sql)
    return text is not None and not is_sole_unconditional_delete(text.clauses) and not is_insert_only(text.clauses)


def _with_dead_clauses(condition: str) -> Callable[[Case], Case]:
    """Put a clause that never fires before the clauses of each kind that is there (P-18)."""

    def write(text: StatementText) -> StatementText | None:
        clauses: list[ClauseText] = []
        seen = {Kind.NOT_MATCHED}  # its clauses cannot delete
        for clause in text.clauses:
            if clause.kind not in seen:
                clauses.append(replace(clause.deleting(), condition=condition))
            seen.add(clause.kind)
            clauses.append(clause)
        return replace(text, clauses=tuple(clauses)) if len(clauses) > len(text.clauses) else None

    return _rewritten(write)


def _swapped(text: StatementText) -> StatementText | None:
    """Let the second of two clauses come first, where the first one's condition does not hold (P-19)."""
    clauses = list(text.clauses)
    for index in range(len(clauses) - 1):
        first, second = clauses[index], clauses[index + 1]
        if first.condition is not None and first.kind is second.kind:
            excluded = f"(({first.condition}) IS NOT TRUE)"
            condition = excluded if second.condition is None else f"({second.condition}) AND {excluded}"
            clauses[index : index + 2] = [replace(second, condition=condition), first]
            return replace(text, clauses=tuple(clauses))
    return None


def _split(pieces: Callable[[str], list[str]]) -> Callable[[Case], Case]:
    """Write every clause with a condition as several clauses whose conditions add up to it."""

    def write(text: StatementText) -> StatementText | None:
        clauses: list[ClauseText] = []
        for clause in text.clauses:
            conditions = [clause.condition] if clause.condition is None else pieces(clause.condition)
            clauses += [replace(clause, condition=condition) for condition in conditions]
        return replace(text, clauses=tuple(clauses)) if len(clauses) > len(text.clauses) else None

    return _rewritten(write)


def on_written(write: Callable[[str], str]) -> Callable[[Case], Case]:
    """Write ON differently."""
    return _rewritten(lambda text: replace(text, on=write(text.on)))


def _with_hidden_conditions(text: StatementText) -> StatementText | None:
    """Hide the conditions of clauses behind CASE."""
    if all(clause.condition is None for clause in text.clauses):
        return None
    clauses = (
        clause if clause.condition is None else replace(clause, condition=_hidden(clause.condition, "FALSE"))
        for clause in text.clauses
    )
    return replace(text, clauses=tuple(clauses))


def _with_hidden_values(text: StatementText) -> StatementText | None:
    """Hide the values of UPDATE SET behind CASE."""
    given = list(text.clauses)
    clauses = [
        replace(clause, values=tuple(_hidden(value, f"({value})") for value in clause.values))
        if clause.action is Action.UPDATE and not any(value.upper() == "DEFAULT" for value in clause.values)
        else clause
        for clause in given
    ]
    return None if clauses == given else replace(text, clauses=tuple(clauses))


def _has_nothing_to_add(case: Case, _facts: Facts) -> bool:
    source = source_table(case)
    given = {} if source is None else {column.name.lower(): column.type for column in source.schema.columns}
    if {column.name.lower(): column.type for column in case.target.schema.columns} != given:
        return False
    return not evolves(case) and not has_random_values(case.sql)


def _hidden(expression: str, if_null: str) -> str:
    return f"CASE WHEN ({expression}) IS NULL THEN {if_null} ELSE ({expression}) END"


STATEMENTS: tuple[Transformation, ...] = (
    Transformation(
        name="P-28",
        sentence="schema evolution changes nothing where the source adds nothing",
        domain="source and target have the same columns of the same types; the source is a table; no random values",
        applies_to=_has_nothing_to_add,
        rewrite=lambda case: replace(case, conf={**case.conf, AUTO_MERGE: "true"}),
    ),
    *(
        Transformation(
            name=name,
            sentence=f"a clause with the condition {word} changes nothing",
            domain="not a sole unconditional DELETE, not insert-only",
            applies_to=_keeps_its_shape,
            rewrite=_with_dead_clauses(condition),
            may_change=_OTHER_MATCHES,
        )
        for name, word, condition in (
            ("P-18-false", "FALSE", "FALSE"),
            ("P-18-null", "NULL", "CAST(NULL AS BOOLEAN)"),
        )
    ),
    Transformation(
        name="P-19",
        sentence="two clauses of one kind that exclude each other may be swapped",
        domain="two clauses of a kind, the first with a condition",
        rewrite=_rewritten(_swapped),
        may_change=_OTHER_MATCHES,
    ),
    *(
        Transformation(
            name=name,
            sentence=sentence,
            domain="some clause has a condition",
            rewrite=rewrite,
            may_change=_OTHER_MATCHES,
        )
        for name, sentence, rewrite in (
            (
                "P-20",
                "a clause is two clauses with a further condition and its opposite",
                _split(lambda c: [f"({c}) AND (1 = 0)", f"({c}) AND ((1 = 0) IS NOT TRUE)"]),
            ),
            (
                "three-way-split",
                "a clause is three clauses: with a further condition, its negation, and where that is NULL",
                _split(lambda c: [f"({c}) AND (({c}) IS NULL)", f"({c}) AND NOT ({c})", f"({c}) AND ({c})"]),
            ),
        )
    ),
    *(
        Transformation(
            name=name,
            sentence=sentence,
            rewrite=on_written(write),
            domain="every merge",
            may_change=_OTHER_MATCHES,
        )
        for name, sentence, write in (
            ("P-22-and-true", "ON p is ON p AND TRUE", lambda on: f"({on}) AND TRUE"),
            ("P-22-true-and", "ON p is ON TRUE AND p", lambda on: f"TRUE AND ({on})"),
            ("P-22-or-false", "ON p is ON p OR FALSE", lambda on: f"({on}) OR FALSE"),
            (
                "hidden-on",
                "ON behind CASE, where no equality can be seen, is the same ON",
                lambda on: _hidden(on, "FALSE"),
            ),
        )
    ),
    Transformation(
        name="hidden-conditions",
        sentence="conditions of clauses behind CASE are the same conditions",
        domain="some clause has a condition",
        rewrite=_rewritten(_with_hidden_conditions),
        may_change=_OTHER_MATCHES,
    ),
    Transformation(
        name="hidden-values",
        sentence="values of UPDATE SET behind CASE are the same values",
        domain="some UPDATE SET; no random values",
        applies_to=has_fixed_values,
        rewrite=_rewritten(_with_hidden_values),
    ),
)
