"""``python -m tools.output_mutations.tables``: change tables after merges, count the reported changes."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.engine import ExistingTableEngine
from mergecheck.harness.search.session import open_engine, reference_for, stream_for
from mergecheck.harness.verdict import Expressions, UserInputError, Verdict
from tools.output_mutations.tables.catalogue import mutants_of
from tools.output_mutations.tables.written import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine
    from tools.output_mutations.tables.written import Mutant, WrittenTable

_SHOWN = 20


@dataclass(slots=True, kw_only=True)
class _Counts:
    """The result of one run, or of several parts of it.

    Attributes:
        next_case: number of the first case that no part has tried.
        tables: tables that were changed.
        made: changes that must be reported, by kind.
        reported: the number of reported ones.
        legal: changes that the protocol allows, by kind and reason.
        wrong: changes whose verdict is wrong, a line each.
    """

    next_case: int = 0
    tables: int = 0
    made: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    legal: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, mutant: Mutant, *, found: bool, where: str) -> None:
        if mutant.reason:
            self.legal[mutant.kind, mutant.reason] += 1
        else:
            self.made[mutant.kind] += 1
            self.reported[mutant.kind] += found
        if found is bool(mutant.reason):
            self.wrong.append(f"{where}: {mutant.kind}")

    def plus(self, other: _Counts) -> _Counts:
        return _Counts(
            tables=self.tables + other.tables,
            made=self.made + other.made,
            reported=self.reported + other.reported,
            legal=self.legal + other.legal,
            wrong=[*self.wrong, *other.wrong],
        )

    def to_json(self) -> dict[str, Any]:
        legal = [[kind, reason, count] for (kind, reason), count in sorted(self.legal.items())]
        return {
            "next_case": self.next_case,
            "tables": self.tables,
            "made": dict(sorted(self.made.items())),
            "reported": dict(sorted(self.reported.items())),
            "legal": legal,
            "wrong": self.wrong,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> _Counts:
        return cls(
            next_case=document["next_case"],
            tables=document["tables"],
            made=Counter(document["made"]),
            reported=Counter(document["reported"]),
            legal=Counter({(kind, reason): count for kind, reason, count in document["legal"]}),
            wrong=document["wrong"],
        )


@click.command()
@click.option("--engine", "name", default="pyspark", metavar="ENGINE", help="Writes the tables.")
@click.option("--seed", default=1, help="Of the cases.")
@click.option("--mutants", "wanted", default=20_000, help="How many changes that must be reported.")
@click.option("--of-table", "most", default=400, help="Most changes of one table.")
@click.option(
    "--counts",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Go on from the counts in this file, and write them to it after each table. A file may hold several engines "
    "and seeds; the tables show their sum.",
)
def main(name: str, seed: int, wanted: int, most: int, file: Path | None) -> None:
    """Change one thing in the commit or in a file of random merges, and count which changes are reported."""
    runs = _read(file)
    run = f"{name}, seed {seed}"
    counts = runs.setdefault(run, _Counts())
    with open_engine(name) as engine, TemporaryDirectory(prefix="mergecheck-tables-") as folder:
        for number, table in _tables(engine, seed, counts.next_case, Path(folder)):
            if counts.made.total() >= wanted:
                break
            for mutant in _chosen(table, number, most):
                found = table.verdict(mutant) is Verdict.MISMATCH
                counts.add(mutant, found=found, where=f"{run}, case {number}")
            counts.next_case, counts.tables = number + 1, counts.tables + 1
            if file is not None:
                document = {one: found.to_json() for one, found in runs.items()}
                file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            made, reported = counts.made.total(), counts.reported.total()
            click.echo(f"{made} changes, {reported} reported, {len(counts.wrong)} wrong", err=True)
    _show(runs)
    raise SystemExit(any(counts.wrong for counts in runs.values()))


def _read(file: Path | None) -> dict[str, _Counts]:
    if file is None or not file.exists():
        return {}
    return {run: _Counts.from_json(counts) for run, counts in json.loads(file.read_text(encoding="utf-8")).items()}


def _show(runs: dict[str, _Counts]) -> None:
    total = _Counts()
    for run, counts in runs.items():
        click.echo(f"{run}: {counts.tables} tables, {counts.made.total()} changes, {counts.reported.total()} reported")
        total = total.plus(counts)
    for kind, count in sorted(total.made.items()):
        click.echo(f"| {kind} | {count} | {total.reported[kind]} |")
    click.echo(f"| all | {total.made.total()} | {total.reported.total()} |")
    for (kind, reason), count in sorted(total.legal.items()):
        click.echo(f"| {kind} | {count} | {reason} |")
    for line in total.wrong[:_SHOWN]:
        click.echo(line)
    missed = total.made.total() - total.reported.total()
    click.echo(f"{missed} not reported, {len(total.wrong)} in all that should be otherwise")


def _tables(engine: Engine, seed: int, first: int, folder: Path) -> Iterator[tuple[int, WrittenTable]]:
    """Yield the tables of random cases that agree, each with the number of its case, from a number on."""
    if not isinstance(engine, ExistingTableEngine):
        raise UserInputError(f"{engine.name} merges into no table that is there; pyspark and delta-spark do")
    reference = reference_for(engine, Expressions.DUCKDB)
    for number, case in itertools.islice(enumerate(stream_for(engine, seed)), first, None):
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
