"""The look at a cluster's workers before the first case: one message names all that is missing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from mergecheck.harness.engines.spark import workers as spark_workers
from mergecheck.harness.engines.spark.config import SparkPlace
from mergecheck.harness.engines.spark.workers import require_workers
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

GOOD = {"imports": None, "sees_tables": True}


class FakeCluster:
    """As much of a session as the first query touches; ``answer`` makes its rows from a real look's."""

    def __init__(self, answer: Callable[[list[dict[str, Any]]], Any]) -> None:
        self.answer = answer
        self.look: Any = None

    def range(self, *_: int) -> FakeCluster:
        return self

    def mapInArrow(self, look: Any, _schema: str) -> FakeCluster:  # noqa: N802 - Spark's name
        self.look = look
        return self

    def collect(self) -> Any:
        return self.answer(pa.Table.from_batches(self.look(iter(()))).to_pylist())


def look(answer: Callable[[list[dict[str, Any]]], Any], root: Path, given_up: list[bool]) -> None:
    place = SparkPlace(master="spark://h:7077", table_root=root)
    session = cast("SparkSession", FakeCluster(answer))
    require_workers(session, place, give_up=lambda: given_up.append(True))


def test_good_workers_pass_and_leave_nothing(tmp_path: Path) -> None:
    """The function that is sent to workers runs here: it finds ``merge``, and the file under the table root."""
    seen: list[dict[str, Any]] = []
    look(lambda rows: seen.extend(rows) or rows, tmp_path, [])
    assert seen == [GOOD]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([GOOD, GOOD | {"sees_tables": False}], "do not see .*Give --table-root a directory"),
        ([GOOD | {"imports": "ModuleNotFoundError: No module named 'pyarrow.parquet'"}], "pyarrow.parquet.*Install"),
    ],
)
def test_a_worker_that_lacks_something_is_told(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(EngineDownError, match=message):
        look(lambda _: rows, tmp_path, [])
    assert not list(tmp_path.iterdir())


def test_a_python_that_does_not_run_is_told(tmp_path: Path) -> None:
    """Of a long traceback only the line with the fault."""

    def fail(_: object) -> None:
        raise RuntimeError(
            "Job aborted\n  File x\nModuleNotFoundError: No module named 'pyarrow'\n\tat org.apache.Spark"
        )

    with pytest.raises(EngineDownError, match=r"cannot run Python: ModuleNotFoundError: No module named 'pyarrow'\n"):
        look(fail, tmp_path, [])


def test_a_cluster_without_workers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would let the first query wait for ever."""
    monkeypatch.setattr(spark_workers, "FIRST_QUERY_SECONDS", 0.05)
    given_up: list[bool] = []
    released = threading.Event()
    with pytest.raises(EngineDownError, match=r"spark://h:7077 runs nothing.*Start workers"):
        look(lambda _: released.wait(20), tmp_path, given_up)
    released.set()
    assert given_up == [True]
