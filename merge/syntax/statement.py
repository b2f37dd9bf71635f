"""The MERGE statement as values, before names are resolved (R-101, R-111, R-112).

Expressions are Spark SQL text exactly as the user wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ClauseKind(Enum):
    """The three kinds of WHEN clauses (R-005); the value names them in logs and errors."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


class ActionType(Enum):
    """The action of a clause; the value is the ``actionType`` of the history (R-112)."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """``target = value`` of an UPDATE, or one column and its value of an INSERT.

    Attributes:
        target: name parts as written, qualifier included, unquoted: ``t.a.b`` is ``("t", "a", "b")``.
        value: Spark SQL text.
    """

    target: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One WHEN clause.

    Attributes:
        condition: Spark SQL text, None if the clause has no condition (``AND TRUE`` is one, R-006).
        star: ``UPDATE SET *`` or ``INSERT *``; then ``assignments`` is empty.
        number: its place in the statement, from 1; 0 as long as it is in none.
    """

    kind: ClauseKind
    action: ActionType
    condition: str | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()
    number: int = field(default=0, compare=False)

    @property
    def place(self) -> str:
        """How messages name it."""
        return place_of(self.number, self.kind)


def place_of(number: int, kind: ClauseKind) -> str:
    """Write how messages name a clause, by its place in the statement, from 1."""
    return f"clause {number} WHEN {kind.value}"


def unconditional_before_last(clauses: Sequence[Clause]) -> tuple[int, Clause] | None:
    """Find a clause that omits its condition and is not the last of its kind (R-107), with its number from 1."""
    last = {clause.kind: number for number, clause in enumerate(clauses, start=1)}
    found = [
        (number, clause)
        for number, clause in enumerate(clauses, start=1)
        if clause.condition is None and number < last[clause.kind]
    ]
    return min(found, key=lambda one: tuple(ClauseKind).index(one[1].kind)) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStatement:
    """A MERGE whose tables are given by name or by the builder.

    Attributes:
        target: the target as written in SQL (``target``, ``delta.`/path```); empty for the builder.
        source: the source as written in SQL, a table name or a parenthesised query; empty for the builder.
        clauses: all clauses in statement order; only the order within one kind matters (R-102).
    """

    condition: str
    clauses: tuple[Clause, ...]
    target: str = ""
    target_alias: str | None = None
    source: str = ""
    source_alias: str | None = None
    with_schema_evolution: bool = False

    def of_kind(self, kind: ClauseKind) -> tuple[Clause, ...]:
        """Return the clauses of one kind in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)

    def expressions(self) -> Iterator[str]:
        """Return all conditions and values as written."""
        yield self.condition
        for clause in self.clauses:
            if clause.condition is not None:
                yield clause.condition
            yield from (assignment.value for assignment in clause.assignments)
