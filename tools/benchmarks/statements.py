"""Merges as people write them: how many the reference judges, and what engines make of those.

The cases are in ``tests/regress/statements``, one file per origin of their shapes. ``held-out`` was written before
the supported ones were known; its share is reported apart.

    python -m tools.benchmarks.statements
    python -m tools.benchmarks.statements --expressions auto
    python -m tools.benchmarks.statements --engine pyspark --engine delta-spark

With ``--expressions auto`` Spark evaluates expressions that have no translation to DuckDB; the table then has the
number of statements are judged with its help.

``--record`` writes the kinds of the answers, which the tests expect, to ``answers.json`` beside the cases.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.oracles.prepared_case import PreparedCase
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

FOLDER = Path(__file__).parents[2] / "tests" / "regress" / "statements"
ANSWERS = FOLDER / "answers.json"
HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A statement with the reference's answer.

    Attributes:
        origin: where its shape comes from.
    """

    origin: str
    prepared: PreparedCase

    @property
    def case(self) -> Case:
        """The statement; with the time written out, if it stores the time."""
        return self.prepared.case

    @property
    def kind(self) -> str:
        """The kind of the answer: ``predicted``, ``rejected: CLASS`` or ``unsupported: REASON``."""
        if self.prepared.defect:
            return f"unsupported: {self.prepared.defect}"
        answer = self.prepared.reference.answer
        if isinstance(answer, Unsupported):
            return f"unsupported: {answer.reason}"
        return f"rejected: {answer.error_class}" if isinstance(answer, Rejection) else "predicted"

    @property
    def is_helped(self) -> bool:
        """Whether Spark gave values for the answer."""
        return bool(self.prepared.reference.asked)

    @property
    def is_judged(self) -> bool:
        """Whether the reference predicts the result of the statement."""
        return not isinstance(self.prepared.reference.answer, Unsupported)


def statements() -> list[tuple[str, Case]]:
    """Give the cases with their origins, the held-out ones last."""
    files = sorted(FOLDER.glob("*.jsonl"), key=lambda path: (path.stem == HELD_OUT, path.stem))
    return [(path.stem, case) for path in files for case in load_cases(path)]


def answers(evaluate: Callable[[Case], Reference]) -> list[Answered]:
    """Ask the reference about every case."""
    return [
        Answered(origin=origin, prepared=prepare(case, reference=evaluate, timer=PhaseTimer()))
        for origin, case in statements()
    ]


def share(answered: Iterable[Answered]) -> float:
    """Give the share of the statements that are judged."""
    judged = [one.is_judged for one in answered]
    return sum(judged) / max(1, len(judged))


def table(answered: list[Answered]) -> str:
    """Write how many statements are judged, by origin, as a Markdown table."""
    lines = [
        "| origin | statements | judged | by DuckDB alone | with Spark | unsupported |",
        "|---|---|---|---|---|---|",
    ]
    collected = [one for one in answered if one.origin != HELD_OUT]
    groups = {origin: [one for one in answered if one.origin == origin] for origin in dict.fromkeys(_origins(answered))}
    groups = {**{name: of for name, of in groups.items() if name != HELD_OUT}, "all but held-out": collected} | {
        name: of for name, of in groups.items() if name == HELD_OUT
    }
    for origin, of in groups.items():
        judged = [one for one in of if one.is_judged]
        helped = sum(one.is_helped for one in judged)
        counts = f"{len(judged)} ({share(of):.0%}) | {len(judged) - helped} | {helped} | {len(of) - len(judged)}"
        lines.append(f"| {origin} | {len(of)} | {counts} |")
    return "\n".join(lines)


def _origins(answered: Iterable[Answered]) -> list[str]:
    return [one.origin for one in answered]


def run_engine(engine: Engine, answered: Iterable[Answered]) -> list[CaseReport]:
    """Check the statements that the reference judges on an engine; the engine is closed then."""
    checker = Checker(engine=engine, deviations=load_deviations())
    try:
        return [checker.check(one.prepared) for one in answered if one.is_judged]
    finally:
        engine.close()


def _print_engine(name: str, reports: list[CaseReport]) -> bool:
    verdicts = Counter(report.verdict for report in reports)
    click.echo(f"\n{name}: " + ", ".join(f"{number} {verdict.value}" for verdict, number in verdicts.most_common()))
    for report in reports:
        if report.verdict is Verdict.MISMATCH:
            known = f" (known: {', '.join(report.deviations)})" if report.deviations else ""
            click.echo(f"\n{report.case.id}{known}\n{mismatch_report(case_document(report))}")
        elif report.verdict not in (Verdict.AGREE, Verdict.BOTH_REJECTED):
            click.echo(f"  {report.case.id}: {report.verdict.value}: {report.reason}")
    wrong = (Verdict.MISMATCH, Verdict.ENGINE_ERROR)
    return any(report.verdict in wrong and not report.deviations for report in reports)


@click.command()
@click.option("--engine", "engines", multiple=True, help="Also run the judged statements on this engine.")
@click.option(
    "--expressions",
    type=click.Choice(("duckdb", "auto")),
    default="duckdb",
    show_default=True,
    help="What evaluates expressions: DuckDB alone, or DuckDB as far as it can and Spark for the rest.",
)
@click.option("--origin", "origins", multiple=True, help="Only statements of this origin.")
@click.option("--record", is_flag=True, help="Write the kinds of the answers for the tests.")
def main(*, engines: tuple[str, ...], expressions: str, origins: tuple[str, ...], record: bool) -> None:
    """Count the judged statements, list why the rest are not judged, and run them on engines."""
    # before the reference asks for the values of expressions: an engine decides what the Spark session has
    loaded = [load_engine(name) for name in engines]
    reference = MergeReference(SparkEvaluator() if expressions == "auto" else None)
    answered = [one for one in answers(reference.evaluate) if not origins or one.origin in origins]
    click.echo(table(answered))
    if record and (origins or expressions != "duckdb"):
        raise click.UsageError("--record writes all answers without Spark; leave out --origin and --expressions")
    if record:
        kinds = {one.case.id: one.kind for one in answered}
        ANSWERS.write_text(json.dumps(kinds, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    click.echo()
    reasons = Counter(one.kind for one in answered if not one.is_judged)
    for kind, number in reasons.most_common():
        ids = ", ".join(one.case.id for one in answered if one.kind == kind)
        click.echo(f"{number} {kind.removeprefix('unsupported: ')}: {ids}")
    found = [_print_engine(engine.name, run_engine(engine, answered)) for engine in loaded]
    sys.exit(any(found))


if __name__ == "__main__":
    main()
