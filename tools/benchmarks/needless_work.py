"""How much work engines do that no row needs, on the same random cases with several files.

    python -m tools.benchmarks.needless_work --engine delta-rs --engine delta-spark [--cases 1000] [--seed 1]

Every engine takes the cases of one stream that all of them support, so that a row of the table is about the same
merges. Which files a merge needs to read and to rewrite is decided by ``harness/oracles/work``; nothing is timed.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.checker import Checker
from mergecheck.harness.oracles.work.work import Work, work_of
from mergecheck.harness.search.session import cases_for, open_engine
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.engine import Engine

_COLUMNS = (
    "Engine",
    "Merges",
    "Rows changed",
    "Rows copied",
    "of it in vain",
    "In vain per row changed",
    "Files rewritten",
    "in vain",
    "Files read",
    "in vain",
)


@dataclass(slots=True)
class Total:
    """The work of one engine; ``scanned`` and ``scanned_in_vain`` are of the merges that report what they read."""

    merges: int = 0
    changed: int = 0
    copied: int = 0
    copied_in_vain: int = 0
    rewritten: int = 0
    rewritten_in_vain: int = 0
    reports_scans: bool = False
    scanned: int = 0
    scanned_in_vain: int = 0

    def add(self, work: Work) -> None:
        """Add the work of one merge."""
        self.merges += 1
        self.changed += work.num_changed
        self.copied += work.num_copied
        self.copied_in_vain += work.num_copied_in_vain
        self.rewritten += len(work.done.rewritten | work.done.marked)
        self.rewritten_in_vain += len(work.rewritten_in_vain)
        if work.num_scanned_in_vain is not None:
            self.reports_scans = True
            self.scanned += work.done.num_scanned or 0
            self.scanned_in_vain += work.num_scanned_in_vain

    def row(self, name: str) -> str:
        """Write the engine's row of the table."""
        per_row = f"{self.copied_in_vain / self.changed:.2f}" if self.changed else ""
        scans = [f"{self.scanned:,}", f"{self.scanned_in_vain:,}"] if self.reports_scans else ["not reported", ""]
        counts = (self.merges, self.changed, self.copied, self.copied_in_vain)
        files = (self.rewritten, self.rewritten_in_vain)
        cells = [name, *(f"{n:,}" for n in counts), per_row, *(f"{n:,}" for n in files), *scans]
        return f"| {' | '.join(cells)} |"


def measure(engines: Sequence[Engine], *, num_cases: int, seed: int) -> dict[str, Total]:
    """Run cases with several files until enough of them were judged on every engine.

    Args:
        engines: the first one decides what cases look like.
        num_cases: of merges that succeed on every engine as the reference predicts.
        seed: of the stream.
    """
    totals = {f"{engine.name} {engine.version}": Total() for engine in engines}
    checkers = [Checker(engine=engine) for engine in engines]
    stream, found, index = strategies.Stream(cases_for(engines[0])), 0, 0
    while found < num_cases:
        case = stream.draw(seed, index)
        index += 1
        if len(physical_files(case.target)) < 2:  # noqa: PLR2004 - with one file there is nothing to leave out
            continue
        works: list[Work] = []
        for checker in checkers:
            report = checker.check_case(case)
            work = work_of(report)
            if isinstance(report.result, Unsupported) or not isinstance(work, Work):
                break
            works.append(work)
        if len(works) == len(checkers):
            found += 1
            for total, work in zip(totals.values(), works, strict=True):
                total.add(work)
    return totals


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", required=True, dest="engines", metavar="NAME")
    parser.add_argument("--cases", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    with ExitStack() as stack:
        engines = [stack.enter_context(open_engine(name)) for name in given.engines]
        totals = measure(engines, num_cases=given.cases, seed=given.seed)
    head = (f"| {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * (len(_COLUMNS) - 1))
    print("\n".join([*head, *(total.row(name) for name, total in totals.items())]))


if __name__ == "__main__":
    main()
