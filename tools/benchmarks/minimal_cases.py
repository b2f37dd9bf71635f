"""How readable minimal cases are: the tokens behind USING of the case that each mutant is shrunk to.

    python -m tools.selfcheck --seeds 1 --results results.jsonl
    python -m tools.benchmarks.minimal_cases --results results.jsonl --out after.jsonl --before before.jsonl

Every mutant is found by the fuzz loop and shrunk as in ``mergecheck fuzz``, but the limit on time is longer, so
that a busy machine shrinks as far as an idle one. The output file has a line per fault. Faults in it are not run again.
With ``--results``, each fault begins at the case by which ``python -m tools.selfcheck`` found it, so that rare faults
are found, too. With ``--before``, the same faults begin with the same drawn cases as there, and both are compared.
"""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import click

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.properties.merge_text import num_tokens_behind_using
from mergecheck.harness.search.session import open_engine
from tools.selfcheck.catalogue import chosen
from tools.selfcheck.results import KeptResults
from tools.selfcheck.shrinking import Shrunk, shrink_fault

_LIMITS = ShrinkLimits(max_seconds=1800)
_MOST = 0.9


@click.command()
@click.option("--fault", "names", multiple=True, metavar="NAME", help="Only this fault; may be repeated.")
@click.option("--seed", type=int, default=1, show_default=True, help="The seed whose cases are drawn.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Results of `python -m tools.selfcheck` with the same faults, which name the case by which each was found.",
)
@click.option("--max-cases", type=int, default=1000, show_default=True, help="As it was given to selfcheck.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="A line of JSON per fault is added."
)
@click.option(
    "--before", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="The output of an earlier version."
)
def minimal_cases(
    *, names: tuple[str, ...], seed: int, results: Path | None, max_cases: int, out: Path, before: Path | None
) -> None:
    """Shrink a case of every mutant, and count the tokens of the result."""
    earlier = {} if before is None else _read(before)
    begin = {name: line["index"] for name, line in earlier.items()}
    if results is not None:
        kept = KeptResults.of(results, chosen(names), max_cases=max_cases)
        begin = {**_found_by(kept, seed), **begin}
    done = _read(out) if out.exists() else {}
    faults = [fault for fault in chosen(names) if fault.id not in done and (before is None or fault.id in earlier)]
    if faults:
        with open_engine("pyspark") as engine, out.open("a", encoding="utf-8") as file:
            for fault in faults:
                found = shrink_fault(fault, engine, seed=seed, first=begin.get(fault.id, 0), limits=_LIMITS)
                if found is None:
                    click.echo(f"{fault.id}: not found")
                    continue
                line = _line(found)
                file.write(json.dumps(line) + "\n")
                file.flush()
                click.echo(_told(line))
    after = _read(out)
    both = [name for name in after if name in earlier]
    if both:
        click.echo(f"before: {_summary([earlier[name]['sql'] for name in both])}")
        click.echo(f"after:  {_summary([after[name]['sql'] for name in both])}")
    click.echo(f"all:    {_summary([line['sql'] for line in after.values()])}")


def _line(found: Shrunk) -> dict[str, Any]:
    return {
        "fault": found.fault,
        "index": found.index,
        "rows": [found.num_target_rows, found.num_source_rows],
        "runs": found.num_runs,
        "seconds": round(found.seconds, 1),
        "sql": found.sql,
    }


def _told(line: dict[str, Any]) -> str:
    rows = " + ".join(map(str, line["rows"]))
    tokens = num_tokens_behind_using(line["sql"])
    return f"{line['fault']}: {tokens} tokens, {rows} rows, {line['runs']} runs: {line['sql']}"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {line["fault"]: line for line in lines}


def _found_by(results: KeptResults, seed: int) -> dict[str, int]:
    """Give the number of the case by which the seed found each fault."""
    kept = [result for result in results.read() if result.seed == seed]
    if not kept:
        raise click.UsageError(
            f"{results.path} has no results of seed {seed} by this code, these faults and this --max-cases"
        )
    return {fault: kill.index for result in kept for fault, kill in result.kills.items()}


def _summary(statements: list[str]) -> str:
    tokens = sorted(map(num_tokens_behind_using, statements))
    if not tokens:
        return "no fault was found"
    most = tokens[math.ceil(_MOST * len(tokens)) - 1]
    return f"{len(tokens)} faults, median {statistics.median(tokens):g} tokens behind USING, 90 % at most {most}"


if __name__ == "__main__":
    minimal_cases()
