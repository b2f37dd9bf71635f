"""Command line of the checks."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from tools.benchmarks.rules_on_delta import __doc__ as about
from tools.benchmarks.rules_on_delta import builder, commits, materialisation, races, source, tables
from tools.benchmarks.rules_on_delta.lab import Lab

if TYPE_CHECKING:
    from tools.benchmarks.rules_on_delta.lab import Check

CHECKS: tuple[Check, ...] = (
    *builder.CHECKS,
    *tables.CHECKS,
    *source.CHECKS,
    *materialisation.CHECKS,
    *commits.CHECKS,
    *races.CHECKS,
)


def main() -> int:
    """Run the checks; exit code 1 if Delta Lake fails a check."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--rule", action="append", default=[], metavar="R-NNN", help="only this rule; may be repeated")
    given = parser.parse_args()
    chosen = [check for check in CHECKS if not given.rule or check.rule in given.rule]
    if not chosen:
        known = ", ".join(dict.fromkeys(check.rule for check in CHECKS))
        parser.error(f"no check of {', '.join(given.rule)}; there are checks of {known}")
    engine = DeltaSparkEngine()
    spark = engine.session()  # with the settings that keep small tables cheap
    spark.conf.set("spark.sql.runSQLOnFiles", "true")  # a case may not name tables by their paths; the checks do
    num_other = 0
    with tempfile.TemporaryDirectory(prefix="mergecheck-rules-") as folder:
        for number, check in enumerate(chosen):
            lab = Lab(spark, Path(folder) / str(number))
            found = lab.answer(check)
            is_as_written = found == check.expected
            num_other += not is_as_written
            print(
                f"{check.rule}  {'as written' if is_as_written else 'DIFFERS   '}  {check.question}: {found}",
                flush=True,
            )
            if not is_as_written:
                print(f"       expected: {check.expected}", flush=True)
    engine.close()
    print(f"{len(chosen)} checks, {num_other} of them not as written")
    return 1 if num_other else 0


if __name__ == "__main__":
    sys.exit(main())
