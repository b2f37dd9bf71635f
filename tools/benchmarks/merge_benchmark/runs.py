"""Running the cases: engines in turn on copies of one table, every run checked against exact numbers."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from tools.benchmarks.merge_benchmark.cpu_time import cpu_seconds
from tools.benchmarks.merge_benchmark.delta_log import copy_table
from tools.benchmarks.merge_benchmark.engines import measured
from tools.benchmarks.merge_benchmark.tables import keys_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tools.benchmarks.merge_benchmark.cases import BenchmarkCase
    from tools.benchmarks.merge_benchmark.engines import BenchmarkEngine, Measured
    from tools.benchmarks.merge_benchmark.tables import Tables


class WrongMetricsError(AssertionError):
    """An engine reports other numbers of rows than the case asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The right operation metrics of a case; ``copied`` where files decide it exactly."""

    updated: int
    deleted: int
    inserted: int
    copied: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The timed runs of one engine on one case, the warm-up left out."""

    case: BenchmarkCase
    engine: str
    runs: tuple[Measured, ...]

    @property
    def seconds(self) -> float:
        """The median of the runs."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def cpu_seconds(self) -> float | None:
        """The median of the runs' processor times."""
        found = [run.cpu_seconds for run in self.runs if run.cpu_seconds is not None]
        return statistics.median(found) if found else None

    @property
    def copied_per_change(self) -> float | None:
        """Rows copied per row changed, the write amplification; None where nothing changed."""
        last = self.runs[-1]
        changed = last.updated + last.deleted + last.inserted
        return last.copied / changed if changed else None


def run_case(
    case: BenchmarkCase,
    engines: Sequence[BenchmarkEngine],
    tables: Tables,
    *,
    iterations: int,
    warm_up: int = 1,
    report: Callable[[str], None],
) -> list[CaseResult]:
    """Run a case in turn on every engine that takes it; the first rounds are warm-up, and count only if all are.

    Raises:
        WrongMetricsError: a run changed other numbers of rows than it had to.
    """
    target, source = tables.target(case.target), tables.source(case.shape, case.target)
    expected = expect(case, target, source, tables)
    engines = [engine for engine in engines if engine.takes(case)]
    runs: dict[str, list[Measured]] = {engine.name: [] for engine in engines}
    for iteration in range(iterations):
        for engine in engines:
            copy = tables.folder / f"run_{engine.name}"
            shutil.rmtree(copy, ignore_errors=True)
            copy_table(target, copy, properties={**case.properties, **tables.properties})
            before = cpu_seconds()
            seconds = engine.run(case, copy, source)
            after = cpu_seconds()
            run = measured(seconds, None if before is None or after is None else after - before, copy)
            shutil.rmtree(copy)
            check(case, engine.name, expected, run)
            report(f"{case.name} {engine.name} {iteration}: {run.seconds:.2f} s, CPU {run.cpu_seconds or 0:.1f} s")
            if iteration >= min(warm_up, iterations - 1):
                runs[engine.name].append(run)
    return [CaseResult(case=case, engine=name, runs=tuple(found)) for name, found in runs.items()]


def expect(case: BenchmarkCase, target: Path, source: Path, tables: Tables) -> Expected:
    """Compute the numbers of rows; DuckDB counts where clauses have conditions."""
    with duckdb.connect() as connection:
        connection.read_parquet(str(keys_file(source))).create_view("s")
        connection.read_parquet(f"{target}/**/*.parquet", hive_partitioning=True).create_view("t")
        updated, deleted, inserted = (
            int(connection.sql(query if query.startswith("SELECT") else f"SELECT {query}").fetchall()[0][0])
            for query in (case.updated, case.deleted, case.inserted)
        )
    return Expected(
        updated=updated, deleted=deleted, inserted=inserted, copied=_copied(case, tables, updated + deleted)
    )


def _copied(case: BenchmarkCase, tables: Tables, changed: int) -> int | None:
    """Count the other rows of the chosen files; each has a match where there are enough."""
    if case.is_addition:
        return None
    if not case.shape.rows_matched or tables.vectors:
        return 0
    return tables.num_rows_in(tables.chosen_files(case.shape)) - changed


def check(case: BenchmarkCase, engine: str, expected: Expected, run: Measured) -> None:
    """Hold a run against the numbers.

    Raises:
        WrongMetricsError: a number is wrong; the message names it.
    """
    for name in ("updated", "deleted", "inserted", "copied"):
        wanted, got = getattr(expected, name), getattr(run, name)
        if wanted is not None and got != wanted:
            raise WrongMetricsError(f"{case.name}: {engine} reports {got} rows {name}, but the case has {wanted}")
