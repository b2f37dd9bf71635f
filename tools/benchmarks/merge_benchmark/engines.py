"""The engines as the benchmark runs them: one MERGE on a table at a path, and its log afterwards."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deltalake import DeltaTable, QueryBuilder

from mergecheck.harness.engines.spark import delta_jars
from mergecheck.merge import merge_sql
from tools.benchmarks.merge_benchmark.delta_log import actions_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tools.benchmarks.merge_benchmark.cases import BenchmarkCase

# Close to a user's settings: adaptive execution, code generation, both compilers, memory. Both engines on Spark run in
# this one session.
_SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.databricks.delta.snapshotPartitions": "2",  # its default of 50 tasks would only cost time here
    "spark.python.unix.domain.socket.enabled": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The times and the results of one run.

    Attributes:
        seconds: wall clock of the statement alone.
        cpu_seconds: processor time of all processes meanwhile; None where it cannot be measured.
        updated, deleted, inserted, copied: rows by the operation metrics.
        files_added, files_removed: data files by the commit.
    """

    seconds: float
    cpu_seconds: float | None
    updated: int
    deleted: int
    inserted: int
    copied: int
    files_added: int
    files_removed: int


class BenchmarkEngine(Protocol):
    """Something that can run a case."""

    name: str

    def takes(self, case: BenchmarkCase) -> bool:
        """Return whether it can run a case."""

    def run(self, case: BenchmarkCase, target: Path, source: Path) -> float:
        """Merge a source into a target and return the seconds that it took."""


class PySparkMerge:
    """This project's merge."""

    name = "pyspark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def takes(self, _case: BenchmarkCase) -> bool:
        """Take every case."""
        return True

    def run(self, case: BenchmarkCase, target: Path, source: Path) -> float:
        """Run ``merge_sql``."""
        tables = {"target": str(target), "source": str(source)}
        started = time.perf_counter()
        merge_sql(self._spark, case.statement("target", "source"), tables=tables)
        return time.perf_counter() - started


class DeltaSparkMerge:
    """Delta Lake's merge, in the same session."""

    name = "delta-spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def takes(self, _case: BenchmarkCase) -> bool:
        """Take every case."""
        return True

    def run(self, case: BenchmarkCase, target: Path, source: Path) -> float:
        """Run the statement as SQL."""
        text = case.statement(f"delta.`{target}`", f"delta.`{source}`")
        started = time.perf_counter()
        self._spark.sql(text).collect()
        return time.perf_counter() - started


class DeltaRsMerge:
    """delta-rs by its Python builder; the source is streamed from its table."""

    name = "delta-rs"

    def takes(self, _case: BenchmarkCase) -> bool:
        """Take every case."""
        return True

    def run(self, case: BenchmarkCase, target: Path, source: Path) -> float:
        """Build the merge of the case's clauses and execute it."""
        started = time.perf_counter()
        rows = QueryBuilder().register("source", DeltaTable(source)).execute("SELECT * FROM source")
        merger: Any = DeltaTable(target).merge(rows, case.condition, source_alias="s", target_alias="t")
        for clause in case.clauses:
            merger = _with_clause(merger, clause)
        merger.execute()
        return time.perf_counter() - started


_CLAUSE = re.compile(
    r"WHEN (?P<kind>NOT MATCHED BY SOURCE|NOT MATCHED|MATCHED)(?: AND (?P<condition>.*?))? "
    r"THEN (?P<action>UPDATE SET|INSERT|DELETE) ?(?P<values>.*)"
)


def _with_clause(merger: Any, clause: str) -> Any:  # noqa: ANN401 - the builder's class has no public name
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise ValueError(f"clause {clause!r} is in no form that the benchmark can hand to delta-rs")
    kind = found["kind"].lower().replace(" ", "_")
    action = found["action"].split()[0].lower()
    method = f"when_{kind}_{action}"
    if found["values"] == "*":
        return getattr(merger, f"{method}_all")(predicate=found["condition"])
    if not found["values"]:
        return getattr(merger, method)(predicate=found["condition"])
    column, value = (part.strip() for part in found["values"].split("="))
    return getattr(merger, method)({column: value}, predicate=found["condition"])


def measured(seconds: float, cpu_seconds: float | None, target: Path) -> Measured:
    """Read the merge's metrics from the target's log; nothing where it made no commit."""
    actions = actions_of(target, 1)
    metrics: Mapping[str, str] = {}
    for action in actions:
        metrics = action.get("commitInfo", {}).get("operationMetrics", metrics)

    def count(delta: str, rust: str) -> int:
        return int(metrics.get(delta, metrics.get(rust, 0)))

    return Measured(
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        updated=count("numTargetRowsUpdated", "num_target_rows_updated"),
        deleted=count("numTargetRowsDeleted", "num_target_rows_deleted"),
        inserted=count("numTargetRowsInserted", "num_target_rows_inserted"),
        copied=count("numTargetRowsCopied", "num_target_rows_copied"),
        files_added=sum("add" in action for action in actions),
        files_removed=sum("remove" in action for action in actions),
    )


def start_spark() -> SparkSession:
    """Start the session that both engines on Spark share."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second, which delta-rs alone does not need

    scratch = tempfile.mkdtemp(prefix="merge-benchmark-")
    settings = {
        **_SETTINGS,
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        **delta_jars.session_settings(),
    }
    builder = SparkSession.builder.appName("merge benchmark").master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
