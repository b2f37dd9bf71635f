"""The input and output of a bug model: an answer and the reference's answer to compare it with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.compare.answers.expectations import compare_expectation
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.prepared_case import PhaseTimer, PreparedCase
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.oracles.reference_oracle import compare_answer, must_fail, prepare
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.reference.dialects import DELTA, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference


Ask: TypeAlias = "Callable[[Case, Dialect], Reference]"


class KeptReference:
    """Evaluates case after case; if the reference fails, there is no answer.

    It opens one DuckDB, with the first question: that takes as long as evaluating a case.
    """

    def __call__(self, case: Case, dialect: Dialect) -> Reference:
        """Evaluate a case by the rules of a dialect."""
        return prepare(case, reference=partial(self._reference.evaluate, dialect=dialect), timer=PhaseTimer()).reference

    @cached_property
    def _reference(self) -> MergeReference:
        return MergeReference()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An engine's answer to a case.

    Attributes:
        given: the case that the engine ran.
        case: the case that it is taken to have run; the invariants refer to its tables.
        reference: the answer to compare with.
        result: the answer; repairs undo its known faults.
        must_fail: whether the reference refuses the case as it was given; then the bug models decide what is stored.
        dialect: how the engine is taken to treat several source rows that match a target row.
        ask: evaluates another case, or this one, by the reference.
    """

    given: Case
    case: Case
    reference: Reference
    result: Outcome | Rejection
    must_fail: bool = False
    dialect: Dialect = DELTA
    ask: Ask = field(default_factory=KeptReference)

    def with_case(self, case: Case) -> Judged | None:
        """Take the engine to have run another case; None if the reference has no answer to it."""
        reference = self.ask(case, self.dialect)
        return None if isinstance(reference.answer, Unsupported) else replace(self, case=case, reference=reference)

    def mismatches(self, capabilities: Capabilities) -> tuple[Mismatch, ...]:
        """Compare the answer, as every answer is compared."""
        merge = self.reference.trace.merge
        present = () if merge is None else ((clause.kind.value, clause.action.value) for clause in merge.clauses)
        prepared = PreparedCase(self.case, self.reference)
        return compare_answer(
            prepared,
            self.result,
            capabilities=capabilities,
            present=frozenset(present),
            must_fail=self.must_fail or must_fail(self.reference),
        ).mismatches


class Phase(Enum):
    """When a bug model has its turn."""

    REWRITE = 1
    """the reference is asked another question"""
    REPAIR = 2
    """known faults of the answer are undone, if present"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BugModel:
    """Another behaviour that an engine is taken to have.

    Attributes:
        name: its name in entries.
        apply: returns the answers to compare then; None if the bug model changes nothing.
    """

    name: str
    phase: Phase
    apply: Callable[[Judged], Judged | None]


def judged(report: CaseReport, ask: Ask, dialect: Dialect = DELTA) -> Judged | None:
    """Take a report apart; None if it has no answer, or no reference answer to compare it with.

    An expectation that the reference fulfils adds nothing, and is left out. So is one that the engine's answer
    fulfils: it may state a fault of the engine, which a repair undoes.
    """
    if not isinstance(report.result, Outcome | Rejection) or not isinstance(
        report.reference.answer, Prediction | Rejection
    ):
        return None
    case = report.case
    if case.expect is not None:
        answers = (answered(report.reference.answer), report.result)
        if any(_fulfils(answer, case) for answer in answers if isinstance(answer, Outcome | Rejection)):
            case = replace(case, expect=None)
    result = report.result
    if isinstance(result, Outcome) and any(found.check is Check.ROWS for found in report.mismatches):
        result = replace(result, work=None)  # files that were left alone are no fault besides the wrong rows in them
    return Judged(
        given=case,
        case=case,
        reference=report.reference,
        result=result,
        must_fail=must_fail(report.reference),
        dialect=dialect,
        ask=ask,
    )


def _fulfils(answer: Outcome | Rejection, case: Case) -> bool:
    assert case.expect is not None, "only cases with an expectation come here"  # noqa: S101 - tells mypy
    found = compare_expectation(case.expect, answer, capabilities=Capabilities(), schema=case.target.schema)
    return not found.mismatches
