"""What a merge of a few rows need not pay for: collections without garbage, stack traces, columns in no question."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructType

from mergecheck.harness.spark.session import spare_stack_traces
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.table.storage.workers import run_in_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import SparkSession

_SCHEMA = StructType().add("id", LongType()).add("v", StringType())


def frozen_objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say how many objects the worker leaves out of its collections."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"n": [gc.get_freeze_count()]})


def test_a_worker_leaves_its_modules_out_of_collections(spark: SparkSession) -> None:
    """From its first task of a merge on, whichever of Spark's workers gets the task."""
    frame = spark.range(2, numPartitions=2)
    counts = [row.n for _ in range(2) for row in run_in_workers(frame, frozen_objects, "n BIGINT").collect()]
    assert len(counts) == 4
    assert min(counts) > 10_000


def test_a_run_leaves_its_modules_out_of_collections_once() -> None:
    """A process of its own: this one may have done so already."""
    script = (
        "import gc, harness.session\n"
        "from mergecheck.harness.search.garbage import spare_what_is_loaded\n"
        "spare_what_is_loaded(); first = gc.get_freeze_count()\n"
        "more = [[] for _ in range(100_000)]\n"
        "spare_what_is_loaded(); print(first > 10_000, gc.get_freeze_count() - first < 50_000)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == ["True", "True"]


def test_steps_of_a_query_say_where_they_come_from_without_a_stack_trace(spark: SparkSession) -> None:
    """Spark asks the thread's properties first; an RDD keeps what it was told."""
    spare_stack_traces(spark)
    context: Any = spark.sparkContext
    assert context._jsc.sc().getCallSite().longForm() == "mergecheck"


def test_types_are_asked_with_the_columns_in_use_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wide table costs no more than a narrow one."""
    asked: list[str] = []
    sql = type(spark).sql

    def listening(self: SparkSession, text: str) -> Any:
        asked.append(text)
        return sql(self, text)

    monkeypatch.setattr(type(spark), "sql", listening)
    types = SparkExpressionTypes(spark, target_schema=_SCHEMA, source_schema=_SCHEMA)
    assert types.of(["target_0 + 1", "concat(`source_1`, 'x')", "1.5"])[:2] == (LongType(), StringType())
    assert types.of(["1 + 1L"]) == (LongType(),)
    assert [[name for name in ("target_0", "target_1", "source_0", "source_1") if name in text] for text in asked] == [
        ["target_0", "source_1"],
        [],
    ]
