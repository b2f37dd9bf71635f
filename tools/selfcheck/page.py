"""The HTML report of ``python -m tools.selfcheck``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.heat import NEVER, heat_cell
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Note, Page, Part, Table, Tone
from mergecheck.harness.cli.html.random_cases.fuzz import throughput
from mergecheck.harness.cli.html.verdicts import ended
from mergecheck.model.formatting import counted
from tools.selfcheck.score_text import summary_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.verdict import ExitCode
    from tools.selfcheck.score import FaultScore, Score


def selfcheck_page(found: Score, *, floor: float, code: ExitCode) -> Page:
    """Show how fast mutants were found.

    Args:
        found: the score.
        floor: the minimum share of solved faults.
        code: the exit code.
    """
    total = counted(len(found.counted), "mutant")
    told = f"{found.num_solved} of {total} found by every seed ({found.solved_share:.0%}; the floor is {floor:.0%})"
    minimal = [one for one in found.faults if one.shrunk is not None]
    return Page(
        verb="selfcheck",
        subject=counted(len(found.faults), "mutant"),
        verdict=ended(code, f"{told}."),
        facts=(
            Fact(name="Seeds", text=", ".join(map(str, found.seeds))),
            Fact(name="Most cases of a seed", text=f"{found.max_cases:,}"),
        ),
        doubts=Part(empty="Every fault that counts is found by every seed.", notes=tuple(_doubts(found))),
        findings=Part(empty="Minimal cases are made with --shrink.", tables=(_minimal(minimal),) if minimal else ()),
        deviations=Part(empty="Mutants are looked for without known deviations of engines."),
        coverage=Part(
            facts=tuple(Fact(name="", text=line) for line in summary_lines(found)[1:4] if line),
            tables=(_faults(found), _checks(found)),
        ),
        time=Part(
            facts=(
                Fact(name="Time of all seeds together", text=f"{found.seconds:.0f} s"),
                Fact(name="Cases", text=f"{found.num_cases:,}"),
                Fact(name="Runs of a faulty merge", text=f"{found.num_runs:,}"),
                Fact(name="Throughput", text=throughput(found.num_cases, found.seconds)),
            )
        ),
    )


def _doubts(found: Score) -> Iterator[Note]:
    for one in found.faults:
        if one not in found.counted:
            yield Note(tone=Tone.PLAIN, word="equivalent", text=f"{one.fault.id}: {one.fault.equivalent}")
        elif not one.is_solved:
            text = f"{one.fault.id} (found by {one.num_found} of {counted(len(one.kills), 'seed')})"
            lines = tuple(line for line in (one.fault.summary, one.fault.seldom) if line)
            yield Note(tone=Tone.WARN, word="not solved", text=text, lines=lines)


def _by_difficulty(found: Score) -> list[FaultScore]:
    return sorted(found.faults, key=lambda one: (float("inf") if one.median is None else one.median, one.fault.id))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _faults(found: Score) -> Table:
    return Table(
        caption="Faults: random cases until they are found, the hardest last",
        columns=(
            Column(name="Fault"),
            Column(name="What is wrong"),
            Column(name="Area"),
            Column(name="Found by"),
            Column(name="Median cases", is_number=True),
            Column(name="Worst", is_number=True),
        ),
        rows=tuple(
            (
                Cell(text=one.fault.id),
                Cell(text=one.fault.summary),
                Cell(text=one.fault.area.value),
                Cell(
                    text=f"{one.num_found} of {counted(len(one.kills), 'seed')}",
                    glyph=(Tone.GOOD if one.is_solved else Tone.WARN).glyph,
                    tone=Tone.GOOD if one.is_solved else Tone.WARN,
                ),
                Cell(text=_number(one.median)),
                Cell(text=_number(one.worst)),
            )
            for one in _by_difficulty(found)
        ),
    )


def _checks(found: Score) -> Table:
    names = sorted({check for one in found.faults for check in one.checks})
    most = len(found.seeds)
    return Table(
        caption="Checks that see a fault, in seeds",
        columns=(Column(name="Fault"), *(Column(name=name.replace("_", " "), is_number=True) for name in names)),
        rows=tuple(
            (Cell(text=one.fault.id), *(heat_cell(one.checks[name], most) for name in names))
            for one in _by_difficulty(found)
        ),
        foot=f"{NEVER} no seed saw the fault by this check",
    )


def _minimal(faults: list[FaultScore]) -> Table:
    return Table(
        caption="Minimal cases of the mutants",
        columns=(
            Column(name="Fault"),
            Column(name="Rows", detail="target + source"),
            Column(name="Clauses", is_number=True),
            Column(name="Seconds", is_number=True),
            Column(name="Statement"),
        ),
        rows=tuple(
            (
                Cell(text=one.fault.id),
                Cell(text=f"{one.shrunk.num_target_rows} + {one.shrunk.num_source_rows}"),
                Cell(text=str(one.shrunk.num_clauses)),
                Cell(text=f"{one.shrunk.seconds:.0f}", note="cut short by its limit" if one.shrunk.cut_short else ""),
                Cell(text=one.shrunk.sql),
            )
            for one in faults
            if one.shrunk is not None
        ),
        is_data=True,
    )
