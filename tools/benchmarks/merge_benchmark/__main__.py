"""Delta Lake's MERGE benchmark, rebuilt, on several engines in turn.

python -m tools.benchmarks.merge_benchmark --rows 5000000 --markdown docs/benchmark-table.md --plot docs/benchmark.svg

Copies of a table share its files by hard links, so the folder must lie on a file system that has them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.merge_benchmark.additions import ADDITIONS
from tools.benchmarks.merge_benchmark.cases import CASES, Keys
from tools.benchmarks.merge_benchmark.engines import DeltaRsMerge, DeltaSparkMerge, PySparkMerge, start_spark
from tools.benchmarks.merge_benchmark.limit import Limit
from tools.benchmarks.merge_benchmark.plot import plot
from tools.benchmarks.merge_benchmark.report import document, markdown
from tools.benchmarks.merge_benchmark.runs import run_case
from tools.benchmarks.merge_benchmark.tables import Layout, Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tools.benchmarks.merge_benchmark.cases import BenchmarkCase
    from tools.benchmarks.merge_benchmark.engines import BenchmarkEngine
    from tools.benchmarks.merge_benchmark.runs import CaseResult

_ON_SPARK = (PySparkMerge.name, DeltaSparkMerge.name)
_ENGINES = (*_ON_SPARK, DeltaRsMerge.name, Limit.name)


def main() -> None:
    """Run the cases and print or write the figures."""
    arguments = _parser().parse_args()
    cases = _chosen(arguments.case, additions=arguments.additions)
    engines = _engines(arguments.engine or list(_ON_SPARK), arguments.set)
    results: list[CaseResult] = []
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="merge-benchmark-")))
        tables = Tables(
            folder=folder / f"{arguments.rows}_{arguments.files}_{arguments.keys}_{arguments.layout}_{arguments.seed}",
            num_rows=arguments.rows,
            num_files=arguments.files,
            seed=arguments.seed,
            keys=Keys(arguments.keys),
            layout=Layout(arguments.layout),
            vectors=arguments.vectors,
        )
        for case in cases:
            results += run_case(
                case, engines, tables, iterations=arguments.iterations, warm_up=arguments.warm_up, report=_progress
            )
            _write(results, tables, arguments)  # after each case, so that an interrupted run leaves its results
    text = markdown(results, tables, iterations=arguments.iterations, warm_up=arguments.warm_up)
    print(json.dumps(document(results, tables), indent=2) if arguments.json else text)


def _write(results: list[CaseResult], tables: Tables, arguments: argparse.Namespace) -> None:
    if arguments.markdown:
        text = markdown(results, tables, iterations=arguments.iterations, warm_up=arguments.warm_up)
        arguments.markdown.write_text(text, encoding="utf-8")
    if arguments.plot:
        arguments.plot.write_text(plot(results, tables), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the target")
    parser.add_argument("--files", type=int, default=200, help="files of the target")
    parser.add_argument("--case", action="append", metavar="NAME", help="only this case, or those that NAME begins")
    parser.add_argument("--additions", action="store_true", help="also the cases that Delta Lake's benchmark lacks")
    parser.add_argument("--engine", action="append", choices=_ENGINES, help="pyspark and delta-spark by default")
    parser.add_argument("--iterations", type=int, default=3, help="rounds, warm-up included")
    parser.add_argument("--warm-up", type=int, default=1, metavar="N", help="so many first rounds do not count")
    parser.add_argument("--keys", choices=[keys.value for keys in Keys], default=Keys.CLEAN.value)
    parser.add_argument("--layout", choices=[layout.value for layout in Layout], default=Layout.CLUSTERED.value)
    parser.add_argument("--vectors", action="store_true", help="targets with deletion vectors switched on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the session")
    parser.add_argument("--folder", type=Path, help="keep the tables here and find them again")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an SVG file")
    parser.add_argument("--json", action="store_true", help="print everything measured")
    return parser


def _chosen(names: list[str] | None, *, additions: bool) -> list[BenchmarkCase]:
    """Choose cases by the beginnings of their names.

    Raises:
        SystemExit: no case begins so.
    """
    if not names:
        return [*CASES, *(ADDITIONS if additions else ())]
    known = [*CASES, *ADDITIONS]
    for name in names:
        if not any(case.name.startswith(name) for case in known):
            raise SystemExit(f"--case {name}: no such case; there are {', '.join(case.name for case in known)}")
    return [case for case in known if case.name.startswith(tuple(names))]


def _engines(names: list[str], settings: list[str]) -> list[BenchmarkEngine]:
    spark = start_spark() if any(name in _ON_SPARK for name in names) else None
    if spark is not None:
        for setting in settings:
            name, _, value = setting.partition("=")
            spark.conf.set(name, value)
    return [_engine(name, spark) for name in names]


def _engine(name: str, spark: SparkSession | None) -> BenchmarkEngine:
    if name == Limit.name:
        return Limit()
    if spark is None or name == DeltaRsMerge.name:
        return DeltaRsMerge()
    return PySparkMerge(spark) if name == PySparkMerge.name else DeltaSparkMerge(spark)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
