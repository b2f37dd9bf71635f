"""The benchmark's tables have exactly the files and rows of the fractions, and its report the right numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from tools.benchmarks.merge_benchmark.additions import ADDITIONS
from tools.benchmarks.merge_benchmark.cases import CASES, SourceShape, TargetKind
from tools.benchmarks.merge_benchmark.delta_log import copy_table
from tools.benchmarks.merge_benchmark.engines import DeltaRsMerge, Measured
from tools.benchmarks.merge_benchmark.limit import Limit
from tools.benchmarks.merge_benchmark.plot import plot
from tools.benchmarks.merge_benchmark.report import markdown
from tools.benchmarks.merge_benchmark.runs import CaseResult, WrongMetricsError, check, expect, run_case
from tools.benchmarks.merge_benchmark.tables import Layout, Tables

BY_NAME = {case.name: case for case in (*CASES, *ADDITIONS)}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(folder=tmp_path, num_rows=4_000, num_files=40)


def test_there_are_sixteen_cases_of_delta_lake() -> None:
    assert len(CASES) == 16
    assert len(BY_NAME) == 16 + len(ADDITIONS)


@pytest.mark.parametrize("kind", [TargetKind.PLAIN, TargetKind.PARTITIONED, TargetKind.SKEWED])
def test_a_target_has_its_files_and_unique_keys(tables: Tables, kind: TargetKind) -> None:
    path = tables.target(kind)
    assert DeltaTable(path).get_add_actions().num_rows == 40
    query = "SELECT count(*), count(DISTINCT (wr_order_number, wr_item_sk))"
    assert duckdb.sql(f"{query} FROM '{path}/**/*.parquet'").fetchall() == [(4_000, 4_000)]


@pytest.mark.parametrize("layout", list(Layout))
def test_a_source_takes_exact_numbers_of_rows_from_exact_numbers_of_files(tmp_path: Path, layout: Layout) -> None:
    tables = Tables(folder=tmp_path, num_rows=4_000, num_files=40, layout=layout)
    shape = SourceShape(files_matched=0.05, rows_matched=0.1, rows_not_matched=0.5)
    source, target = tables.source(shape, TargetKind.PLAIN), tables.target(TargetKind.PLAIN)
    joined = "s JOIN t ON t.wr_order_number = s.wr_order_number AND t.wr_item_sk = s.wr_item_sk"
    with duckdb.connect() as connection:
        connection.read_parquet(f"{source}/*.parquet").create_view("s")
        connection.read_parquet(f"{target}/*.parquet", filename=True).create_view("t")
        assert connection.sql("SELECT count(*) FROM s").fetchall() == [(120,)]
        assert connection.sql(f"SELECT count(*), count(DISTINCT filename) FROM {joined}").fetchall() == [(20, 2)]


def test_wrong_metrics_are_an_error(tables: Tables) -> None:
    case = BY_NAME["delete_only_f0.05_m0.05_n0"]
    expected = expect(case, tables.target(case.target), tables.source(case.shape, case.target), tables)
    assert (expected.deleted, expected.copied) == (10, 190)
    run = Measured(
        seconds=1, cpu_seconds=None, updated=0, deleted=10, inserted=0, copied=189, files_added=1, files_removed=2
    )
    with pytest.raises(WrongMetricsError, match="189 rows copied, but the case has 190"):
        check(case, "any", expected, run)


@pytest.mark.parametrize("name", ["multiple_insert_only_f0.05_m0_n0.05", "by_source_update", "conditional_upsert"])
def test_delta_rs_runs_the_cases(tables: Tables, name: str) -> None:
    """Its counts of copied rows are its own, so only cases without a number for these run here."""
    (result,) = run_case(BY_NAME[name], [DeltaRsMerge()], tables, iterations=2, report=lambda _: None)
    assert len(result.runs) == 1


@pytest.mark.parametrize(
    "name",
    [
        "multiple_insert_only_f0.05_m0_n0.5",
        "delete_only_f0.05_m0.05_n0",
        "upsert_f0.05_m0_n0.1",
        "upsert_f0.05_m0.5_n0.001",
        "upsert_f0.05_m0.1_n0",
    ],
)
def test_the_limit_writes_the_rows_of_each_case(tables: Tables, name: str) -> None:
    """It is held to the numbers of rows as every engine is, and leaves cases alone that it does not know."""
    (result,) = run_case(BY_NAME[name], [Limit()], tables, iterations=1, report=lambda _: None)
    assert len(result.runs) == 1
    assert run_case(BY_NAME["by_source_update"], [Limit()], tables, iterations=1, report=lambda _: None) == []


def test_a_copy_shares_its_files_and_has_a_log_of_its_own(tables: Tables, tmp_path: Path) -> None:
    target = tables.target(TargetKind.PLAIN)
    copy_table(target, tmp_path / "copy", properties={"delta.enableChangeDataFeed": "true"})
    assert DeltaTable(tmp_path / "copy").metadata().configuration == {"delta.enableChangeDataFeed": "true"}
    assert DeltaTable(target).metadata().configuration == {}
    one = "part-00000.snappy.parquet"
    assert (target / one).samefile(tmp_path / "copy" / one)


def test_the_report_divides_medians(tables: Tables) -> None:
    """A ratio above 1 means that ``pyspark`` is faster."""
    none = {"updated": 0, "inserted": 0}

    def result(engine: str, *seconds: float) -> CaseResult:
        runs = [
            Measured(seconds=s, cpu_seconds=2 * s, deleted=5, copied=95, files_added=1, files_removed=1, **none)
            for s in seconds
        ]
        return CaseResult(case=BY_NAME["delete_only_f0.05_m0.05_n0"], engine=engine, runs=tuple(runs))

    results = [result("pyspark", 1, 2, 9), result("delta-spark", 3, 3, 4)]
    text = markdown(results, tables, iterations=4)
    assert "| delete_only_f0.05_m0.05_n0 | 2.00 | 3.00 | 1.50 | 4.0 | 6.0 | 1.50 | 1 / 1 | 1 / 1 | 19.00 |" in text
    assert "geometric mean 1.50, least 1.50, most 1.50" in text
    assert plot(results, tables).count("<rect") == 1 + 2 + 2


_WORK = """
import subprocess, sys
from tools.benchmarks.merge_benchmark.cpu_time import cpu_seconds
print(cpu_seconds())
subprocess.run([sys.executable, "-c", "sum(i * i for i in range(3_000_000))"], check=True)
print(cpu_seconds())
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time of a family of processes: /proc")
def test_cpu_seconds_count_what_a_process_and_its_children_take() -> None:
    """In a process of its own: a child of the tests' process that loses its parent takes its time out of the sum."""
    program = [sys.executable, "-c", _WORK]
    done = subprocess.run(program, capture_output=True, text=True, check=True)  # noqa: S603 - this interpreter
    before, after = map(float, done.stdout.split())
    assert after >= before + 0.05
