"""A file of totals: what runs of ``sequences`` have come to, so that a later run goes on and adds to it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.sequences.turns import TurnCounts
from mergecheck.harness.processes.output_files import write_text
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mergecheck.harness.lab.sequences.report import SequenceReport

FORMAT_VERSION = 1


class TotalsFormatError(Exception):
    """A file holds no totals; the message gives the fault."""


@dataclass(slots=True, kw_only=True)
class Run:
    """The results of one seed's sequences.

    Attributes:
        writers: the engines in turn, or the only one.
        steps: steps of each sequence.
        start: number of the next sequence to do.
        endings: sequences by how they ended.
    """

    writers: tuple[str, ...]
    seed: int
    steps: int
    start: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    turns: TurnCounts = field(default_factory=TurnCounts)

    def add(self, report: SequenceReport, *, number: int) -> None:
        """Count one more sequence, the one with this number."""
        self.endings[report.ending.value] += 1
        self.turns.add(report.turns)
        self.start = number + 1


def run_of(runs: list[Run], *, writers: tuple[str, ...], seed: int, steps: int) -> Run:
    """Return the run with these writers, seed and steps; a new one at the end of the list if there is none."""
    for run in runs:
        if (run.writers, run.seed, run.steps) == (writers, seed, steps):
            return run
    runs.append(Run(writers=writers, seed=seed, steps=steps))
    return runs[-1]


def added_up(runs: Iterable[Run]) -> tuple[Counter[str], TurnCounts]:
    """Add up the results of all runs: sequences by ending, and the writers' turns."""
    endings: Counter[str] = Counter()
    turns = TurnCounts()
    for run in runs:
        endings.update(run.endings)
        turns.add(run.turns)
    return endings, turns


def read_totals(path: Path) -> list[Run]:
    """Read a file of totals; a file that is not there has none.

    Raises:
        TotalsFormatError: it is none.
        OSError: it cannot be read.
    """
    if not path.exists():
        return []
    try:
        document = json.loads(read_ordinary(path))
        if document["format_version"] != FORMAT_VERSION:
            raise TotalsFormatError(f"format version {document['format_version']} instead of {FORMAT_VERSION}")
        return [_run(each) for each in document["runs"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TotalsFormatError(f"no totals of sequences ({type(error).__name__}: {error})") from error


def write_totals(runs: Iterable[Run], path: Path) -> None:
    """Write a file of totals, in one step: an interrupted run leaves the old file or the new one.

    Raises:
        OSError: it cannot be written.
    """
    document = {"format_version": FORMAT_VERSION, "runs": [_json(run) for run in runs]}
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def turns_json(turns: TurnCounts) -> dict[str, Any]:
    """Return the writers' turns as JSON-ready data."""
    return {
        "pairs": [[*pair, count] for pair, count in sorted(turns.pairs.items())],
        "reads": [[*pair, count] for pair, count in sorted(turns.reads.items())],
        "own": dict(turns.own),
        "skipped": dict(turns.skipped),
    }


def _json(run: Run) -> dict[str, Any]:
    return {
        "writers": list(run.writers),
        "seed": run.seed,
        "steps": run.steps,
        "start": run.start,
        "endings": dict(run.endings),
        **turns_json(run.turns),
    }


def _run(given: Any) -> Run:  # noqa: ANN401 - parsed JSON
    return Run(
        writers=tuple(str(name) for name in given["writers"]),
        seed=int(given["seed"]),
        steps=int(given["steps"]),
        start=int(given["start"]),
        endings=_counts(given["endings"]),
        turns=TurnCounts(
            pairs=_pairs(given["pairs"]),
            reads=_pairs(given["reads"]),
            own=_counts(given["own"]),
            skipped=_counts(given["skipped"]),
        ),
    )


def _counts(given: Any) -> Counter[str]:  # noqa: ANN401 - parsed JSON
    return Counter({str(name): int(count) for name, count in given.items()})


def _pairs(given: Any) -> Counter[tuple[str, str]]:  # noqa: ANN401 - parsed JSON
    return Counter({(str(first), str(second)): int(count) for first, second, count in given})
