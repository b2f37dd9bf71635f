"""Automatic mutants of the merge: cosmic-ray's operators and a few for the SQL texts, against random cases.

    uv sync --group dev --group mutants
    python -m benchmarks.auto_mutants --seed 1 --max-cases 200 [--sample 300]

One Spark session serves all, and a mutant is run only on cases on which its function gave another answer.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from random import Random
from typing import TYPE_CHECKING

import merge
from benchmarks.mutants import modules_of, one_per_line
from benchmarks.planted_mutants import fails_tests, planted, require_passing
from harness.engines.pyspark import PySparkEngine
from harness.selfcheck.trial import run_seed
from harness.session import WARM_UP, stream_for
from harness.spark_session import request_delta

if TYPE_CHECKING:
    from harness.selfcheck.fault import Fault
    from harness.selfcheck.trial import SeedResult

PARTS = ("merge.executors.", "merge.resolution.", "merge.metrics")
# The quick ones first: a mutant is run until one fails.
_EXECUTOR_TESTS = (
    "tests/unit/test_merge_large_tables.py",
    "tests/spec/test_spec_classic_executor.py",
    "tests/spec/test_spec_insert_only_executor.py",
    "tests/spec/test_spec_output_generation.py",
    "tests/spec/test_spec_executors.py",
    "tests/spec/test_spec_small_merges.py",
    "tests/spec/test_spec_large_tables.py",
)
TESTS = {
    "merge.executors": _EXECUTOR_TESTS,
    "merge.metrics": _EXECUTOR_TESTS,
    "merge.resolution": (
        "tests/unit/test_merge_clock.py",
        "tests/unit/test_merge_scope.py",
        "tests/unit/test_merge_resolution.py",
        "tests/unit/test_merge_nullability.py",
        "tests/unit/test_merge_subqueries.py",
        "tests/spec/test_spec_resolution.py",
        "tests/spec/test_spec_delta_merge_into.py",
        "tests/spec/test_spec_evolving_merges.py",
    ),
}


def main() -> None:
    """Draw the mutants, run them, and say which survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the cases, and of the choice of mutants")
    parser.add_argument("--max-cases", type=int, default=200)
    parser.add_argument("--sample", type=int, help="so many mutants, drawn from all")
    parser.add_argument("--tests", action="store_true", help="hold survivors against the tests of their part too")
    parser.add_argument("--only", default="", help="modules whose name contains this text")
    options = parser.parse_args()
    if options.tests:
        request_delta()  # as the tests do; a session that runs already cannot be given the catalog's classes
    engine = PySparkEngine()
    engine.run(WARM_UP)
    random = Random(options.seed)  # noqa: S311 - a choice of mutants, no secret
    mutants = [
        one
        for module in modules_of(merge, PARTS)
        if options.only in module.__name__
        for one in one_per_line(module, random)
    ]
    if options.sample is not None and options.sample < len(mutants):
        mutants = random.sample(mutants, options.sample)
    faults, left_out = planted(mutants)
    cases = stream_for(engine, options.seed)
    result = run_seed(faults, engine, cases, seed=options.seed, max_cases=options.max_cases, listener=_progress)
    engine.close()
    if options.tests:
        for tests in dict.fromkeys(TESTS.values()):
            require_passing(tests)
    by_part: dict[str, Counter[bool]] = defaultdict(Counter)
    for fault in faults:
        by_tests = options.tests and fault.name not in result.kills and fails_tests(fault, TESTS[_part(fault)])
        by_part[_part(fault)][fault.name in result.kills or by_tests] += 1
        if fault.name not in result.kills:
            print(f"{'killed by tests' if by_tests else 'survived'}  {fault.name}\n    {fault.sentence}", flush=True)
    for part, counts in by_part.items():
        print(f"{part}: {counts[True]} of {counts.total()} killed ({counts[True] / counts.total():.0%})")
    print(f"left out: {dict(left_out)}")
    print(f"{result.num_cases} cases, {result.num_runs} runs of a mutant, {result.seconds:.0f} s")


def _part(fault: Fault) -> str:
    return ".".join(fault.name.split(":")[0].split(".")[:2])


def _progress(result: SeedResult) -> None:
    if result.num_cases % 10 == 0:
        print(f"{result.num_cases} cases: {len(result.kills)} killed, {result.num_runs} runs", file=sys.stderr)


if __name__ == "__main__":
    main()
