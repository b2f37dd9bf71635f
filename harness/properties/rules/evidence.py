"""The known facts of one evaluated case, from which the reached rules are derived."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.source_tables import TARGET, tables_read_by_source
from mergecheck.model.outcome import MergePath, Prediction, Rejection
from mergecheck.reference.syntax.statement import Kind, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mergecheck.model.case import Case, Value
    from mergecheck.model.facts import Facts
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.analysis.resolved import Resolved, ResolvedClause
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.syntax.statement import Action, Clause, Statement
    from mergecheck.reference.trace import Candidate, Effects, Matches


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the specification.

    Attributes:
        number: as the specification gives it, ``R-213``.
        reached: returns whether a case reached it; None where no case can.
        out_of_reach: why no case can reach it; None where one can.
    """

    number: str
    reached: Callable[[Evidence], bool] | None = None
    out_of_reach: str | None = None

    def __post_init__(self) -> None:
        if (self.reached is None) == (self.out_of_reach is None):
            raise ValueError(f"{self.number}: give either 'reached' or 'out_of_reach'")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedClause:
    """A clause that applies to some row.

    Attributes:
        index: its position among the clauses of its kind.
        candidates: the units to which it applies.
    """

    clause: ResolvedClause
    index: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One case after its evaluation.

    Attributes:
        applied: the clauses that apply to some row; none if the merge fails.
    """

    case: Case
    reference: Reference
    facts: Facts
    applied: tuple[AppliedClause, ...]

    @property
    def statement(self) -> Statement | None:
        """The statement; None if its text was refused."""
        return self.reference.trace.statement

    @property
    def reads_target(self) -> bool:
        """Whether the source is the target, or a query that reads it."""
        return self.statement is not None and TARGET in tables_read_by_source(self.statement)

    @property
    def source_schema(self) -> Schema | None:
        """The schema of the source; None if there is no such source."""
        source = self.reference.trace.source
        return None if source is None else source.schema

    @property
    def merge(self) -> Resolved | None:
        """The resolved statement; None if analysis refused it."""
        return self.reference.trace.merge

    @property
    def evolution(self) -> bool:
        """Whether schema evolution is on."""
        return self.reference.trace.evolution

    @property
    def matches(self) -> Matches | None:
        """Which rows match; None if they were not matched."""
        return self.reference.trace.matches

    @property
    def effects(self) -> Effects | None:
        """The result of the merge for the rows; None if it must fail."""
        return None if self.prediction is None else self.reference.trace.effects

    @property
    def prediction(self) -> Prediction | None:
        """The prediction, None where the merge must fail."""
        return self.reference.answer if isinstance(self.reference.answer, Prediction) else None

    def rejected(self, *error_classes: str) -> bool:
        """Return whether the merge must fail with any of the classes; none given means any."""
        answer = self.reference.answer
        if not isinstance(answer, Rejection):
            return False
        return not error_classes or any(answer.error_class.startswith(given) for given in error_classes)

    @property
    def path(self) -> MergePath | None:
        """The execution path of a merge that succeeds."""
        return None if self.prediction is None else self.prediction.path

    @property
    def changed_rows(self) -> int:
        """Inserted, updated and deleted rows."""
        return self.facts.num_changed_rows

    def counted(self, metric: str) -> int:
        """The least value of an operation metric; 0 where the merge fails."""
        return 0 if self.prediction is None else self.prediction.metrics[metric].low

    @property
    def change_feed(self) -> bool:
        """Whether the merge succeeds on a table with its change data feed on."""
        return self.prediction is not None and self.case.target.change_data_feed

    @property
    def new_schema(self) -> bool:
        """Whether the merge succeeds and changes the schema."""
        return self.prediction is not None and self.prediction.schema != self.case.target.schema

    def written(self, *kinds: Kind) -> tuple[Clause, ...]:
        """The clauses as they are written; of all kinds if none is given."""
        clauses = () if self.statement is None else self.statement.clauses
        return tuple(clause for clause in clauses if not kinds or clause.kind in kinds)

    def resolved(self, *kinds: Kind) -> tuple[ResolvedClause, ...]:
        """The resolved clauses; of all kinds if none is given."""
        clauses = () if self.merge is None else self.merge.clauses
        return tuple(clause for clause in clauses if not kinds or clause.kind in kinds)

    def conditions(self) -> tuple[exp.Expr, ...]:
        """ON, then the conditions of the clauses."""
        if self.statement is None:
            return ()
        return (self.statement.on, *(c.condition for c in self.statement.clauses if c.condition is not None))

    def values(self) -> tuple[exp.Expr, ...]:
        """The assigned expressions."""
        return tuple(assignment.value for clause in self.written() for assignment in clause.assignments)

    def applied_clauses(self, action: Action) -> Iterator[AppliedClause]:
        """Go through the clauses of an action that apply to some row."""
        return (applied for applied in self.applied if applied.clause.action is action)

    def candidates(self, kind: Kind) -> tuple[Candidate, ...]:
        """The units on which the clauses of a kind are tried; none if the merge fails."""
        return () if self.effects is None else self.effects.candidates[kind]

    def names(self) -> Iterator[tuple[str, ...]]:
        """Go through the column names that the statement mentions, assigned ones included."""
        for node in (*self.conditions(), *self.values()):
            for column in node.find_all(exp.Column):
                yield name_parts(column)
        for clause in self.written():
            for assignment in clause.assignments:
                yield assignment.path

    def same(self, left: str, right: str) -> bool:
        """Compare names by the session's rule."""
        settings = self.reference.trace.settings
        return left == right if settings is not None and settings.case_sensitive else left.lower() == right.lower()


def evidence_of(case: Case, reference: Reference, facts: Facts) -> Evidence:
    """Collect the evidence of a case after its evaluation."""
    merge, effects = reference.trace.merge, reference.trace.effects
    applied: list[AppliedClause] = []
    if merge is not None and effects is not None and isinstance(reference.answer, Prediction):
        for kind in Kind:
            for index, clause in enumerate(merge.of(kind)):
                if candidates := effects.applied(kind, index):
                    applied.append(AppliedClause(clause=clause, index=index, candidates=candidates))
    return Evidence(case=case, reference=reference, facts=facts, applied=tuple(applied))


def comparable(value: Value) -> Hashable:
    """Make a value equal to those that are the same in SQL: NaN is NaN, zeros are equal (R-801, R-802)."""
    if isinstance(value, tuple):
        return tuple(comparable(part) for part in value)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
