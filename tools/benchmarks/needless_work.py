"""How much work engines do that no row needs, on the same random cases with several files.

    python -m tools.benchmarks.needless_work --engine delta-rs --engine delta-rs@1.5.1 --engine pyspark --cases 1000

All engines get the same cases: those of one stream whose target has several files and whose merge succeeds by the
reference, without features that one of them or an engine of ``--like`` lacks, and without settings of an engine's own.
The first table counts the merges that every engine in it does right; the second counts for each engine all merges that
it does right. A run goes on where another one with the same journal ended, and the tables have the engines of all of
them that report their work. Nothing is timed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.oracles.reference_oracle import must_fail
from mergecheck.harness.search.session import open_engine
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import Prediction
from mergecheck.model.work_counts import WorkCounts
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

_MANY = 2  # with one file there is nothing to leave out
_OFTEN_PERCENT = 95
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


def several_files(features_off: frozenset[str], *, seed: int, first: int = 0) -> Iterator[tuple[int, Case, Reference]]:
    """Yield the cases with several files that succeed, with their numbers in the stream, from one number on."""
    known = {feature.value: feature for feature in strategies.Feature}
    profile = replace(strategies.FULL_PROFILE, function_calls_percent=0, table_features=frozenset())
    profile = profile.without(*(known[name] for name in sorted(features_off)))
    profile = profile.favouring(strategies.Feature.SEVERAL_FILES, percent=_OFTEN_PERCENT)
    stream, index = strategies.Stream(strategies.cases(profile=profile)), first
    while True:
        case = stream.draw(seed, index)
        if len(physical_files(case.target)) >= _MANY:
            reference = evaluate(case)
            if isinstance(reference.answer, Prediction) and not must_fail(reference):
                yield index, case, reference
        index += 1


def measure(names: Iterable[str], *, like: Iterable[str], seed: int, num_cases: int, journal: Path) -> None:
    """Run the cases that an engine has not run yet, and write each result down."""
    entries = _entries(journal)
    with ExitStack() as stack, journal.open("a", encoding="utf-8") as written:
        engines = {name: stack.enter_context(open_engine(name)) for name in (*names, *like)}
        off = frozenset().union(*(engine.capabilities.features_off for engine in engines.values()))
        checkers = {name: Checker(engine=engines[name]) for name in names}
        done = {(entry["name"], entry["case"]) for entry in entries if entry["seed"] == seed}
        for index, case, reference in itertools.islice(several_files(off, seed=seed), num_cases):
            for name, checker in checkers.items():
                if (name, index) in done:
                    continue
                report = checker.check(checker.prepare(_interpreted(case, checker.engine), reference))
                engine = f"{checker.engine.name} {checker.engine.version}"
                work = None if report.work is None else asdict(report.work)
                entry = {"name": name, "engine": engine, "seed": seed, "case": index, "id": case.id}
                written.write(json.dumps({**entry, "verdict": report.verdict.value, "work": work}) + "\n")
                written.flush()


def _interpreted(case: Case, engine: Engine) -> Case:
    """Let Spark interpret expressions: to compile them is most of the time of a small merge, and rewrites no file."""
    if not any(axis in SPARK_AXES for axis in engine.capabilities.axes):
        return case
    return replace(case, conf={**PROFILE_SETTINGS[Profile.TINY], **case.conf})


def _entries(journal: Path) -> list[dict[str, object]]:
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def tables(journals: Iterable[Path]) -> str:
    """Write the tables in Markdown, an engine a row: over the merges that all of them do right, and over its own."""
    found: dict[str, dict[tuple[object, object], WorkCounts]] = {}
    for entry in (entry for journal in journals for entry in _entries(journal)):
        if isinstance(work := entry["work"], dict):
            found.setdefault(str(entry["engine"]), {})[entry["seed"], entry["case"]] = WorkCounts(**work)
    shared = set.intersection(*map(set, found.values())) if found else set()
    by_all = {name: _total(works[case] for case in shared) for name, works in found.items()}
    return f"{_table(by_all)}\n\n{_table({name: _total(works.values()) for name, works in found.items()})}"


def _total(works: Iterable[WorkCounts]) -> WorkCounts:
    return functools.reduce(WorkCounts.plus, works, WorkCounts())


def _table(totals: Mapping[str, WorkCounts]) -> str:
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
    """Measure, and print the tables of all engines in the journal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", default=[], dest="engines", metavar="NAME")
    parser.add_argument("--like", action="append", default=[], metavar="NAME", help="leave out what it lacks, too")
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="cases with several files")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--journal", type=Path, default=Path("needless_work.jsonl"), metavar="FILE")
    given = parser.parse_args()
    measure(given.engines, like=given.like, seed=given.seed, num_cases=given.cases, journal=given.journal)
    print(tables([given.journal]))


if __name__ == "__main__":
    main()
