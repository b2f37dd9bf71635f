"""The report of one case as a value; its text, JSON and HTML forms are drawn from it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import EXPECT, REFERENCE
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST
from mergecheck.harness.explanation.explanation_text import why_lines
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.specification.citations import cited, titled, with_titles
from mergecheck.harness.verdict import Check, HarnessBugError, Oracle
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Outcome, Rejection
    from mergecheck.reference.answer import Reference

_NAMES = {Check.CDF: "changes"}
_OTHER_JUDGES = frozenset({REFERENCE, EXPECT, AGAINST, "base"})  # the base of a variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One way in which an engine differs: the observable, and lines that describe it, with the broken rules."""

    check: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """An observable that was not compared, or not in full.

    Attributes:
        reason: why; empty if the engine declares no reason.
        metrics: the metrics that were not compared, with their reasons; empty for another observable.
    """

    check: str
    reason: str
    metrics: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command that shows the difference again."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How a search found and shrank a case.

    Attributes:
        rows_before: rows of target and source of the drawn case; rows_after: of the minimal case.
        num_runs: executions that shrinking took; seconds: the time; cut_short: whether a limit ended it.
    """

    fingerprint: str
    seed: int
    num_cases: int
    rows_before: tuple[int, int]
    rows_after: tuple[int, int]
    num_runs: int
    seconds: float
    cut_short: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDocument:
    """One case, explained by the reference, and checked on an engine.

    Attributes:
        case: the tables, the statement and the settings.
        reference: the reference's answer and its trace.
        report: the check on an engine; None if only the reference evaluated the case.
        differences: how the engine's answer differs.
        hypotheses: faults of the engine that would give its answer, such as ``as if NULL counted as TRUE in clause 1``.
        not_checked: the observables that were not compared.
        commands: how to reproduce a mismatch; empty if there is none, or no file to name.
        discovery: how a search found the case; None for a case that was given.
        where: the case file, or the id of a finding; empty if there is none.
        under: lines below the headline, such as the axes of a variant.
        explained: the case that the reference was asked, if that is another one.
    """

    case: Case
    reference: Reference
    report: CaseReport | None
    differences: tuple[Difference, ...] = ()
    hypotheses: tuple[str, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    commands: tuple[Command, ...] = ()
    discovery: Discovery | None = None
    where: str = ""
    under: tuple[str, ...] = ()
    explained: Case | None = None

    @property
    def checked(self) -> CaseReport:
        """The check on an engine.

        Raises:
            HarnessBugError: only the reference evaluated the case.
        """
        if self.report is None:
            raise HarnessBugError(f"no engine ran the case {self.case.id}, whose check is to be shown")
        return self.report

    @property
    def verdict(self) -> str:
        """The verdict's word, as every form of the report has it."""
        return "EXPLAINED" if self.report is None else verdict_word(self.report)

    @property
    def engine(self) -> str:
        """The engine's name and version; empty without an engine."""
        return "" if self.report is None else f"{self.report.engine} {self.report.engine_version}".rstrip()

    @property
    def judge(self) -> str:
        """The judge of the engine's answer: the reference, or a relation between its own answers."""
        return _judge(() if self.report is None else self.report.mismatches)

    @property
    def checks(self) -> tuple[str, ...]:
        """The observables that differ."""
        return tuple(dict.fromkeys(one.check for one in self.differences))

    @property
    def reason(self) -> str:
        """Why the case was not judged, or only in part."""
        return "" if self.report is None else self.report.reason

    @property
    def result(self) -> Outcome | Rejection | Unsupported | None:
        """The engine's answer; None if it gave none."""
        return None if self.report is None else self.report.result

    @property
    def unknown_columns(self) -> tuple[str, ...]:
        """Columns of the table with values of which only the form can be judged."""
        return () if self.report is None else self.report.unknown_columns

    @property
    def from_spark(self) -> tuple[str, ...]:
        """The expressions that Spark evaluated for the reference, each on one line."""
        return tuple(" ".join(text.split()) for text in self.reference.asked)

    @property
    def is_evaluated(self) -> bool:
        """Whether the reference supports the case."""
        return not isinstance(self.reference.answer, Unsupported)

    def why(self, width: int) -> tuple[str, ...]:
        """Explain row by row how the reference derives its answer, in lines of at most ``width`` columns."""
        return tuple(why_lines(self.explained or self.case, self.reference, width=width))


def case_document(
    report: CaseReport,
    *,
    reference: Reference | None = None,
    hypotheses: Sequence[str] = (),
    where: Path | str | None = None,
    case_id: str | None = None,
    finding: Finding | None = None,
) -> CaseDocument:
    """Make the document of a checked case.

    Args:
        report: the check of the case.
        reference: an evaluation with more of its trace than the report has.
        hypotheses: faults of the engine that would give its answer; without any, the ones saved with the finding.
        where: the case file, or the id of a finding, for the commands.
        case_id: the case's id, if the file holds several.
        finding: the finding, if the case came out of a search.
    """
    return CaseDocument(
        case=report.case,
        reference=report.reference if reference is None else reference,
        report=report,
        differences=tuple(map(difference_of, report.mismatches)),
        hypotheses=tuple(hypotheses or (finding.hypotheses if finding is not None else ())),
        not_checked=tuple(_not_checked(report, check) for check in report.unsupported_checks),
        commands=() if where is None else commands_of(report, str(where), case_id=case_id),
        discovery=None if finding is None else _discovery(finding),
        where="" if where is None else str(where),
    )


def check_name(check: Check) -> str:
    """Name an observable for a person."""
    return _NAMES.get(check, check.value)


def verdict_word(report: CaseReport) -> str:
    """Name the verdict as every report does."""
    return "DEVIATES" if report.deviations else report.verdict.value.upper().replace("_", " ")


def difference_of(mismatch: Mismatch) -> Difference:
    """Describe how an engine differs, and the rules that its answer breaks."""
    against = " (against the case's expect)" if mismatch.against == EXPECT else ""
    lines = tuple(map(with_titles, mismatch.lines or (mismatch.kind,)))
    broken = tuple(f"breaks {titled([number])}" for number in cited(mismatch.kind))
    return Difference(check=check_name(mismatch.check), lines=(lines[0] + against, *lines[1:], *broken))


def commands_of(report: CaseReport, where: str, *, case_id: str | None = None) -> tuple[Command, ...]:
    """Return commands that reproduce a mismatch: from the command line, in pytest, and as a SQL script.

    Args:
        report: the check of the case.
        where: the case file, or the id of a finding.
        case_id: the case's id, if the file holds several.
    """
    chosen = "" if case_id is None else f" --id {shlex.quote(case_id)}"
    rerun, place = report.rerun, shlex.quote(where)
    if _judge(report.mismatches).startswith("relation"):
        rerun = replace(rerun, options=(("oracle", Oracle.METAMORPHIC.value), *rerun.options))
    return (
        Command(name="Reproduce", text=f"mergecheck replay{rerun.flags()} {place}"),
        Command(name="In pytest", text=f"pytest{rerun.flags('--mergecheck-')} --mergecheck-case {place}"),
        Command(name="As SQL", text=f"mergecheck cases show {place}{chosen} --sql"),
    )


def _judge(mismatches: Sequence[Mismatch]) -> str:
    relations = [m.against for m in mismatches if m.against not in _OTHER_JUDGES]
    return f"relation {relations[0]}" if relations else "reference duckdb"


def _not_checked(report: CaseReport, check: Check) -> NotChecked:
    reasons = report.unsupported_reasons
    metrics = report.unsupported_metrics if check is Check.METRICS else ()
    return NotChecked(
        check=check_name(check),
        reason=reasons.get(check.value, ""),
        metrics=tuple((name, reasons.get(name, "")) for name in metrics),
    )


def _discovery(finding: Finding) -> Discovery:
    return Discovery(
        fingerprint=str(finding.fingerprint),
        seed=finding.seed,
        num_cases=finding.num_cases,
        rows_before=num_rows(finding.original),
        rows_after=num_rows(finding.report.case),
        num_runs=finding.num_runs,
        seconds=finding.seconds,
        cut_short=finding.cut_short,
    )
