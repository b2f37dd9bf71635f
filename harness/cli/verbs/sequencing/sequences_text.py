"""The report at the end of ``mergecheck lab sequences``: texts and JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mergecheck.harness.cli.output.terminal import show, show_wrapped
from mergecheck.harness.lab.sequences.totals import added_up, turns_json
from mergecheck.harness.lab.sequences.turns import TurnCounts
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.render import printable
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.sequences.report import SequenceReport
    from mergecheck.harness.lab.sequences.totals import Run

MAX_LINES = 12


def show_result(reports: list[SequenceReport], *, seed: int | None, steps: int, who: str, start: int) -> None:
    """Show what differs and the counts, and how to do the same again if the sequences were drawn."""
    for report in reports:
        if report.mismatches or report.report is not None:
            show("\n".join(lines_of(report)) + "\n")
    _show_endings(Counter(report.ending.value for report in reports))
    done = Counter(type(step).__name__.lower() for r in reports for step in r.sequence.steps[: r.num_steps])
    show("steps: " + ", ".join(f"{name} {count}" for name, count in done.most_common()))
    for reason, count in Counter(report.reason for report in reports if report.reason).most_common():
        show(f"  {count:>4}  {reason}")
    _show_turns(_turns(reports))
    if seed is not None:
        show(
            f"seed {seed}  same sequences again: mergecheck lab sequences{who} --seed {seed} "
            f"--steps {steps} --max-sequences {len(reports)}" + (f" --start {start}" if start else "")
        )


def lines_of(report: SequenceReport) -> list[str]:
    """Describe in lines how a sequence ended: the step, the writer, and the differences."""
    kinds = [type(step).__name__.lower() for step in report.sequence.steps]
    done = ", ".join(kinds[: report.num_steps])
    lines = [f"{report.ending.value.upper()}  {printable(report.sequence.id)}  after {done}"]
    if report.pair is not None:
        lines.append(f"  written by {report.pair[0]}, then {report.pair[1]}")
    if report.report is not None:
        lines.append(f"  {printable(report.report.case.sql)}")
    found = [line for mismatch in report.mismatches for line in (mismatch.check.value, *mismatch.lines)]
    return [*lines, *(f"  {line}" for line in found[:MAX_LINES])]


def show_totals(runs: list[Run], path: Path) -> None:
    """Show what all runs of a file came to."""
    endings, turns = added_up(runs)
    show(f"\nAll of {printable(str(path))}, {counted(len(runs), 'run')}:")
    _show_endings(endings)
    _show_turns(turns)


def _show_endings(endings: Counter[str]) -> None:
    told = ", ".join(f"{name} {count}" for name, count in endings.most_common())
    show(f"{counted(endings.total(), 'sequence')}: {told}")


def _turns(reports: list[SequenceReport]) -> TurnCounts:
    turns = TurnCounts()
    for report in reports:
        turns.add(report.turns)
    return turns


def _show_turns(turns: TurnCounts) -> None:
    """Return how often each ordered pair of writers had its turn, and the reads; empty for a single engine."""
    for title, pairs in (("written after", turns.pairs), ("read by", turns.reads)):
        told = [f"{first} -> {second} {count}" for (first, second), count in sorted(pairs.items())]
        show_wrapped([f"{title}: {', '.join(told)}"] if told else [])
    for what, count in turns.own.most_common():
        show(f"  {count:>4}  {what}: differs on a fresh table, too")
    for reason, count in turns.skipped.most_common():
        show(f"  {count:>4}  skipped: {printable(reason)}")


def result_json(
    reports: list[SequenceReport],
    *,
    engine_name: str,
    writers: tuple[str, ...],
    seed: int | None,
    is_complete: bool,
) -> dict[str, Any]:
    """Write the result as ``--json`` gives it."""
    turns = _turns(reports)
    return {
        "engine": None if writers else engine_name,
        "writers": list(writers),
        **turns_json(turns),
        "seed": seed,
        "complete": is_complete,
        "counts": dict(Counter(report.ending.value for report in reports)),
        "sequences": [
            {
                "id": report.sequence.id,
                "ending": report.ending.value,
                "steps": report.num_steps,
                "reason": report.reason,
                "pair": None if report.pair is None else list(report.pair),
                "mismatches": mismatches_json(report.mismatches),
            }
            for report in reports
        ],
    }
