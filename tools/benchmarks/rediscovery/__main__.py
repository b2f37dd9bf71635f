"""Fuzz every released version that is known to be wrong, and compare the findings with the known causes.

Run it with

    python -m tools.benchmarks.rediscovery --max-time 600 --work DIR --markdown docs/rediscovery.md

A part of a version whose answer is in the folder already is not run again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.benchmarks.rediscovery.findings import findings, in_all_versions
from tools.benchmarks.rediscovery.known import KNOWN
from tools.benchmarks.rediscovery.page import HEAD, cells, details, shares, table
from tools.benchmarks.rediscovery.runs import BATCH_ROWS, PARTS, Part, run_version


def main() -> None:
    """Run what has not run yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-time", type=int, default=600, help="seconds for each version")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="versions that run at the same time")
    parser.add_argument("--work", type=Path, required=True, help="folder for answers and findings")
    parser.add_argument("--markdown", type=Path, help="write the page there, instead of printing it")
    options = parser.parse_args()
    run = partial(run_version, folder=options.work, seed=options.seed, max_time=options.max_time)
    engines = [known.engine for known in KNOWN]
    runs: dict[str, list[Part]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for engine, parts in zip(engines, pool.map(run, engines), strict=True):
            if parts:
                runs[engine] = parts
            print(f"{engine}: {', '.join(str(part.document['num_cases']) for part in parts)} cases", file=sys.stderr)
    found = in_all_versions({engine: findings(parts) for engine, parts in runs.items()}, options.jobs)
    counted = cells(found)
    head = HEAD.format(
        command="python -m tools.benchmarks.rediscovery "
        f"--max-time {options.max_time} --seed {options.seed} --jobs {options.jobs}",
        seconds=options.max_time,
        date=dt.datetime.now(tz=dt.UTC).date(),
        version=importlib.metadata.version("mergecheck"),
        boundaries=" and ".join(f"{rows} ({engine})" for engine, rows in BATCH_ROWS.items()),
        **PARTS,
        **shares(counted),
    )
    page = "\n".join([head, *table(counted, runs), *details(found), ""])
    if options.markdown is None:
        print(page)
    else:
        options.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
