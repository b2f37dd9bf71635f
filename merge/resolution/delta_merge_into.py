"""DeltaMergeInto: the logical node of a MERGE, checked on construction (R-106, R-107, R-111)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.syntax.statement import (
    ActionType,
    Assignment,
    Clause,
    ClauseKind,
    place_of,
    unconditional_before_last,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.expressions.scope import Relation

# Delta's classes; R-005: the actions that a kind may have.
_OMITS_CONDITION: Final = {
    ClauseKind.MATCHED: "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
    ClauseKind.NOT_MATCHED: "DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION",
    ClauseKind.NOT_MATCHED_BY_SOURCE: "DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
}
_ACTIONS: Final = {
    ClauseKind.MATCHED: {ActionType.UPDATE, ActionType.DELETE},
    ClauseKind.NOT_MATCHED: {ActionType.INSERT},
    ClauseKind.NOT_MATCHED_BY_SOURCE: {ActionType.UPDATE, ActionType.DELETE},
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeltaMergeInto:
    """A MERGE over two relations, names not yet resolved. Make one with ``apply``.

    Its clauses are MATCHED first, then NOT MATCHED, then NOT MATCHED BY SOURCE, which is the order in which they
    are resolved (R-113). Clauses of one kind are in statement order (R-102).
    """

    target: Relation
    source: Relation
    condition: str
    clauses: tuple[Clause, ...]
    with_schema_evolution: bool

    @classmethod
    def apply(
        cls,
        *,
        target: Relation,
        source: Relation,
        condition: str,
        when_clauses: Sequence[Clause],
        with_schema_evolution: bool,
    ) -> DeltaMergeInto:
        """Sort the clauses by kind, and check the rules that SQL's grammar ensures and a builder does not.

        Raises:
            AnalysisError: see ``check_clauses``, or ``DELTA_UNEXPECTED_ACTION_EXPRESSION`` (R-111).
        """
        check_clauses(when_clauses)
        for clause in when_clauses:
            _check_actions(clause)
        numbered = [replace(clause, number=number) for number, clause in enumerate(when_clauses, start=1)]
        return cls(
            target=target,
            source=source,
            condition=condition,
            clauses=tuple(clause for kind in ClauseKind for clause in numbered if clause.kind is kind),
            with_schema_evolution=with_schema_evolution,
        )


def check_clauses(clauses: Sequence[Clause]) -> None:
    """Check that there are clauses, and that only the last of a kind omits its condition.

    Raises:
        AnalysisError: ``DELTA_MERGE_MISSING_WHEN`` (R-106) or ``DELTA_NON_LAST_..._CLAUSE_OMIT_CONDITION`` (R-107).
    """
    if not clauses:
        raise AnalysisError("DELTA_MERGE_MISSING_WHEN", "There must be at least one WHEN clause in a MERGE statement.")
    if (found := unconditional_before_last(clauses)) is not None:
        number, clause = found
        name = clause.kind.value
        raise AnalysisError(
            _OMITS_CONDITION[clause.kind],
            f"{place_of(number, clause.kind)}: When there are more than one {name} clauses in a MERGE statement, "
            f"only the last {name} clause can omit the condition.",
        )


def _check_actions(clause: Clause) -> None:
    """Check that a clause has a star or assignments, of an action that its kind can have."""
    by_source = clause.kind is ClauseKind.NOT_MATCHED_BY_SOURCE
    if clause.action not in _ACTIONS[clause.kind]:
        raise _unexpected(
            clause.action.name, clause, allowed=" or ".join(sorted(a.name for a in _ACTIONS[clause.kind]))
        )
    if clause.star and (clause.action is ActionType.DELETE or by_source):
        raise _unexpected("*", clause, allowed="no star")
    if clause.assignments and (clause.star or clause.action is ActionType.DELETE):
        raise _unexpected(".".join(clause.assignments[0].target), clause, allowed="no assignment")
    for action in clause.assignments:
        if not isinstance(action, Assignment):
            raise _unexpected(repr(action), clause, allowed="a star or assignments")


def _unexpected(action: str, clause: Clause, *, allowed: str) -> AnalysisError:
    return AnalysisError(
        "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        f"Unexpected action expression {action} in a WHEN {clause.kind.value} clause, which takes {allowed} here.",
    )
