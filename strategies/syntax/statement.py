"""The drawn MERGE statement as values; ``mergecheck.strategies.syntax.spark_sql`` writes it as text.

It shares nothing with ``merge.syntax.statement``: a generator that used the parser's values would share its mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.strategies.syntax.expressions import MergeTable

if TYPE_CHECKING:
    from mergecheck.strategies.syntax.expressions import Expression


class ClauseKind(Enum):
    """The kinds of WHEN clauses in the order that SQL asks for (R-005, R-101)."""

    MATCHED = "matched"
    NOT_MATCHED = "not_matched"
    NOT_MATCHED_BY_SOURCE = "not_matched_by_source"


class Action(Enum):
    """The action of a clause (R-005)."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """``column = value`` of an UPDATE, or one column and its value of an INSERT.

    Attributes:
        column: the target column as written, possibly in another case (R-120).
        value: the assigned value.
        path: the fields below the column, outermost first, for a nested UPDATE (R-212).
        qualified: whether the target's alias qualifies it, for UPDATE only (R-119).
        by_source: whether the source's alias qualifies it: only with schema evolution (R-231, R-232).
    """

    column: str
    value: Expression
    path: tuple[str, ...] = ()
    qualified: bool = False
    by_source: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One WHEN clause: with a star or with assignments, a DELETE with neither."""

    kind: ClauseKind
    action: Action
    condition: Expression | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()

    def __post_init__(self) -> None:
        """Refuse clauses that the grammar does not have (R-005, R-101)."""
        if (self.action is Action.INSERT) != (self.kind is ClauseKind.NOT_MATCHED):
            raise ValueError(f"a {self.kind.value} clause cannot {self.action.value} (R-005)")
        if self.star and self.kind is ClauseKind.NOT_MATCHED_BY_SOURCE:
            raise ValueError("UPDATE SET * needs a source row; a not_matched_by_source clause has none (R-101)")
        if (self.action is Action.DELETE) == (self.star or bool(self.assignments)):
            raise ValueError(f"{self.action.value}: UPDATE and INSERT need a star or assignments, DELETE has none")

    @property
    def side(self) -> MergeTable:
        """A table whose columns the clause may use (R-115)."""
        return MergeTable.SOURCE if self.kind is ClauseKind.NOT_MATCHED else MergeTable.TARGET


@dataclass(frozen=True, slots=True, kw_only=True)
class Aliases:
    """The aliases of both tables, None without one; ``with_as`` is whether AS precedes them."""

    target: str | None = "t"
    source: str | None = "s"
    with_as: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A MERGE statement: clauses in SQL order.

    Attributes:
        condition: the ON condition.
        clauses: the WHEN clauses.
        aliases: of both tables.
        self_merge: whether the target is its own source (R-810).
        source_query: the query in place of the source's name, without parentheses; None without one.
        source_table: the name of the table that is the source; None for ``source`` or, in a self-merge, ``target``.
        with_schema_evolution: whether the statement itself asks for schema evolution (R-230).
        brackets: whether the ON condition has parentheses around it.
    """

    condition: Expression
    clauses: tuple[Clause, ...]
    aliases: Aliases = Aliases()
    self_merge: bool = False
    source_query: str | None = None
    source_table: str | None = None
    with_schema_evolution: bool = False
    brackets: bool = False

    def with_clause(self, place: int, clause: Clause) -> Statement:
        """Return the statement with another clause at a position."""
        return replace(self, clauses=(*self.clauses[:place], clause, *self.clauses[place + 1 :]))

    def of_kind(self, kind: ClauseKind) -> tuple[Clause, ...]:
        """Return the clauses of one kind in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)

    @property
    def insert_only(self) -> bool:
        """Whether all clauses are NOT MATCHED clauses (R-006)."""
        return all(clause.kind is ClauseKind.NOT_MATCHED for clause in self.clauses)

    @property
    def sole_unconditional_delete(self) -> bool:
        """Whether one DELETE without condition is the only MATCHED clause (R-006), so that rows may match twice.

        The draw decides it by its own tree, before there is a text that the reference could read.
        """
        matched = self.of_kind(ClauseKind.MATCHED)
        return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None
