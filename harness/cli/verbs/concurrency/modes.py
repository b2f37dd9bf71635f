"""The modes of ``mergecheck lab concurrency``: their runs and their reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.engine import InterruptibleEngine
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.interleaving_text import (
    MAX_FINDINGS,
    Tally,
    finding_lines,
    summary_line,
    tally_json,
)
from mergecheck.harness.lab.concurrency.race.counter import race_counters
from mergecheck.harness.lab.concurrency.race.race_run import run_race
from mergecheck.harness.lab.concurrency.race.race_text import race_json, race_lines
from mergecheck.harness.lab.concurrency.scenario import Isolation
from mergecheck.harness.lab.concurrency.tables import RefusedError
from mergecheck.harness.verdict import ExitCode
from mergecheck.model.formatting import counted
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.engine import InterleavedEngine
    from mergecheck.harness.lab.concurrency.race.race_run import RaceOptions, RaceReport
    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from mergecheck.harness.processes.time_limit import TimeLimit

_ROUNDS_BETWEEN_NOTICES = 25


def list_scenarios(chosen: Sequence[Scenario], *, as_json: bool) -> ExitCode:
    """Show the scenarios."""
    if as_json:
        emit_json({"scenarios": [{"name": one.name, "summary": one.summary} for one in chosen]})
    else:
        show("\n".join(f"{one.name:<22} {one.summary}" for one in chosen))
    return ExitCode.AGREE


def enumerate_all(
    chosen: Sequence[Scenario],
    engine: InterleavedEngine,
    *,
    isolation: Isolation = Isolation.SERIALIZABLE,
    limit: TimeLimit,
    as_json: bool,
) -> ExitCode:
    """Run every interleaving of some scenarios on an engine."""
    interrupt = engine.interrupt if isinstance(engine, InterruptibleEngine) else None
    reference, tallies = MergeReference(), [Tally(scenario) for scenario in chosen]
    for tally in tallies:
        try:
            for one in enumerate_interleavings(
                tally.scenario, engine, reference, isolation=isolation, limit=limit, interrupt=interrupt
            ):
                tally.add(one)
        except RefusedError as error:
            tally.refusal = str(error)
            if len(chosen) == 1:
                raise
        if not as_json:
            for found in tally.findings[:MAX_FINDINGS]:
                show("\n".join(finding_lines(found)) + "\n")
            show(tally.line())
    if as_json:
        emit_json({"engine": engine.name, "scenarios": [tally_json(tally) for tally in tallies]})
    else:
        show(summary_line(tallies))
    return ExitCode.MISMATCH if any(tally.findings for tally in tallies) else ExitCode.AGREE


def race(options: RaceOptions, *, as_json: bool) -> ExitCode:
    """Run a random race."""

    def tell(report: RaceReport) -> None:
        if report.num_rounds % _ROUNDS_BETWEEN_NOTICES == 0:
            notice(f"{counted(report.num_rounds, 'round')}, {counted(len(report.findings), 'finding')}")

    notice(f"starting {options.num_writers} writers of {options.engine} ...")
    report = run_race(options, listener=tell)
    if as_json:
        emit_json(race_json(report))
    else:
        show("\n".join(race_lines(report)))
    return ExitCode.MISMATCH if report.findings else ExitCode.AGREE


def count(
    engine_name: str, scenario: Scenario, *, num_threads: int, num_merges: int, limit: TimeLimit, as_json: bool
) -> ExitCode:
    """Let threads count, and look for lost updates."""
    report = race_counters(engine_name, scenario, num_threads=num_threads, num_merges=num_merges, limit=limit)
    if as_json:
        emit_json(report.document())
    else:
        show("\n".join(report.lines()))
    return ExitCode.MISMATCH if report.problems else ExitCode.AGREE
