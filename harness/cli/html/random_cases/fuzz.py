"""The HTML report of ``mergecheck fuzz``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.case_view import finding_view
from mergecheck.harness.cli.html.heat import LEGEND, clause_table, pair_maps, path_table
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Note, Page, Part, Table, Tone
from mergecheck.harness.cli.html.random_cases.trend import trend_part
from mergecheck.harness.cli.html.verdicts import IN_PART, NO_FINDINGS, by_count, doubt, ended, known
from mergecheck.harness.properties.case_space import possible_pairs
from mergecheck.harness.properties.limits import percent
from mergecheck.harness.properties.phases import OVERLAP, PHASES
from mergecheck.harness.properties.rule_counts import RuleState, known_rules, rule_counts, rules_line
from mergecheck.harness.properties.statistics import CLAUSES, batch_line
from mergecheck.harness.specification.citations import titled
from mergecheck.harness.verdict import ExitCode, Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.properties.limits import Limits
    from mergecheck.harness.properties.statistics import Counts, Summary
    from mergecheck.harness.report.events import FindingSaved
    from mergecheck.harness.report.fuzz_figures import RunFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzRun:
    """A run, besides its counts.

    Attributes:
        engine: name and version. limits: limits that it must keep.
        missed: why it is inconclusive, a sentence each; empty if it is not.
        again: the command that checks the same cases.
        runs: earlier runs and this one, for the trend; empty without earlier ones.
    """

    engine: str
    limits: Limits
    missed: tuple[str, ...]
    again: str
    runs: tuple[RunFigures, ...] = ()


def fuzz_page(
    summary: Summary, saved: Sequence[FindingSaved], *, run: FuzzRun, deviations: Deviations, code: ExitCode
) -> Page:
    """Show a run of random cases.

    Args:
        summary: its counts.
        saved: its findings.
        run: its inputs and limits.
        deviations: the engine's known deviations.
        code: its exit code.
    """
    counts = summary.counts
    return Page(
        verb="fuzz",
        subject=run.engine,
        verdict=ended(code, _sentence(summary, run, code)),
        facts=(
            Fact(name="Engine", text=run.engine),
            Fact(name="Cases", text=f"{counts.num_cases:,}"),
            Fact(name="Seed", text=str(summary.seed)),
            Fact(name="Ended", text=summary.stop.value),
            Fact(name="Same cases again", text=run.again, is_code=True),
        ),
        doubts=Part(notes=tuple(_doubts(summary, run))),
        findings=Part(
            empty=NO_FINDINGS,
            cases=tuple(
                finding_view(event.finding, where=event.path, num_cases=counts.findings[event.finding.id])
                for event in saved
            ),
        ),
        deviations=known(counts.deviations, deviations),
        coverage=_coverage(summary),
        time=_time(summary, saved),
        trend=trend_part(run.runs),
    )


def _sentence(summary: Summary, run: FuzzRun, code: ExitCode) -> str:
    counts = summary.counts
    verified = f"{counts.num_verified:,} of {counted(counts.num_cases, 'case')} verified ({counts.verified_share:.0%})"
    if counts.findings:
        return f"{counted(len(counts.findings), 'finding')} on {run.engine}; {verified}."
    if code is ExitCode.INCONCLUSIVE:
        return f"{'; '.join(run.missed)}: {verified}."
    return f"No unexplained difference on {run.engine}; {verified}."


def _doubts(summary: Summary, run: FuzzRun) -> Iterator[Note]:
    counts, verdicts = summary.counts, summary.counts.verdicts
    limits = run.limits
    share = f"{percent(counts.verified_share)} of the cases are verified; the floor is {percent(limits.floor)}"
    is_enough = counts.verified_share >= limits.floor
    yield Note(tone=Tone.GOOD if is_enough else Tone.WARN, word="enough" if is_enough else "too few", text=share)
    if counts.num_deviating:
        share = percent(counts.deviating_share)
        is_few = counts.deviating_share <= limits.max_deviating
        yield Note(
            tone=Tone.GOOD if is_few else Tone.WARN,
            word="few" if is_few else "too many",
            text=f"{share} of the cases show known deviations; the limit is {percent(limits.max_deviating)}",
        )
    yield doubt(
        verdicts[Verdict.UNSUPPORTED],
        "cases that the engine does not support",
        by_count(counts.unsupported),
    )
    if counts.in_part:
        yield doubt(counts.in_part.total(), IN_PART, by_count(counts.in_part))
    lines = (*by_count(counts.not_checked), *(f"metric {line}" for line in by_count(counts.not_checked_metrics)))
    yield doubt(len(counts.not_checked), "kinds of checks not made, or not in full, in some cases", lines)
    never = [" ".join(key) for key in CLAUSES if not counts.clauses_fired[key]]
    yield doubt(len(never), "kinds of clauses that never fired", never)
    blind = [" and ".join(pair) for pair in possible_pairs() if pair not in counts.space.pairs]
    yield doubt(len(blind), "blind pairs: possible pairs of values that no case had together", blind)
    missed = [
        titled([count.rule.number])
        for count in rule_counts(known_rules(), counts.rules)
        if count.state is RuleState.NOT_REACHED
    ]
    yield doubt(len(missed), "rules of the specification that no case reached", missed)
    yield doubt(counts.num_idle, "verified cases in which no clause fired")
    yield doubt(counts.num_flaky, "flaky mismatches: a second execution did not show them")
    yield doubt(counts.num_engine_failures, "cases on which the engine, or its adapter, failed")
    if counts.num_defects:
        yield doubt(counts.num_defects, "cases on which the reference failed: a defect of mergecheck")
    if counts.num_partly:
        yield doubt(counts.num_partly, "cases with values that nobody can know, judged by their form")
    if counts.num_by_spark:
        text = "cases whose expressions Spark evaluated for the reference"
        yield Note(tone=Tone.PLAIN, word=f"{counts.num_by_spark:,}", text=text)
    rejected = by_count(counts.rejected)
    number = verdicts[Verdict.BOTH_REJECTED]
    text = "cases that both sides reject, by error class"
    yield Note(tone=Tone.PLAIN, word=f"{number:,}", text=text, lines=rejected)


def _coverage(summary: Summary) -> Part:
    counts = summary.counts
    possible = possible_pairs()
    reached = sum(pair in counts.space.pairs for pair in possible)
    return Part(
        facts=(
            Fact(name="Rules", text=rules_line(rule_counts(known_rules(), counts.rules))),
            Fact(name="Case space", text=f"{counted(len(counts.space.cells), 'cell')}"),
            Fact(name="Pairs of values", text=f"{reached} of {len(possible)}"),
            Fact(name="A row changed in", text=f"{counts.changed_share:.0%} of the verified cases"),
            Fact(name="Several matches in", text=counted(counts.num_multi_matched, "case")),
            *(Fact(name="Work", text=line) for line in counts.work.lines()),
            Fact(name="Heat maps", text=LEGEND),
        ),
        tables=(clause_table(counts), path_table(counts), *pair_maps(counts.space.pairs)),
    )


def _time(summary: Summary, saved: Sequence[FindingSaved]) -> Part:
    counts = summary.counts
    facts = [
        Fact(name="Wall time", text=f"{summary.seconds:.1f} s, start-up not counted"),
        Fact(name="Throughput", text=throughput(counts.num_cases, summary.seconds)),
        Fact(name="Repeated draws skipped", text=f"{counts.num_repeated:,}"),
    ]
    if counts.num_batches:
        facts.append(
            Fact(name="Pairs of tables", text=f"{counts.num_pairs:,}, {throughput(counts.num_pairs, summary.seconds)}")
        )
        facts.append(Fact(name="Batches", text=batch_line(summary)))
    if counts.num_passed_over:
        facts.append(Fact(name="Draws passed over (--steer)", text=f"{counts.num_passed_over:,}"))
    facts += [
        Fact(
            name=f"Shrinking {event.finding.id}",
            text=f"{event.finding.seconds:.1f} s, {counted(event.finding.num_runs, 'run')}",
        )
        for event in saved
    ]
    return Part(facts=tuple(facts), tables=(_phase_table(counts),))


def _phase_table(counts: Counts) -> Table:
    rows = []
    for phase, meaning in PHASES.items():
        seconds = counts.phase_seconds.get(phase, 0.0)
        each = f"{1000 * seconds / counts.num_cases:,.1f}" if counts.num_cases else "-"
        rows.append((Cell(text=phase), Cell(text=f"{seconds:,.1f}"), Cell(text=each), Cell(text=meaning)))
    return Table(
        caption="Time by phase",
        columns=(
            Column(name="Phase"),
            Column(name="Seconds", is_number=True),
            Column(name="Milliseconds a case", is_number=True),
            Column(name="What it is"),
        ),
        rows=tuple(rows),
        foot=OVERLAP,
    )


def throughput(num_cases: int, seconds: float) -> str:
    """Return how many cases a second were checked, as text."""
    return f"{num_cases / seconds:.1f} cases a second" if seconds else "-"
