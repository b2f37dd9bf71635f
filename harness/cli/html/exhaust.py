"""The HTML report of ``mergecheck exhaust``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.case_view import finding_view
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Page, Part, Table
from mergecheck.harness.cli.html.verdicts import NO_FINDINGS, by_count, doubt, ended, known
from mergecheck.harness.lab.exhaustive.exhaustive_text import VERDICTS, sentence
from mergecheck.harness.lab.exhaustive.journal import DISPUTE
from mergecheck.harness.verdict import Verdict

if TYPE_CHECKING:
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.exhaustive.exhaustive_run import ExhaustiveReport


def exhaust_page(report: ExhaustiveReport, *, deviations: Deviations) -> Page:
    """Show a run over a scope.

    Args:
        report: the run.
        deviations: the engine's known deviations.
    """
    merges, engine = report.merges, f"{report.engine} {report.engine_version}".rstrip()
    disputes = [f"statement {n}: {line}" for n, result in report.results.items() for line in result.disputes]
    return Page(
        verb="exhaust",
        subject=engine,
        verdict=ended(report.code, f"{sentence(report)}."),
        facts=(
            Fact(name="Engine", text=engine),
            Fact(name="Scope", text=f"{report.scope.name}: {report.scope.summary}"),
            Fact(name="Statements", text=f"{report.numbers.start} to {report.numbers.stop - 1}"),
            Fact(name="Ended", text=report.stop.value),
        ),
        doubts=Part(
            notes=(
                doubt(len(report.left), "statements that are not done"),
                doubt(merges[DISPUTE], "merges on which the row model and the reference differ", disputes),
                doubt(
                    merges[Verdict.UNSUPPORTED.value],
                    "merges that the engine does not support",
                    by_count(report.reasons),
                ),
                doubt(merges[Verdict.ENGINE_ERROR.value], "merges on which the engine, or its adapter, failed"),
                doubt(len(report.missing_paths), "paths that no merge took", report.missing_paths),
            )
        ),
        findings=Part(
            empty=NO_FINDINGS,
            cases=tuple(
                finding_view(event.finding, where=event.path, num_cases=report.findings[event.finding.id])
                for event in report.saved
            ),
        ),
        deviations=known(report.deviations, deviations),
        coverage=Part(tables=(_verdicts(report), _kinds(report))),
        time=Part(
            facts=(
                Fact(name="Wall time", text=f"{report.seconds:.1f} s"),
                Fact(name="Merges of this run", text=f"{report.num_new:,}"),
            )
        ),
    )


def _verdicts(report: ExhaustiveReport) -> Table:
    return Table(
        caption="Merges by verdict",
        columns=(Column(name="Verdict"), Column(name="Merges", is_number=True)),
        rows=tuple(
            (Cell(text=text), Cell(text=f"{report.merges[name]:,}"))
            for name, text in VERDICTS.items()
            if report.merges[name]
        ),
        foot=f"They stand for {report.num_lists:,} pairs of lists of rows.",
    )


def _kinds(report: ExhaustiveReport) -> Table:
    names = dict.fromkeys(result.tables for result in report.results.values())
    rows = []
    for name in names:
        of_kind = [result for result in report.results.values() if result.tables == name]
        merges = sum(result.num_merges for result in of_kind)
        rows.append((Cell(text=name), Cell(text=f"{len(of_kind):,}"), Cell(text=f"{merges:,}")))
    return Table(
        caption="Merges by tables",
        columns=(
            Column(name="Tables"),
            Column(name="Statements", is_number=True),
            Column(name="Merges", is_number=True),
        ),
        rows=tuple(rows),
    )
