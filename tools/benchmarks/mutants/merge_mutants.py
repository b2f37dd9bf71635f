"""Automatic mutants of the merge: cosmic-ray's operators and a few for the SQL texts, against cases and tests.

    uv sync --group dev --group mutants
    python -m tools.benchmarks.mutants.merge_mutants --seed 1 --max-cases 200 --tests [--sample 300]
    python -m tools.benchmarks.mutants.merge_mutants --only merge.executors --scope core --scope files --pairs 24

First (with ``--tests``) quick tests that call the mutant's function, then random cases, the other tests, and (with
``--saved``) saved cases. One Spark session serves all, and a mutant is run only on cases on which its function gave
another answer. With ``--scope``, mutants run the merges of small scopes alone, a merge of each scope in turn.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from mergecheck import merge
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.packages import request_delta, request_s3a
from mergecheck.harness.search.session import WARM_UP, stream_for
from mergecheck.model.case_file import load_cases
from tools.benchmarks.mutants.changed_lines import modules_of, one_per_line
from tools.benchmarks.mutants.mutant_tests import watch_tests
from tools.benchmarks.mutants.planted_mutants import planted
from tools.selfcheck.scope_cases import Scopes
from tools.selfcheck.trial import alone, run_seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.search.stream import Drawn
    from tools.benchmarks.mutants.mutant_tests import TestsByFunction
    from tools.selfcheck.fault import Fault
    from tools.selfcheck.trial import SeedResult

SAVED = Path("tests/regress")
PARTS = (
    "mergecheck.merge.executors.",
    "mergecheck.merge.expressions.",
    "mergecheck.merge.resolution.",
    "mergecheck.merge.types.",
    "mergecheck.merge.metrics",
)
_EXECUTOR_TESTS = (
    "tests/unit/merge/test_merge_large_tables.py",
    "tests/unit/merge/test_merge_run.py",
    "tests/unit/merge/test_merge_cast_errors.py",
    "tests/unit/merge/test_merge_table_checks.py",
    "tests/spec/test_spec_classic_executor.py",
    "tests/spec/test_spec_insert_only_executor.py",
    "tests/spec/test_spec_output_generation.py",
    "tests/spec/test_spec_executors.py",
    "tests/spec/test_spec_small_merges.py",
    "tests/spec/test_spec_large_tables.py",
    "tests/spec/test_spec_source_keys.py",
)
TESTS = {
    "mergecheck.merge.executors": _EXECUTOR_TESTS,
    "mergecheck.merge.metrics": _EXECUTOR_TESTS,
    "mergecheck.merge.resolution": (
        "tests/unit/merge/test_merge_assign.py",
        "tests/unit/merge/test_merge_clock.py",
        "tests/unit/merge/test_merge_scope.py",
        "tests/unit/merge/test_merge_analysis.py",
        "tests/unit/merge/test_merge_resolution.py",
        "tests/unit/merge/test_merge_expression_rules.py",
        "tests/unit/merge/test_merge_evolution.py",
        "tests/unit/merge/test_merge_nullability.py",
        "tests/unit/merge/test_merge_subqueries.py",
        "tests/spec/test_spec_casts.py",
        "tests/spec/test_spec_known_types.py",
        "tests/spec/test_spec_resolution.py",
        "tests/spec/test_spec_struct_assignment.py",
        "tests/spec/test_spec_delta_merge_into.py",
        "tests/spec/test_spec_evolving_merges.py",
    ),
}


def main() -> None:
    """Draw the mutants, run them, and list the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the cases, and of the choice of mutants")
    parser.add_argument("--max-cases", type=int, default=200, help="random cases, or merges of the scopes")
    parser.add_argument("--max-time", type=float, default=math.inf, help="seconds for these")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn from all")
    parser.add_argument("--tests", action="store_true", help="run the tests of the mutant's part too")
    parser.add_argument("--saved", action="store_true", help="also run the survivors on the saved cases")
    parser.add_argument("--scope", action="append", default=[], help="only the merges of this scope; may be repeated")
    parser.add_argument("--pairs", type=int, help="so many pairs of tables of each statement, drawn by the seed")
    parser.add_argument("--only", default="", help="modules whose name contains this text")
    options = parser.parse_args()
    if options.scope and (options.tests or options.saved):
        parser.error("--scope takes the merges of scopes alone: leave --tests and --saved out")
    if options.tests:
        request_delta()  # as the tests do; a session that runs already cannot be given further classes
        request_s3a()
    random = Random(options.seed)  # noqa: S311 - a choice of mutants, no secret
    modules = [module for module in modules_of(merge, PARTS) if options.only in module.__name__]
    mutants = one_per_line(modules, random, options.sample)
    faults, left_out = planted(mutants)
    trials = _Trials(faults)
    if options.tests:
        trials.hold_against_tests(quick=True)
    if options.scope:
        name, cases = ", ".join(options.scope), Scopes(tuple(options.scope), options.pairs).cases(options.seed)
    else:
        name, cases = "random cases", alone(stream_for(PySparkEngine(), options.seed))
    trials.hold_against(name, cases, options.max_cases, max_seconds=options.max_time)
    if options.tests:
        trials.hold_against_tests(quick=False)
    if options.saved:
        saved = [case for path in sorted(SAVED.rglob("*.jsonl")) for case in load_cases(path)]
        trials.hold_against("saved cases", alone(iter(saved)), len(saved))
    by_part: dict[str, Counter[str]] = defaultdict(Counter)
    for fault in faults:
        by_part[_part(fault)][trials.killers.get(fault.id, "survived")] += 1
        if fault.id not in trials.killers:
            print(f"survived  {fault.id}\n    {fault.summary}")
    for part, counts in by_part.items():
        killed = counts.total() - counts["survived"]
        print(f"{part}: {killed} of {counts.total()} killed ({killed / counts.total():.0%}), {dict(counts)}")
    print(f"left out: {dict(left_out)}")


class _Trials:
    """What has killed which mutant so far, by the mutant's name."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        self.killers: dict[str, str] = {}
        self._tests: dict[str, TestsByFunction] = {}

    def left(self) -> list[Fault]:
        """List the mutants that are still alive."""
        return [fault for fault in self.faults if fault.id not in self.killers]

    def hold_against(self, name: str, cases: Iterator[Drawn], num_cases: int, *, max_seconds: float = math.inf) -> None:
        """Run mutants on the next of some cases, until the time ends."""
        left = self.left()
        with contextlib.closing(PySparkEngine()) as engine:
            engine.run(WARM_UP)
            ends = time.monotonic() + max_seconds
            result = run_seed(left, engine, cases, seed=0, max_cases=num_cases, ends=ends, listener=_report_progress)
        self.killers |= dict.fromkeys(result.kills, name)
        _say(
            f"{name}: {len(result.kills)} of {len(left)} killed by {result.num_cases} merges in {result.seconds:.0f} s"
        )

    def hold_against_tests(self, *, quick: bool) -> None:
        """Run the quick or the other tests of each mutant's part that call its function."""
        left = self.left()
        for part in map(_part, left):
            if part not in self._tests:
                self._tests[part] = watch_tests(merge, TESTS[part])
        for number, fault in enumerate(left, start=1):
            if self._tests[_part(fault)].catch(fault, quick=quick):
                self.killers[fault.id] = "tests"
            elif not quick:
                print(f"passes the tests  {fault.id}\n    {fault.summary}", flush=True)
            _say(f"tests: {number} of {len(left)}, {len(self.killers)} of {len(self.faults)} killed")


def _part(fault: Fault) -> str:
    return ".".join(fault.id.split(":")[0].split(".")[:3])


def _report_progress(result: SeedResult) -> None:
    if result.num_cases % 10 == 0:
        _say(f"{result.num_cases} cases: {len(result.kills)} killed, {result.num_runs} runs, {result.seconds:.0f} s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
