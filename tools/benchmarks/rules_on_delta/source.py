"""Sources that stream, change or are lost while a merge runs (R-143, R-451 to R-456, R-818)."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.benchmarks.rules_on_delta.lab import UPSERT, Check, Lab, error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE = 120.0
_UPDATE = "WHEN MATCHED AND pause(t.id) THEN UPDATE SET *"
_NAME = "mergeMaterializedSource"


def _streaming(lab: Lab) -> object:
    lab.both()
    source = lab.spark.readStream.format("delta").load(str(lab.source)).alias("s")
    try:
        lab.delta_table().merge(source, "t.id = s.id").whenMatchedUpdateAll().execute()
    except Exception as error:  # noqa: BLE001 - the error is the answer
        return "must be executed with writeStream.start()" in str(error)
    return "no error"


def _each_batch(lab: Lab) -> object:
    lab.both()
    target = lab.delta_table()

    def merge(batch: Any, _number: int) -> None:  # noqa: ANN401 - a DataFrame
        target.merge(batch.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    stream = lab.spark.readStream.format("delta").load(str(lab.source)).writeStream.foreachBatch(merge)
    query = (
        stream.option("checkpointLocation", str(lab.target.parent / "checkpoint")).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    return lab.rows()


def _marked(lab: Lab, name: str) -> Path:
    """Register a function that leaves a line in a file each time it is evaluated."""
    marks = lab.target.parent / f"{name}.txt"
    path = str(marks)

    def leave(value: int) -> int:
        with Path(path).open("a") as file:
            file.write("x\n")
        return value

    lab.spark.udf.register(name, leave, "int")
    return marks


def _pruned(lab: Lab) -> object:
    lab.both()
    used, unused = _marked(lab, "mark_used"), _marked(lab, "mark_unused")
    query = f"(SELECT id, mark_used(v) AS v, mark_unused(v) AS w FROM delta.`{lab.source}`)"
    lab.merge("WHEN MATCHED THEN UPDATE SET v = s.v", using=query)
    return [used.exists(), unused.exists()]


def _by_source_columns(lab: Lab) -> object:
    """Count how often a materialised and a repeatable source are evaluated by a merge of two scans."""
    lab.both()
    marks = _marked(lab, "mark_scan")
    query = f"(SELECT id, mark_scan(v) AS v FROM delta.`{lab.source}`)"
    counts = []
    for mode in ("auto", "none"):
        marks.unlink(missing_ok=True)
        with lab.settings(merge__materializeSource=mode):
            lab.merge("WHEN MATCHED AND s.v > 0 THEN UPDATE SET v = s.v", using=query)
        counts.append(len(marks.read_text().splitlines()) > 2)  # noqa: PLR2004 - the rows of the source
    return counts


def _persistent(lab: Lab) -> list[Any]:
    context: Any = lab.spark.sparkContext._jsc  # noqa: SLF001 - PySpark does not list the persisted frames
    return [rdd for rdd in context.getPersistentRDDs().values() if rdd.name() == _NAME]


@contextmanager
def _meanwhile(lab: Lab, act: Callable[[], object], *, times: int = 1) -> Iterator[None]:
    """Let a merge pause in its first scan, in the function ``pause``, while something is done; as often as wanted."""
    folder = lab.target.parent
    here, go = str(folder / "here"), str(folder / "go")

    def pause(value: int) -> bool:
        if not Path(go).exists():
            Path(here).touch()
            while not Path(go).exists():
                time.sleep(0.05)
        return value > 0

    def watch() -> None:
        for turn in range(times):
            end = time.monotonic() + _PATIENCE
            while not Path(here).exists() and time.monotonic() < end:
                time.sleep(0.05)
            try:
                act()
            finally:
                Path(here).unlink(missing_ok=True)
                Path(go).touch()
            if turn + 1 < times:
                while lab.spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < end:
                    time.sleep(0.05)
                Path(go).unlink()

    lab.spark.udf.register("pause", pause, "boolean")
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        Path(go).touch()
        watcher.join(_PATIENCE)


def _levels(lab: Lab) -> tuple[list[str], Callable[[], None]]:
    """Make an action that notes how the source is kept, and loses it."""
    found: list[str] = []

    def lose() -> None:
        for rdd in _persistent(lab):
            found.append(str(rdd.rdd().getStorageLevel().description()))
            rdd.unpersist()

    return found, lose


def _lost(times: int) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both()
        found, lose = _levels(lab)
        query = f"(SELECT * FROM delta.`{lab.source}` LIMIT 10)"
        error, events = "committed", {}
        with _meanwhile(lab, lose, times=times):
            try:
                events = lab.event(lambda: lab.merge(_UPDATE, using=query))
            except Exception as raised:  # noqa: BLE001 - the error is the answer
                error = error_of(raised)
        return [error, events.get("materializeSourceAttempts"), found, len(_persistent(lab))]

    return ask


def _cached_meanwhile(lab: Lab) -> object:
    lab.both()
    source = lab.spark.read.format("delta").load(str(lab.source))
    try:
        with _meanwhile(lab, source.cache):
            return lab.merge(_UPDATE)
    finally:
        source.unpersist()


def _released_after_failure(lab: Lab) -> object:
    lab.both()
    query = f"(SELECT * FROM delta.`{lab.source}` LIMIT 10)"
    error = "no error"
    try:
        lab.merge("WHEN MATCHED THEN UPDATE SET v = 1 / (s.v - s.v)", using=query)
    except Exception as raised:  # noqa: BLE001 - the error is the answer
        error = error_of(raised)
    return [error, len(_persistent(lab))]


def _changed(fail: str, clauses: str) -> Callable[[Lab], object]:
    """Merge from a source that has a row less each time it is read."""

    def ask(lab: Lab) -> object:
        lab.both()
        counter = str(lab.target.parent / "counter")

        def shrinking(value: int) -> bool:
            if value != 3:  # noqa: PLR2004 - the row that comes the first time only
                return True
            first = not Path(counter).exists()
            Path(counter).touch()
            return first

        lab.spark.udf.register("shrinking", shrinking, "boolean")
        query = f"(SELECT * FROM delta.`{lab.source}` WHERE shrinking(id))"
        with lab.settings(merge__materializeSource="none", merge__failIfSourceChanged=fail):
            try:
                lab.merge(clauses, using=query)
            except Exception as raised:  # noqa: BLE001 - the error is the answer
                return "source dataset is not deterministic" in str(raised) or error_of(raised)
        return "no error"

    return ask


def _unchanged_without_keys(lab: Lab) -> object:
    lab.table(lab.target, "id INT, v INT", "(1, 10)")
    lab.table(lab.source, "id INT, v INT", "(2, 20)")
    with lab.settings(merge__failIfSourceChanged="true"):
        try:
            lab.merge(UPSERT, on="t.id < s.id")
        except Exception as raised:  # noqa: BLE001 - the error is the answer
            return "source dataset is not deterministic" in str(raised) or error_of(raised)
    return "no error"


def _random_source(lab: Lab) -> object:
    """Merge random values from a source without materialisation and with it: do feed and rows agree?"""
    lab.both()
    query = f"(SELECT id, CAST(rand() * 1000000 AS INT) AS v FROM delta.`{lab.source}`)"
    event = lab.event(lambda: lab.merge(UPSERT, using=query))
    return [event["materializeSourceReason"], event["source"]["rows"], event["sourceRowsInSecondScan"]]


_KEPT = "Disk Serialized {}x Replicated"
CHECKS = (
    Check(rule="R-143", question="the error of a streaming source is Spark's", ask=_streaming, expected=True),
    Check(rule="R-143", question="inside foreachBatch", ask=_each_batch, expected=[(1, 11), (2, 20), (3, 33)]),
    Check(rule="R-451", question="a used, an unused column is computed", ask=_pruned, expected=[True, False]),
    Check(rule="R-451", question="read again: materialised, not", ask=_by_source_columns, expected=[False, True]),
    Check(
        rule="R-453",
        question="a source lost once: answer, attempts, storage levels, kept at the end",
        ask=_lost(1),
        expected=["committed", 2, [_KEPT.format(1)], 0],
    ),
    Check(
        rule="R-452",
        question="a source lost each time: answer, attempts, storage levels, kept at the end",
        ask=_lost(4),
        expected=[
            "DELTA_MERGE_MATERIALIZE_SOURCE_FAILED_REPEATEDLY",
            None,
            [_KEPT.format(1), _KEPT.format(2), _KEPT.format(3), _KEPT.format(3)],
            0,
        ],
    ),
    Check(
        rule="R-454",
        question="the source is cached during the first scan",
        ask=_cached_meanwhile,
        expected="DELTA_MERGE_SOURCE_CACHED_DURING_EXECUTION",
    ),
    Check(
        rule="R-455",
        question="after a failure: error, kept",
        ask=_released_after_failure,
        expected=["TASK_WRITE_FAILED", 0],
    ),
    Check(rule="R-456", question="fewer rows, failIfSourceChanged", ask=_changed("true", UPSERT), expected=True),
    Check(rule="R-456", question="fewer rows, default", ask=_changed("false", UPSERT), expected="no error"),
    Check(
        rule="R-456",
        question="nothing is written (path C)",
        ask=_changed("true", "WHEN MATCHED AND t.v > 1000 THEN DELETE"),
        expected="no error",
    ),
    Check(
        rule="R-456",
        question="an unchanged source without keys to join by (docs/findings/delta-spark-source-rows.md) fails",
        ask=_unchanged_without_keys,
        expected=True,
    ),
    Check(
        rule="R-818",
        question="rand() in the source: reason, rows in both scans",
        ask=_random_source,
        expected=["materializeNonDeterministicSourceOperators", 2, 2],
    ),
)
