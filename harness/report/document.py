"""The report of one case as a value; its text, JSON and HTML forms are drawn from it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import EXPECT, REFERENCE
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST
from mergecheck.harness.compare.rows import MAX_ROWS_SHOWN
from mergecheck.harness.explanation.contradictions import contradiction_lines
from mergecheck.harness.explanation.explanation_text import why_lines
from mergecheck.harness.findings.fingerprint import primary_mismatch
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.specification.citations import cited, titled, with_titles
from mergecheck.harness.verdict import Check, HarnessBugError, Oracle
from mergecheck.model.formatting import fit, row_text
from mergecheck.model.outcome import Outcome, Prediction, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Rejection
    from mergecheck.reference.answer import Reference

NOT_EXPLAINED = "not explained"
FILES_ADDED = "numTargetFilesAdded"
COUNTS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_SHRINK_OPTIONS = frozenset({"oracle", "expressions", "deviations", "no-deviations"})
_NAMES = {Check.CDF: "changes"}
BASE = "base"
"""Of a variant: the judge beside the reference."""
_OTHER_JUDGES = frozenset({REFERENCE, EXPECT, AGAINST, BASE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One way in which an engine differs.

    Attributes:
        check: the observable.
        lines: the difference, with the rules that it cites.
        whole: the same without an end, for a page that scrolls.
        broken: the rules that the engine's answer breaks, a line each.
        follows: whether it follows from another difference: it is the same fact in another observable.
    """

    check: str
    lines: tuple[str, ...]
    whole: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    follows: bool = False


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
    def hypothesis(self) -> str:
        """What the engine acts as if, the most specific that agrees with its answer; empty if there is none."""
        return self.hypotheses[0] if self.hypotheses else ""

    @property
    def has_files(self) -> bool:
        """Whether the engine reports files or paths, so that their explanation is about its answer."""
        result = self.result
        return isinstance(result, Outcome) and (result.path is not None or FILES_ADDED in result.metrics)

    @property
    def checks(self) -> tuple[str, ...]:
        """The observables that differ."""
        mismatches = () if self.report is None else self.report.mismatches
        return tuple(dict.fromkeys(check_name(one.check) for one in mismatches))

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

    def why(self, width: int, *, full: bool = True) -> tuple[str, ...]:
        """Explain how the answer contradicts itself, if it does, and row by row how the reference derives its own.

        Args:
            width: columns of a line.
            full: explain every row, with files and rules; else only the rows in which the engine differs, and files
                only if it reports some.
        """
        case = self.explained or self.case
        own = () if self.report is None else contradiction_lines(self.report, width=width)
        if full:
            return (*own, *why_lines(case, self.reference, width=width))
        if not self.is_evaluated:
            return tuple(own)
        result = self.result if isinstance(self.result, Outcome) else None
        lines = why_lines(case, self.reference, width=width, result=result, with_files=self.has_files)
        return (*own, *lines)


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
    given = tuple(hypotheses or (finding.hypotheses if finding is not None else ()))
    cut_short = finding is not None and finding.cut_short
    return CaseDocument(
        case=report.case,
        reference=report.reference if reference is None else reference,
        report=report,
        differences=tuple(differences_of(report, is_explained=bool(given) and NOT_EXPLAINED not in given[0])),
        hypotheses=given,
        not_checked=tuple(_not_checked(report, check) for check in report.unsupported_checks),
        commands=() if where is None else commands_of(report, str(where), case_id=case_id, cut_short=cut_short),
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
    head, *rest = lines
    return Difference(
        check=check_name(mismatch.check),
        lines=(head + against, *rest),
        whole=(head + against, *(mismatch.parts or rest)),
        broken=broken,
    )


def differences_of(report: CaseReport, *, is_explained: bool) -> Iterator[Difference]:
    """Describe how an engine differs; what follows from the difference that names the fault is marked, and comes last.

    Args:
        report: the check of the case.
        is_explained: whether one hypothesis explains all differences.
    """
    if not report.mismatches:
        return
    first = primary_mismatch(report)
    of_reference = {(m.check, m.kind) for m in report.mismatches if m.against == REFERENCE}
    once = [m for m in report.mismatches if m.against != BASE or (m.check, m.kind) not in of_reference]
    following = {m: _follows(m, first, report, is_explained=is_explained) for m in once}
    together = _updates_together(report)
    for mismatch in sorted(once, key=lambda m: following[m]):
        if together is not None and _is_of_rows(mismatch, "extra_rows"):
            continue
        is_pairs = together is not None and _is_of_rows(mismatch, "missing_rows")
        shown = together if together is not None and is_pairs else difference_of(mismatch)
        yield replace(shown, follows=following[mismatch])


def _is_of_rows(mismatch: Mismatch, kind: str) -> bool:
    return (mismatch.check, mismatch.against, mismatch.kind) == (Check.ROWS, REFERENCE, kind)


def _updates_together(report: CaseReport) -> Difference | None:
    """Show missing and extra rows as one difference: below a row that an update makes, the row that is there instead.

    Returns:
        None if no missing row has such a partner.
    """
    answer, effects = report.reference.answer, report.reference.trace.effects
    missing = next((m for m in report.mismatches if _is_of_rows(m, "missing_rows")), None)
    extra = next((m for m in report.mismatches if _is_of_rows(m, "extra_rows")), None)
    if missing is None or extra is None or effects is None or not isinstance(answer, Prediction):
        return None
    before = {
        f"- {row_text(new, answer.schema)}": f"+ {row_text(effects.old[rid], answer.schema)}"
        for rid, new in effects.updated.items()
    }
    left, lines = list(extra.parts), []
    for line in missing.parts:
        lines.append(line)
        if before.get(line) in left:
            left.remove(before[line])
            lines.append(before[line])
    if len(left) == len(extra.parts):
        return None
    lines += left
    shown = [fit(line) for line in lines[: 2 * MAX_ROWS_SHOWN]]
    rest = [f"  and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    head = f"{missing.lines[0]}; {extra.lines[0]}"
    return Difference(check=check_name(Check.ROWS), lines=(head, *shown, *rest), whole=(head, *lines))


def _follows(mismatch: Mismatch, first: Mismatch, report: CaseReport, *, is_explained: bool) -> bool:
    """Return whether a difference is the same fact as the first one, in another observable."""
    if mismatch == first or EXPECT in (mismatch.against, first.against):
        return False
    if mismatch.against == AGAINST and any(m.against == REFERENCE for m in report.mismatches):
        return True
    if mismatch.check is first.check:
        return mismatch.against != first.against  # the base of a variant differs as the reference does
    if is_explained:
        return True
    if mismatch.check is Check.RESULT:
        return any(m.check is Check.METRICS and m.kind in COUNTS for m in report.mismatches)
    if mismatch.check is Check.METRICS and first.check is Check.ROWS:
        return mismatch.kind in COUNTS and _counts_are_those_of_rows(report)
    return False


def _counts_are_those_of_rows(report: CaseReport) -> bool:
    """Return whether the engine's counts are right for its own rows, which differ from the reference's."""
    result = report.result
    if not isinstance(result, Outcome):
        return False
    added = result.metrics.get(COUNTS[0], 0) - result.metrics.get(COUNTS[2], 0)
    return len(result.rows) - len(report.case.target.rows) == added


def commands_of(
    report: CaseReport, where: str, *, case_id: str | None = None, cut_short: bool = False
) -> tuple[Command, ...]:
    """Return commands that reproduce a mismatch: from the command line, in pytest, and as a SQL script.

    Args:
        report: the check of the case.
        where: the case file, or the id of a finding.
        case_id: the case's id, if the file holds several.
        cut_short: whether shrinking was cut short: a command goes on with it.
    """
    chosen = "" if case_id is None else f" --id {shlex.quote(case_id)}"
    rerun, place = report.rerun, shlex.quote(where)
    if _judge(report.mismatches).startswith("relation"):
        rerun = replace(rerun, options=(("oracle", Oracle.METAMORPHIC.value), *rerun.options))
    return (
        Command(name="Reproduce", text=f"mergecheck replay{rerun.flags()} {place}"),
        Command(name="In pytest", text=f"pytest{rerun.flags('--mergecheck-')} --mergecheck-case {place}"),
        Command(name="As SQL", text=f"mergecheck cases show {place}{chosen} --sql"),
        *((shrink_on(report, where),) if cut_short else ()),
    )


def shrink_on(report: CaseReport, where: str) -> Command:
    """Return the command that goes on with shrinking a case."""
    options = tuple(one for one in report.rerun.options if one[0] in _SHRINK_OPTIONS)
    flags = replace(report.rerun, options=options).flags()
    return Command(name="Smaller", text=f"mergecheck cases shrink{flags} {shlex.quote(where)}")


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
