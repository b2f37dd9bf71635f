"""A MERGE with its meaning: clauses whose conditions and values can be evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import (
    Kind,
    is_insert_only,
    is_matched_only,
    is_sole_unconditional_delete,
)

if TYPE_CHECKING:
    from mergecheck.model.errors import RejectedError
    from mergecheck.model.types.data_types import Schema
    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.analysis.values.assignments import Assigned
    from mergecheck.reference.asked.asker import Asked
    from mergecheck.reference.syntax.statement import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConjunct:
    """A conjunct of a condition that uses no source column (R-421).

    Attributes:
        columns: positions of the target columns that it uses.
        constants: the values in it that use no column.
    """

    condition: Typed
    columns: frozenset[int]
    constants: tuple[Typed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinKey:
    """Two integer columns of one type that a conjunct of ON equates."""

    target: Typed
    source: Typed


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause ready to evaluate.

    Attributes:
        place: how messages name it.
        condition: None if the clause has none.
        target_only: the condition's target-only conjuncts (R-421); empty if there are none.
        assigned: the statement's assignments, stars expanded; empty for DELETE.
        values: one per column of the final schema, over the rows of both sides and the row's own new values ``c<i>``;
            empty for DELETE.
        fields: the values of assigned fields, cast to their types, with the positions of their columns.
        asked: the values among these that the other evaluator is asked for.
        is_target_only_known: whether ``target_only`` is complete.
        constants: parts of the values that use no column and may fail (R-257).
        generated_ids: positions of the identity columns that an INSERT leaves to the table (R-226).
    """

    kind: Kind
    action: Action
    place: str
    condition: Typed | None
    target_only: tuple[TargetConjunct, ...]
    assigned: tuple[Assigned, ...]
    values: tuple[Typed, ...]
    fields: tuple[tuple[int, Typed], ...] = ()
    asked: tuple[Asked, ...] = ()
    is_target_only_known: bool = True
    constants: tuple[Typed, ...] = ()
    generated_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A MERGE whose expressions are DuckDB SQL over the evaluation's tables.

    Attributes:
        constants: parts of the conditions that use no column and may fail (R-257).
        on_parts: the conjuncts of ON; ON itself if it is asked for.
        on_target_only: the conjuncts of ON that use the target only (R-420).
        on_is_equality: whether ON has a conjunct that equates values of the two tables, and none
            without columns, so that an executor can join by keys.
        on_may_fail: whether ON can fail on some row; if it is asked for and has no translation, then it can.
        join_keys: integer columns that ON equates; none if ON is asked for.
        keys: the two operands, if ON may fail and is one equality of a column of each table, or of casts of columns.
        final_schema: the table's columns after the merge (R-233).
        old: the row before the merge in the final schema, one value per column (R-241, R-610).
        stored: the same as readers show it, if its file is not rewritten.
        asked: the conditions that the other evaluator is asked for.
        not_boolean: the fault of a condition of another type, which is met when plans are made (R-135); else None.
    """

    on: Typed
    on_parts: tuple[Typed, ...]
    constants: tuple[Typed, ...]
    on_target_only: tuple[TargetConjunct, ...]
    on_is_equality: bool
    clauses: tuple[ResolvedClause, ...]
    final_schema: Schema
    old: tuple[Typed, ...]
    stored: tuple[Typed, ...]
    asked: tuple[Asked, ...] = ()
    not_boolean: RejectedError | None = None
    on_may_fail: bool = False
    join_keys: tuple[JoinKey, ...] = ()
    keys: tuple[Typed, ...] = ()

    def check_conditions(self) -> None:
        """Refuse conditions that are no boolean (R-135).

        Raises:
            RejectedError: if there is one.
        """
        if self.not_boolean is not None:
            raise self.not_boolean

    def of(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)

    def with_action(self, *actions: Action) -> list[tuple[ResolvedClause, int]]:
        """Return the clauses with some actions, and their positions among the clauses of their kind."""
        numbered = ((clause, index) for kind in Kind for index, clause in enumerate(self.of(kind)))
        return [(clause, index) for clause, index in numbered if clause.action in actions]

    @property
    def is_insert_only(self) -> bool:
        """Whether the statement has insert clauses and no others (R-006)."""
        return is_insert_only(self.clauses)

    @property
    def is_matched_only(self) -> bool:
        """Whether the statement has matched clauses and no others (R-006)."""
        return is_matched_only(self.clauses)

    @property
    def is_sole_delete(self) -> bool:
        """Whether the matched clauses are exactly one DELETE without a condition, which is syntactic (R-006)."""
        return is_sole_unconditional_delete(self.clauses)
