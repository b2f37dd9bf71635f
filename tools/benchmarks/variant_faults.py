"""Run the mutants that show under one configuration only, and count what ``mergecheck variants`` takes to find them.

Run it with

    python -m tools.benchmarks.variant_faults
    python -m tools.benchmarks.variant_faults --stream --max-cases 30 --fault second-batch-lost

Without ``--stream`` each fault is looked for on one written case under every variant; with it, on the random cases of
a seed, eight variants each. Either way the run stops at the first difference, which is confirmed and bisected.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.session import WARM_UP
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.variants.judge import VariantChecker
from mergecheck.harness.variants.variants_run import VariantRun
from mergecheck.strategies import cases
from tools.selfcheck.catalogue import load_variant_faults, variant_cases
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.search.stream import Drawn
    from mergecheck.model.case import Case
    from tools.selfcheck.catalogue import VariantFault

NO_SHRINKING = ShrinkLimits(max_seconds=0, max_runs=0)


def main() -> int:
    """Look for each fault; exit code 1 if one is not found, or another axis is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fault", action="append", default=[], help="by name; all without")
    parser.add_argument("--stream", action="store_true", help="random cases in place of the written one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-cases", type=int, default=30)
    given = parser.parse_args()
    engine = PySparkEngine()
    engine.run(WARM_UP)
    missed = 0
    try:
        for planted in load_variant_faults():
            if given.fault and planted.fault.id not in given.fault:
                continue
            stream = _numbered(given.seed, given.max_cases) if given.stream else iter([variant_cases()[planted.case]])
            missed += not _look_for(planted, engine, stream)
    finally:
        engine.close()
    return 1 if missed else 0


def _look_for(planted: VariantFault, engine: PySparkEngine, stream: Iterator[Drawn | Case]) -> bool:
    run = VariantRun(VariantChecker(engine), limits=NO_SHRINKING)
    started = time.monotonic()
    with Mutant.of(planted.fault).switched_on():
        run.run(stream, max_findings=1)
    seconds = time.monotonic() - started
    found = run.found[0] if run.found else None
    variant = "-" if found is None or found.variant is None else found.variant.name
    axes = set() if found is None or found.variant is None else {c.axis for c in found.variant.values}
    is_named = bool(axes) and bool(axes & planted.axes)
    print(
        f"{planted.fault.id:<34} {'found' if is_named else 'MISSED':<7} {variant:<40} "
        f"{run.counts.num_cases:>3} cases {run.counts.num_variants:>4} variants {seconds:>6.1f} s"
        + ("" if found is None else f"  {found.fingerprint.check.value} {found.fingerprint.kind}"),
        flush=True,
    )
    return is_named


def _numbered(seed: int, max_cases: int) -> Iterator[Drawn | Case]:
    draws = Draws(cases(), seed=seed)
    return (draws.draw(CaseSpace()) for _ in range(max_cases))


if __name__ == "__main__":
    sys.exit(main())
