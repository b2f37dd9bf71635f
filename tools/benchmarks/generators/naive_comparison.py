"""Cases to find each mutant: our generator against a naive one, on the same faults and seeds.

python -m tools.benchmarks.generators.naive_comparison --seeds 3 --max-cases 300
"""

from __future__ import annotations

import argparse
import functools
import statistics
from typing import TYPE_CHECKING

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.search.session import WARM_UP, stream_for
from tools.benchmarks.generators.naive_generator import naive_cases
from tools.selfcheck.catalogue import load_catalogue
from tools.selfcheck.score import Score, score
from tools.selfcheck.trial import alone, run_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case


def main() -> None:
    """Run both generators and print a line per fault and the ratio over the catalogue."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="seeds 1 to N")
    parser.add_argument("--max-cases", type=int, default=300, help="cases per seed and generator")
    arguments = parser.parse_args()
    engine = PySparkEngine()
    engine.run(WARM_UP)
    seeds = range(1, arguments.seeds + 1)
    ours = _scored(engine, functools.partial(stream_for, engine), seeds, arguments.max_cases)
    naive = _scored(engine, naive_cases, seeds, arguments.max_cases)
    engine.close()
    _print(ours, naive, arguments.max_cases)


def _scored(engine: Engine, stream: Callable[[int], Iterator[Case]], seeds: Sequence[int], max_cases: int) -> Score:
    faults = load_catalogue()
    results = [run_seed(faults, engine, alone(stream(seed)), seed=seed, max_cases=max_cases) for seed in seeds]
    return score(faults, results, max_cases=max_cases)


def _print(ours: Score, naive: Score, max_cases: int) -> None:
    """A fault that was not found counts as found by the case after the last: the ratio is a lower bound then."""
    ratios = []
    print(f"{'fault':<44}{'ours':>8}{'naive':>8}{'ratio':>8}")
    for left, right in zip(ours.faults, naive.faults, strict=True):
        medians = [one.median if one.median is not None else max_cases + 1.0 for one in (left, right)]
        ratios.append(medians[1] / medians[0])
        shown = [f"{m:g}" if m <= max_cases else f">{max_cases}" for m in medians]
        print(f"{left.fault.id:<44}{shown[0]:>8}{shown[1]:>8}{ratios[-1]:>8.1f}")
    for name, found in (("ours", ours), ("naive", naive)):
        print(f"{name}: {found.num_solved} of {len(found.faults)} faults found by all of {len(found.seeds)} seeds")
    print(f"cases to find a fault, naive to ours, geometric mean: {statistics.geometric_mean(ratios):.1f}")


if __name__ == "__main__":
    main()
