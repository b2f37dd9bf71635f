"""How much work engines do that no row needs, on the same random cases with several files.

    python -m tools.benchmarks.needless_work --engine delta-rs --cases 1000 --journal FILE

All engines get the same cases: the cases of one stream whose target has several files and whose merge succeeds by the
reference, of features that the engine ``--like`` has, without settings of an engine's own. The table counts the merges
that every engine in it takes and does right. A run goes on where another one with the same journal ended, and the table
has the engines of all of them that report their work. Nothing is timed.
"""

from __future__ import annotations

import argparse
import functools
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.checker import Checker
from mergecheck.harness.oracles.reference_oracle import must_fail
from mergecheck.harness.search.session import cases_for, open_engine
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import Prediction
from mergecheck.model.work_counts import WorkCounts
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

_MANY = 2  # with one file there is nothing to leave out
_COLUMNS = (
    "Engine",
    "Merges",
    "Rows changed",
    "Rows copied",
    "in vain",
    "in vain per row changed",
    "Files rewritten",
    "in vain",
    "Files read",
    "in vain",
)


def several_files(like: str, seed: int, first: int) -> Iterator[tuple[int, Case, Reference]]:
    """Yield the cases with several files that succeed, with their numbers in the stream, from one number on."""
    with open_engine(like) as engine:
        cases = cases_for(engine, draws_settings=False)
    stream, index = strategies.Stream(cases), first
    while True:
        case = stream.draw(seed, index)
        if len(physical_files(case.target)) >= _MANY:
            reference = evaluate(case)
            if isinstance(reference.answer, Prediction) and not must_fail(reference):
                yield index, case, reference
        index += 1


def measure(engine_name: str, *, like: str, seed: int, numbers: range, journal: Path) -> None:
    """Run the cases of some numbers of the stream that an engine has not run yet, and write each result down."""
    done = {entry["case"] for entry in _entries(journal) if entry["name"] == engine_name and entry["seed"] == seed}
    with open_engine(engine_name) as engine, journal.open("a", encoding="utf-8") as written:
        checker = Checker(engine=engine)
        for index, case, reference in several_files(like, seed, numbers.start):
            if index >= numbers.stop:
                return
            if index in done:
                continue
            report = checker.check(checker.prepare(case, reference))
            entry = {"name": engine_name, "engine": f"{engine.name} {engine.version}", "seed": seed, "case": index}
            work = None if report.work is None else asdict(report.work)
            written.write(json.dumps({**entry, "verdict": report.verdict.value, "work": work}) + "\n")
            written.flush()


def _entries(journal: Path) -> list[dict[str, object]]:
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def table(journals: Iterable[Path]) -> str:
    """Write the table in Markdown, an engine a row, over the cases of which the work of every engine is known."""
    found: dict[str, dict[tuple[object, object], WorkCounts]] = {}
    for entry in (entry for journal in journals for entry in _entries(journal)):
        if isinstance(work := entry["work"], dict):
            found.setdefault(str(entry["engine"]), {})[entry["seed"], entry["case"]] = WorkCounts(**work)
    shared = set.intersection(*map(set, found.values())) if found else set()
    totals = {
        name: functools.reduce(WorkCounts.plus, (works[case] for case in shared), WorkCounts())
        for name, works in found.items()
    }
    head = [f"| {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * (len(_COLUMNS) - 1)]
    return "\n".join([*head, *(_row(name, totals[name]) for name in sorted(totals))])


def _row(name: str, work: WorkCounts) -> str:
    per_row = f"{work.rows_copied_in_vain / work.rows_changed:.2f}" if work.rows_changed else ""
    scans = [f"{work.files_scanned:,}", f"{work.files_scanned_in_vain:,}"]
    rows = (work.merges, work.rows_changed, work.rows_copied, work.rows_copied_in_vain)
    files = (work.files_rewritten, work.files_rewritten_in_vain)
    cells = [f"{number:,}" for number in rows] + [per_row] + [f"{number:,}" for number in files]
    return f"| {' | '.join([name, *cells, *(scans if work.merges_with_scans else ['not reported', ''])])} |"


def main() -> None:
    """Measure, and print the table of all engines in the journal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", default=[], dest="engines", metavar="NAME")
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="numbers of the stream")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first of these numbers")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--like", default="delta-rs", metavar="NAME", help="the engine whose features the cases have")
    parser.add_argument("--journal", type=Path, default=Path("needless_work.jsonl"), metavar="FILE")
    given = parser.parse_args()
    for name in given.engines:
        numbers = range(given.first, given.first + given.cases)
        measure(name, like=given.like, seed=given.seed, numbers=numbers, journal=given.journal)
    print(table([given.journal]))


if __name__ == "__main__":
    main()
