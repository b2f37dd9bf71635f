"""What is known of one evaluated case, from which the rules that it reached are read off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import duckdb
from sqlglot import exp

from mergecheck.reference.evaluation.evaluation import FIRED_IN
from mergecheck.reference.evaluation.facts import sorts_of_matches
from mergecheck.reference.outcome import MergePath, Prediction, Rejection
from mergecheck.reference.syntax.statement import Action, Kind, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.reference.analysis.assignments import Assigned
    from mergecheck.reference.analysis.resolution import Resolved, ResolvedClause
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.evaluation.evaluation import Evaluation
    from mergecheck.reference.outcome import Reference
    from mergecheck.reference.syntax.statement import Clause, Statement
    from mergecheck.reference.types.data_types import Schema

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the specification.

    Attributes:
        number: as the specification gives it, ``R-213``.
        title: what it is about, in a few words.
        reached: tells whether a case reached it; None where no case can.
        out_of_reach: why no case can reach it; None where one can.
    """

    number: str
    title: str
    reached: Callable[[Evidence], bool] | None = None
    out_of_reach: str | None = None

    def __post_init__(self) -> None:
        if (self.reached is None) == (self.out_of_reach is None):
            raise ValueError(f"{self.number}: give either 'reached' or 'out_of_reach'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One case after its evaluation; what it did not come to is None.

    Attributes:
        statement: None where the text was refused.
        source_schema: None where the source was not found.
        merge: None where the analysis refused the statement.
        evaluation: its tables still exist; None where ``merge`` is.
        evolution: whether schema evolution is on.
    """

    case: Case
    reference: Reference
    statement: Statement | None = None
    source_schema: Schema | None = None
    merge: Resolved | None = None
    evaluation: Evaluation | None = None
    evolution: bool = False
    case_sensitive: bool = False
    _fired: list[tuple[ResolvedClause, str]] = field(init=False, default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Look once which clauses fired; most rules ask for it."""
        if self.merge is None or self.evaluation is None or self.prediction is None:
            return
        for kind, index in self.evaluation.fired():
            self._fired.append((self.merge.of(kind)[index], f"{FIRED_IN[kind]} WHERE clause = {index}"))

    @property
    def prediction(self) -> Prediction | None:
        """The prediction, None where the merge must fail."""
        return self.reference.answer if isinstance(self.reference.answer, Prediction) else None

    def rejected(self, *error_classes: str) -> bool:
        """Tell whether the merge must fail with one of the classes; none given means any."""
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
        return self.reference.facts.num_changed_rows

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

    def fired_assignments(self) -> Iterator[tuple[ResolvedClause, Assigned, str]]:
        """Go through what clauses assign that fired on some row, with the FROM clause of these rows."""
        for clause, rows in self.fired_clauses():
            for assigned in clause.assigned:
                yield clause, assigned, rows

    def fired_clauses(self, *actions: Action) -> Iterator[tuple[ResolvedClause, str]]:
        """Go through the clauses that fired on some row, with the FROM and WHERE clause of these rows."""
        return ((clause, rows) for clause, rows in self._fired if not actions or clause.action in actions)

    def pairs(self) -> list[tuple[int, int]]:
        """Give the matches as pairs of numbers of rows; none where the rows were not matched."""
        return self._asked(lambda evaluation: evaluation.pairs()) or []

    def matches(self) -> frozenset[str]:
        """Name the sorts of matches there are; none where the rows were not matched."""
        return self._asked(sorts_of_matches) or frozenset()

    def tried(self, kind: Kind) -> list[int | None]:
        """Say of each row of a kind which clause fired on it, None for none; no rows where no clause was tried."""
        return self._asked(lambda evaluation: evaluation.tried(kind)) or []

    def has_rows(self, rows: str) -> bool:
        """Tell whether what may follow FROM has a row in the evaluation's tables; False where there are no tables."""
        return self._asked(lambda evaluation: evaluation.has_rows(rows)) or False

    def _asked(self, question: Callable[[Evaluation], _Answer]) -> _Answer | None:
        if self.evaluation is None:
            return None
        try:
            return question(self.evaluation)
        except duckdb.Error:  # an expression that fails on some row, or a table that was not made
            return None

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
        return left == right if self.case_sensitive else left.lower() == right.lower()
