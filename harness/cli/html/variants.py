"""The HTML report of ``mergecheck variants``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.case_view import case_view
from mergecheck.harness.cli.html.heat import heat_cell
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Note, Page, Part, Table, Tone
from mergecheck.harness.cli.html.verdicts import NO_FINDINGS, by_count, doubt, ended
from mergecheck.harness.report.document import case_document
from mergecheck.harness.variants.judge import Ending
from mergecheck.harness.variants.variants_text import (
    COLUMNS,
    by_rule,
    excluded_lines,
    path_lines,
    rows_of,
    undrawn_lines,
    unswitched_lines,
)
from mergecheck.harness.verdict import Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.cli.html.page import CaseView
    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.finding import VariantFinding
    from mergecheck.harness.verdict import ExitCode


def variants_page(
    counts: Counts,
    found: Sequence[VariantFinding],
    *,
    engine: str,
    required: Sequence[str],
    required_paths: Sequence[str] = (),
    again: str,
    code: ExitCode,
) -> Page:
    """Show cases under configurations that must not change them.

    Args:
        counts: the counts of the run.
        found: the differences.
        engine: its name.
        required: operators that some plan should have shown.
        required_paths: paths that some merge should have taken.
        again: the command that checks the same cases; empty for saved cases.
        code: the exit code.
    """
    told = f"{counted(counts.num_cases, 'case')} under {counted(counts.num_variants, 'variant')}"
    differ = counted(len(found), "difference") if found else "no difference"
    facts = [Fact(name="Engine", text=engine)]
    facts += [Fact(name="Same cases again", text=again, is_code=True)] if again else []
    return Page(
        verb="variants",
        subject=engine,
        verdict=ended(code, f"{told}: {differ}."),
        facts=tuple(facts),
        doubts=Part(notes=tuple(_doubts(counts, required, required_paths))),
        findings=Part(empty=NO_FINDINGS, cases=tuple(map(_view, found))),
        deviations=Part(empty="No variant differed in a way that is known or allowed.", notes=tuple(_allowed(counts))),
        coverage=Part(
            facts=(
                Fact(name="Pairs of values on two axes", text=f"{len(counts.pairs):,}"),
                Fact(name="Different plans", text=f"{len(counts.plans):,}"),
                *(Fact(name="Paths", text=line) for line in path_lines(counts)),
            ),
            tables=(_places(counts), _operators(counts)),
        ),
        time=Part(
            facts=(
                Fact(name="Wall time", text=f"{counts.seconds:.1f} s"),
                Fact(name="Runs of variants", text=f"{counts.num_variants:,}"),
                Fact(name="Pairs of tables in batches", text=f"{counts.num_batched:,}"),
            )
        ),
    )


def _doubts(counts: Counts, required: Sequence[str], required_paths: Sequence[str]) -> Iterator[Note]:
    yield doubt(
        counts.bases[Verdict.UNSUPPORTED],
        "cases that the engine or the reference does not support",
        by_count(counts.reasons),
    )
    failed = counts.bases[Verdict.ENGINE_ERROR] + counts.endings[Ending.ENGINE_ERROR]
    yield doubt(failed, "runs on which the engine, or its adapter, failed")
    unseen = [f"{one}: no plan showed {' or '.join(one.plan)}" for one in counts.unseen()]
    yield doubt(len(unseen), "places that were tried, but whose operators no plan showed", unseen)
    missing = counts.missing(required)
    yield doubt(len(missing), "operators that --require-plan asks for and no plan showed", missing)
    missing_paths = counts.missing_paths(required_paths)
    yield doubt(len(missing_paths), "paths that --require-path asks for and no merge took", missing_paths)
    unswitched = unswitched_lines(counts)
    yield doubt(len(unswitched), "values that never switched a path of theirs", unswitched)
    undrawn = undrawn_lines(counts)
    yield doubt(len(undrawn), "features that axes favour and the engine leaves out", undrawn)
    excluded = excluded_lines(counts)
    yield doubt(len(excluded), "values that cases exclude by settings of their own", excluded)
    yield doubt(counts.num_flaky, "flaky differences: a second execution did not show them")
    yield doubt(counts.endings[Ending.UNSUPPORTED], "runs of variants that the engine does not support")


def _allowed(counts: Counts) -> Iterator[Note]:
    if counts.endings[Ending.KNOWN]:
        text = "runs differed in a way that is a known deviation"
        yield Note(tone=Tone.WARN, word=f"{counts.endings[Ending.KNOWN]:,}", text=text)
    if counts.endings[Ending.EXEMPT]:
        yield Note(
            tone=Tone.PLAIN,
            word=f"{counts.endings[Ending.EXEMPT]:,}",
            text="runs differed only in what the variant may change",
            lines=tuple(f"{number:,}: {by_rule(rule)}" for rule, number in counts.rules.most_common()),
        )


def _view(finding: VariantFinding) -> CaseView:
    report = finding.report
    facts = [Fact(name="Fingerprint", text=str(finding.fingerprint))]
    if finding.variant is None:
        facts.append(Fact(name="Variant", text="the base itself differs from the reference"))
    else:
        facts += [Fact(name="Variant", text=" ".join(line.split())) for line in finding.variant.lines()]
        if finding.found_with is not None and finding.found_with.name != finding.variant.name:
            facts.append(Fact(name="Found with", text=finding.found_with.name))
    where = str(finding.path or f"{report.case.id}.json")
    command = Fact(name="Reproduce", text=finding.command(where), is_code=True)
    document = case_document(report, hypotheses=finding.hypotheses)
    document = replace(document, explained=finding.explained.case)
    return case_view(document, facts=facts, commands=[command])


def _places(counts: Counts) -> Table:
    listed = rows_of(counts)
    rows = [row for row in listed if any(text not in ("0", "-") for text in row[1:])]
    num_idle = len(listed) - len(rows)
    idle = f"{num_idle} more ran on no case" if rows else "no variant ran"
    most = max((int(text) for row in rows for text in row[1:] if text.isdigit()), default=0)
    return Table(
        caption="Places: cases by ending",
        columns=(
            Column(name=COLUMNS[0].capitalize()),
            *(Column(name=name.capitalize(), is_number=True) for name in COLUMNS[1:]),
        ),
        rows=tuple(
            (
                Cell(text=row[0]),
                *(
                    heat_cell(int(text), most)
                    if name in ("cases", "equal", "plan seen") and text.isdigit()
                    else Cell(text=text)
                    for name, text in zip(COLUMNS[1:], row[1:], strict=True)
                ),
            )
            for row in rows
        ),
        foot=idle if num_idle or not rows else "",
    )


def _operators(counts: Counts) -> Table:
    most = max(counts.operators.values(), default=0)
    return Table(
        caption="Operators of executed plans",
        columns=(Column(name="Operator"), Column(name="Runs", is_number=True)),
        rows=tuple((Cell(text=name), heat_cell(number, most)) for name, number in counts.operators.most_common()),
        foot="" if counts.operators else "no plan was seen",
    )
