"""Corrupt the recorded answer to a deviation's case, and see whether each corruption is reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.deviations.bug_models.judged import KeptReference
from mergecheck.harness.oracles.prepared_case import PreparedCase
from mergecheck.harness.oracles.reference_oracle import check_prepared
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_id import content_digest
from mergecheck.reference import evaluate
from tools.output_mutations.answered import Answered
from tools.output_mutations.catalogue import OUTPUT_MUTATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.deviations.registry import Deviation, Deviations
    from mergecheck.harness.lab.mutants import RecordedEngine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Outcome, Rejection
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.dialects import Dialect
    from tools.output_mutations.catalogue import OutputMutation


@dataclass(frozen=True, slots=True)
class Tried:
    """One corrupted answer.

    Attributes:
        answer: the corrupted answer.
        explained_by: the entries that take it for a known deviation; empty if it is reported, as it must be.
    """

    corruption: OutputMutation
    answer: Outcome | Rejection
    explained_by: tuple[str, ...]


def corrupted(entry: Deviation, known: Deviations, recorded: RecordedEngine) -> Iterator[Tried]:
    """Try every corruption of the recorded answer to an entry's case.

    A corruption may undo a deviation instead of adding a fault. Then the answer agrees, or only some of its differences
    are left, or only some of the entries that meet in the case are needed. Such an answer is left out.

    Args:
        entry: whose case it is.
        known: all entries that may explain an answer.
        recorded: the engine's answer to the case.
    """
    asked: dict[tuple[str, Dialect], Reference] = {}
    kept = KeptReference()

    def ask(case: Case, dialect: Dialect) -> Reference:
        """Evaluate each case once: the readings ask the same for every corruption, whose case is the same."""
        key = content_digest(case), dialect
        if key not in asked:
            asked[key] = kept(case, dialect)
        return asked[key]

    known = replace(known, ask=ask)
    reference = evaluate(entry.case, dialect=recorded.capabilities.dialect)
    prepared = PreparedCase(entry.case, reference)
    given = Answered(case=entry.case, reference=reference, capabilities=recorded.capabilities, result=recorded.answer)
    plain = check_prepared(prepared, recorded)
    differences = _differences(plain)
    entries = {one.id for one in known.explain(plain, recorded.capabilities)}
    for corruption in OUTPUT_MUTATIONS:
        for answer in corruption.spoiled(given):
            report = check_prepared(prepared, replace(recorded, answer=answer))
            if report.verdict is not Verdict.MISMATCH or _differences(report) < differences:
                continue
            explaining = tuple(one.id for one in known.explain(report, recorded.capabilities))
            if not explaining or not set(explaining) < entries:
                yield Tried(corruption, answer, explaining)


def _differences(report: CaseReport) -> set[tuple[str, str, str, str]]:
    return {(m.check.value, m.kind, m.against, part) for m in report.mismatches for part in m.parts or m.lines}
