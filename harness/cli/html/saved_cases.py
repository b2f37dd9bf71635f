"""The HTML reports of ``mergecheck replay`` and ``mergecheck run``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.case_view import TONES, case_view
from mergecheck.harness.cli.html.heat import LEGEND, clause_table, pair_maps, path_table
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Note, Page, Part, Table, Tone
from mergecheck.harness.cli.html.verdicts import IN_PART, NO_FINDINGS, by_count, doubt, ended, known
from mergecheck.harness.findings.finding_status import FindingStatus
from mergecheck.harness.properties.rule_counts import RuleState, known_rules, rule_counts, rules_line
from mergecheck.harness.properties.statistics import Counts
from mergecheck.harness.report.document import verdict_word
from mergecheck.harness.report.json import checks_not_made, num_by_spark, num_partly, reasons_of
from mergecheck.harness.verdict import Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.cli.html.page import CaseView
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.scoreboard.majority_vote import Vote
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.harness.report.table_merge import OwnTables
    from mergecheck.harness.verdict import CaseReport, ExitCode

MAX_VIEWS = 100
"""Cases that are shown in full; the others are in the table of verdicts."""

MAX_LISTED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """A case that was checked.

    Attributes:
        document: the checked case.
        status: the new status of the finding that it was; empty if it was none.
    """

    document: CaseDocument
    status: str = ""

    @property
    def report(self) -> CaseReport:
        """The check on the engine."""
        return self.document.checked

    @property
    def is_unchecked(self) -> bool:
        """Whether the checks made agree, but did not cover the finding's difference."""
        agrees = self.report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED)
        return agrees and self.status == FindingStatus.NOT_CHECKED.words.upper()


def replay_page(
    checked: Sequence[ShownCase],
    *,
    engine: str,
    not_read: Sequence[str],
    num_left: int,
    deviations: Deviations,
    code: ExitCode,
) -> Page:
    """Show saved cases that were checked again.

    Args:
        checked: the cases.
        engine: its name.
        not_read: why a case could not be read, or was refused.
        num_left: cases that were not run.
        deviations: the engine's known deviations.
        code: the exit code.
    """
    reports = [one.report for one in checked]
    named = next((f"{report.engine} {report.engine_version}".rstrip() for report in reports), engine)
    num_found = sum(_is_finding(report) for report in reports)
    num_unchecked = sum(one.is_unchecked for one in checked)
    num_agree = sum(report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED) for report in reports) - num_unchecked
    told = f"{num_agree:,} of {len(reports):,} saved cases agree on {named}"
    found = f"{counted(num_found, 'case differs', 'cases differ')}; " if num_found else ""
    doubts = [
        doubt(len(not_read), "cases that could not be read, or were refused", not_read),
        doubt(num_left, "cases that were not run"),
        doubt(num_unchecked, "findings whose difference was not compared again"),
        *_doubts(reports),
    ]
    return Page(
        verb="replay",
        subject=named,
        verdict=ended(code, f"{found}{told}."),
        facts=(Fact(name="Engine", text=named), Fact(name="Cases", text=f"{len(reports):,}")),
        doubts=Part(notes=tuple(doubts)),
        findings=_findings(checked),
        deviations=_deviations(checked, deviations),
        coverage=_coverage(reports, verdicts=(_verdicts(checked),)),
        time=_time(reports),
    )


def run_page(
    checked: Sequence[ShownCase],
    *,
    votes: Sequence[Vote],
    deviations: Deviations,
    code: ExitCode,
    facts: Sequence[Fact] = (),
) -> Page:
    """Show one case on one or several engines.

    Args:
        checked: the case on each engine.
        votes: the votes; empty for fewer than three parties.
        deviations: known deviations of the engines.
        code: the exit code.
        facts: where the case comes from.
    """
    reports = [one.report for one in checked]
    engines = ", ".join(f"{report.engine} {report.engine_version}".rstrip() for report in reports)
    told = "; ".join(f"{report.engine}: {verdict_word(report).lower()}" for report in reports)
    return Page(
        verb="run",
        subject=engines,
        verdict=ended(code, f"Case {reports[0].case.id}. {told}."),
        facts=(Fact(name="Engines" if len(reports) > 1 else "Engine", text=engines), *facts),
        doubts=Part(notes=tuple(_doubts(reports))),
        findings=Part(
            tables=(_parties(votes),) if votes else (),
            cases=tuple(case_view(one.document) for one in checked),
        ),
        deviations=known(_known(reports), deviations),
        coverage=_coverage(reports[:1]),
        time=_time(reports),
    )


def own_facts(own: OwnTables) -> tuple[Fact, ...]:
    """Name the user's own tables, and the command that checks their merge again."""
    return (
        Fact(name="Target", text=str(own.target), is_code=True),
        Fact(name="Source", text=str(own.source), is_code=True),
        Fact(name="Reproduce", text=own.command, is_code=True),
    )


def _is_finding(report: CaseReport) -> bool:
    return report.verdict is Verdict.MISMATCH and not report.deviations


def _findings(checked: Sequence[ShownCase]) -> Part:
    shown = [one for one in checked if _is_finding(one.report) or one.report.verdict is Verdict.ENGINE_ERROR]
    return Part(empty=NO_FINDINGS, notes=_left_out(shown), cases=_views(shown))


def _deviations(checked: Sequence[ShownCase], deviations: Deviations) -> Part:
    shown = [one for one in checked if one.report.deviations]
    return known(_known([one.report for one in shown]), deviations, _views(shown))


def _views(checked: Sequence[ShownCase]) -> tuple[CaseView, ...]:
    return tuple(
        case_view(
            one.document,
            title=", ".join(one.report.deviations),
            facts=[Fact(name="Saved finding", text=one.status)] if one.status else [],
        )
        for one in checked[:MAX_VIEWS]
    )


def _left_out(shown: Sequence[ShownCase]) -> tuple[Note, ...]:
    num_more = len(shown) - MAX_VIEWS
    text = "more cases differ; the table of verdicts names them"
    return (Note(tone=Tone.WARN, word=f"{num_more:,}", text=text),) if num_more > 0 else ()


def _known(reports: Sequence[CaseReport]) -> Counter[str]:
    return Counter(name for report in reports for name in report.deviations)


def _doubts(reports: Sequence[CaseReport]) -> Iterator[Note]:
    reasons = reasons_of(reports, Verdict.UNSUPPORTED)
    yield doubt(reasons.total(), "cases that the engine does not support", by_count(reasons))
    if reasons := reasons_of(reports, Verdict.JUDGED_IN_PART):
        yield doubt(reasons.total(), IN_PART, by_count(reasons))
    failed = Counter(report.reason for report in reports if report.verdict is Verdict.ENGINE_ERROR)
    yield doubt(failed.total(), "cases on which the engine, or its adapter, failed", by_count(failed))
    missing = checks_not_made(reports)
    yield doubt(len(missing), "kinds of checks not made, or not in full, in some cases", by_count(missing))
    if partly := num_partly(reports):
        yield doubt(partly, "cases with values that nobody can know, judged by their form")
    if asked := num_by_spark(reports):
        text = "cases whose expressions Spark evaluated for the reference"
        yield Note(tone=Tone.PLAIN, word=f"{asked:,}", text=text)


def _verdicts(checked: Sequence[ShownCase]) -> Table:
    num_more = len(checked) - MAX_LISTED
    return Table(
        caption="Verdicts",
        columns=tuple(Column(name=name) for name in ("Case", "Verdict", "Saved finding", "Why", "File")),
        rows=tuple(
            (
                Cell(text=one.report.case.id),
                Cell(
                    text=verdict_word(one.report).lower(),
                    glyph=(tone := Tone.WARN if one.report.deviations else TONES[one.report.verdict]).glyph,
                    tone=tone,
                ),
                Cell(text=one.status or "-"),
                Cell(text=", ".join(one.report.deviations) or one.report.reason),
                Cell(text=one.document.where),
            )
            for one in checked[:MAX_LISTED]
        ),
        foot=f"not listed: {counted(num_more, 'more case')}" if num_more > 0 else "",
    )


def _coverage(reports: Sequence[CaseReport], *, verdicts: tuple[Table, ...] = ()) -> Part:
    counts = Counts()
    for report in reports:
        counts.add(report)
    states = rule_counts(known_rules(), counts.rules)
    reached = tuple(f"{one.rule.number}" for one in states if one.state is RuleState.REACHED)
    facts = [Fact(name="Rules", text=rules_line(states)), Fact(name="Reached", text=", ".join(reached) or "none")]
    maps = tuple(pair_maps(counts.space.pairs)) if len(reports) > 1 else ()
    if maps:
        facts.append(Fact(name="Heat maps", text=LEGEND))
    return Part(facts=tuple(facts), tables=(*verdicts, clause_table(counts), path_table(counts), *maps))


def _time(reports: Sequence[CaseReport]) -> Part:
    phases = Counter[str]()
    for report in reports:
        phases.update(report.phase_seconds)
    facts = [Fact(name="Checks", text=f"{sum(report.seconds for report in reports):.2f} s")]
    facts += [Fact(name=name.capitalize(), text=f"{seconds:.2f} s") for name, seconds in phases.items()]
    return Part(facts=tuple(facts))


def _parties(votes: Sequence[Vote]) -> Table:
    return Table(
        caption="Majority vote: parties by answer",
        columns=(Column(name="Check"), Column(name="Parties")),
        rows=tuple(
            (
                Cell(text=vote.check.value),
                Cell(
                    text=vote.text,
                    glyph=(tone := Tone.GOOD if len(vote.groups) == 1 else Tone.BAD).glyph,
                    tone=tone,
                ),
            )
            for vote in votes
        ),
    )
