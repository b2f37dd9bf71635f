"""``python -m tools.corruptions.tables``: corrupt the tables that merges leave, count what is reported."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from mergecheck.harness.engine import LivingEngine
from mergecheck.harness.search.session import open_engine, reference_for, stream_for
from mergecheck.harness.verdict import Expressions, UserInputError, Verdict
from tools.corruptions.tables.catalogue import mutants_of
from tools.corruptions.tables.written import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine
    from tools.corruptions.tables.written import Mutant, WrittenTable

_SHOWN = 20


@click.command()
@click.option("--engine", "name", default="pyspark", metavar="ENGINE", help="Writes the tables.")
@click.option("--seed", default=1, help="Of the cases.")
@click.option("--mutants", "wanted", default=20_000, help="How many changes that must be reported.")
@click.option("--of-table", "most", default=400, help="Most changes of one table.")
def main(name: str, seed: int, wanted: int, most: int) -> None:
    """Change one thing in the commit or in a file of random merges, and count which changes are reported."""
    made: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    legal: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    with open_engine(name) as engine, TemporaryDirectory(prefix="mergecheck-tables-") as folder:
        for number, table in _tables(engine, seed, Path(folder)):
            for mutant in _chosen(table, number, most):
                found = table.verdict(mutant) is Verdict.MISMATCH
                if mutant.reason:
                    legal[mutant.kind, mutant.reason] += 1
                else:
                    made[mutant.kind] += 1
                    reported[mutant.kind] += found
                if found is bool(mutant.reason):
                    wrong.append(f"case {number} of seed {seed}: {mutant.kind}")
            if made.total() >= wanted:
                break
            click.echo(f"{made.total()} changes, {reported.total()} reported, {len(wrong)} wrong", err=True)
    for kind, count in sorted(made.items()):
        click.echo(f"| {kind} | {count} | {reported[kind]} |")
    click.echo(f"| all | {made.total()} | {reported.total()} |")
    for (kind, reason), count in sorted(legal.items()):
        click.echo(f"| {kind} | {count} | {reason} |")
    for line in wrong[:_SHOWN]:
        click.echo(line)
    click.echo(f"{made.total() - reported.total()} not reported, {len(wrong)} in all that should be otherwise")
    raise SystemExit(bool(wrong))


def _tables(engine: Engine, seed: int, folder: Path) -> Iterator[tuple[int, WrittenTable]]:
    """Yield the tables of random cases that agree, each with the number of its case."""
    if not isinstance(engine, LivingEngine):
        raise UserInputError(f"{engine.name} merges into no table that is there; pyspark and delta-spark do")
    reference = reference_for(engine, Expressions.DUCKDB)
    for number, case in zip(itertools.count(), stream_for(engine, seed), strict=False):
        table = write_table(engine, case, reference.evaluate(case), folder / str(number) / "target")
        if table is not None:
            yield number, table


def _chosen(table: WrittenTable, number: int, most: int) -> Iterator[Mutant]:
    """Take every so many changes, beginning elsewhere in each table, so that there are few enough."""
    found = list(mutants_of(table))
    step = -(-len(found) // most)
    yield from found[number % step :: step]


if __name__ == "__main__":
    main()
