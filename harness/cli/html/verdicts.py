"""A run's end and its known deviations, for an HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.page import Cell, Column, Note, Part, Table, Tone
from mergecheck.harness.verdict import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mergecheck.harness.cli.html.page import CaseView
    from mergecheck.harness.deviations.registry import Deviations

_WORDS = {
    ExitCode.AGREE: (Tone.GOOD, "AGREE"),
    ExitCode.MISMATCH: (Tone.BAD, "MISMATCH"),
    ExitCode.USAGE: (Tone.WARN, "NOT ALL READ"),
    ExitCode.ENGINE: (Tone.WARN, "ENGINE FAILED"),
    ExitCode.INCONCLUSIVE: (Tone.WARN, "INCONCLUSIVE"),
    ExitCode.INTERRUPTED: (Tone.WARN, "INTERRUPTED"),
}
NO_FINDINGS = "No difference is left unexplained."
NO_DEVIATIONS = "No case showed a known deviation."


def ended(code: ExitCode, text: str) -> Note:
    """Describe how a run ended, by its exit code.

    Args:
        code: the exit code.
        text: the sentence beside it.
    """
    tone, word = _WORDS[code]
    return Note(tone=tone, word=word, text=text)


IN_PART = "cases judged in part: the reference predicts nothing, and what the engine shows breaks no invariant"


def doubt(number: int, text: str, lines: Iterable[str] = ()) -> Note:
    """Show a limitation of a verdict; a warning unless the number is 0.

    Args:
        number: how many cases or checks it concerns.
        text: the limitation.
        lines: the details.
    """
    tone = Tone.WARN if number else Tone.GOOD
    return Note(tone=tone, word=f"{number:,}" if number else "none", text=text, lines=tuple(lines))


def by_count(counts: Mapping[str, int]) -> tuple[str, ...]:
    """List the counted items, the most frequent first."""
    return tuple(f"{number:,}: {text}" for text, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def known(counts: Mapping[str, int], deviations: Deviations, cases: Sequence[CaseView] = ()) -> Part:
    """Show known deviations with their reasons.

    Args:
        counts: cases by id of the deviation.
        deviations: the known deviations.
        cases: cases that show them.
    """
    entries = {entry.id: entry for entry in deviations.entries}
    rows = [
        (
            Cell(text=name),
            Cell(text=f"{number:,}"),
            Cell(text=entries[name].reason if name in entries else ""),
            Cell(text=entries[name].link if name in entries else ""),
        )
        for name, number in sorted(counts.items(), key=lambda item: -item[1])
    ]
    table = Table(
        caption="Deviations that explain differences of this run",
        columns=(
            Column(name="Deviation"),
            Column(name="Cases", is_number=True),
            Column(name="What the engine does"),
            Column(name="More"),
        ),
        rows=tuple(rows),
    )
    return Part(empty=NO_DEVIATIONS, tables=(table,) if rows else (), cases=tuple(cases))
