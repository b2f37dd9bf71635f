"""A merge reports every fault of a table's storage as a ``MergeError`` and leaves the table as it was."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Reader
from deltalake import write_deltalake
from merge_tables import SOURCE_SCHEMA, UPSERT, Table, arrow, create
from py4j.protocol import Py4JNetworkError

from mergecheck.merge import command
from mergecheck.merge.errors import (
    DamagedLogError,
    ExecutionError,
    InternalMergeError,
    InvalidConfigurationError,
    MergeError,
    SparkFailedError,
    StoreError,
    UnsupportedStatementError,
    UnsupportedTableError,
    brief,
    cut,
    without_traces,
)
from mergecheck.merge.expressions.boundary import merge_errors
from mergecheck.merge.sql import merge_sql
from mergecheck.merge.table.storage.log_store import LogStore, log_file
from mergecheck.merge.table.storage.workers import run_in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

MAX_MESSAGE = 500
NOT_IN_A_MESSAGE = ("Traceback", "\tat ", "org.apache", "JVM stacktrace", "<unknown>", "\x1b")


def require_plain(error: MergeError) -> None:
    assert error.error_class.isupper() or error.error_class.replace(".", "_").isupper()
    assert 20 < len(error.message) <= MAX_MESSAGE, error.message
    assert not any(text in error.message for text in NOT_IN_A_MESSAGE), error.message


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def lines_of(version: int, change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def damage(table: Path) -> None:
        file = table / log_file(version)
        file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")

    return damage


def field(version: int, kind: str, **fields: Any) -> Callable[[Path], None]:
    """Set fields of an action; None takes them out."""

    def change(line: str) -> str:
        action = json.loads(line)
        for name, value in fields.items() if kind in action else ():
            action[kind][name] = value
            if value is None:
                del action[kind][name]
        return json.dumps(action)

    return lines_of(version, lambda lines: list(map(change, lines)))


def without(version: int, kind: str) -> Callable[[Path], None]:
    return lines_of(version, lambda lines: [line for line in lines if kind not in json.loads(line)])


def prop(name: str, value: object) -> Callable[[Path], None]:
    return field(0, "metaData", configuration={name: value})


def checkpoint(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(table: Path) -> None:
        Reader(table).create_checkpoint()
        (file,) = (table / "_delta_log").glob("*.checkpoint.parquet")
        file.write_bytes(change(file.read_bytes()))

    return damage


def files(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(table: Path) -> None:
        for name in Reader(table).file_uris():
            file = Path(name.removeprefix("file://"))
            file.write_bytes(change(file.read_bytes()))

    return damage


def flipped(first: int, last: int) -> Callable[[bytes], bytes]:
    """Flip bits between two places, negative ones from the end."""

    def change(given: bytes) -> bytes:
        start, end = first % len(given), last % len(given) or len(given)
        return given[:start] + bytes(byte ^ 0x5A for byte in given[start:end]) + given[end:]

    return change


def cut_off(given: bytes) -> bytes:
    return given[: len(given) // 2]


def log_is_a_file(table: Path) -> None:
    shutil.rmtree(table / "_delta_log")
    (table / "_delta_log").write_text("x")


DAMAGES: dict[str, tuple[Callable[[Path], None], type[MergeError], str]] = {
    "gap in the log": (lambda t: (t / log_file(1)).unlink(), DamagedLogError, "DELTA_VERSIONS_NOT_CONTIGUOUS"),
    "no first version": (lambda t: (t / log_file(0)).unlink(), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "truncated JSON": (
        lambda t: (t / log_file(2)).write_bytes((t / log_file(2)).read_bytes()[:-40]),
        DamagedLogError,
        "DELTA_STATE_RECOVER_ERROR",
    ),
    "a list": (lines_of(2, lambda _: ["[1, 2]"]), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "a text": (lines_of(2, lambda _: ["hello"]), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "add without path": (field(2, "add", path=None), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "add without size": (field(2, "add", size=None), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "size that is no number": (field(2, "add", size="x"), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "no protocol": (without(0, "protocol"), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "no metadata": (without(0, "metaData"), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "schema cut off": (field(0, "metaData", schemaString="{"), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "schema without a type": (field(0, "metaData", schemaString="null"), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "partitions that are no columns": (
        field(0, "metaData", partitionColumns=["nothing"]),
        DamagedLogError,
        "DELTA_STATE_RECOVER_ERROR",
    ),
    "protocol of the future": (
        field(0, "protocol", minReaderVersion=99),
        UnsupportedTableError,
        "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    ),
    "checkpoint cut off": (checkpoint(cut_off), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "empty checkpoint": (checkpoint(lambda _: b""), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "flipped bytes of a checkpoint": (checkpoint(flipped(200, 500)), DamagedLogError, "DELTA_STATE_RECOVER_ERROR"),
    "log that is a file": (log_is_a_file, StoreError, "DISK_NOT_ACCESSIBLE"),
    "flipped bytes of the footer": (files(flipped(-60, -4)), ExecutionError, "FAILED_READ_FILE"),
    "change feed maybe": (
        prop("delta.enableChangeDataFeed", "maybe"),
        InvalidConfigurationError,
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
    ),
    "append-only 1": (prop("delta.appendOnly", "1"), InvalidConfigurationError, "INVALID_CONF_VALUE.TYPE_MISMATCH"),
    "indexed columns many": (
        prop("delta.dataSkippingNumIndexedCols", "many"),
        InvalidConfigurationError,
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
    ),
    "indexed columns -2": (
        prop("delta.dataSkippingNumIndexedCols", "-2"),
        InvalidConfigurationError,
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
    ),
    "deletion vectors on": (
        prop("delta.enableDeletionVectors", "on"),
        InvalidConfigurationError,
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
    ),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table of three files and three versions."""
    path = tmp_path_factory.mktemp("sound") / "target"
    for number in range(3):
        rows = arrow([(10 * number + i, "a" * i) for i in range(9)])
        write_deltalake(path, rows, mode="append")
    return path


@pytest.fixture
def source(spark: SparkSession) -> Iterator[None]:
    spark.createDataFrame([(1, "x"), (99, "y")], SOURCE_SCHEMA).createOrReplaceTempView("source")
    yield
    spark.catalog.dropTempView("source")


@pytest.mark.spark
@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.usefixtures("source")
def test_a_damaged_table_ends_in_one_plain_error(spark: SparkSession, sound: Path, tmp_path: Path, name: str) -> None:
    """Each has its class, a message without a stack trace, and its cause attached; nothing is written."""
    damage, kind, error_class = DAMAGES[name]
    table = Path(shutil.copytree(sound, tmp_path / "target"))
    damage(table)
    before = content(table)
    with pytest.raises(kind) as caught:
        merge_sql(spark, UPSERT, tables={"target": str(table)})
    require_plain(caught.value)
    assert caught.value.error_class.startswith(error_class)
    assert (caught.value.__cause__ is not None) or kind in (InvalidConfigurationError, ExecutionError)
    assert content(table) == before


@pytest.mark.spark
def test_a_worker_that_cannot_write_names_the_disk(spark: SparkSession, tmp_path: Path) -> None:
    """Where the folder of change data should be there is a file."""
    table = create(spark, tmp_path / "target", arrow([(1, "a"), (2, None)]))
    (tmp_path / "target" / "_change_data").write_text("x")
    with pytest.raises(StoreError) as caught:
        table.merge(UPSERT, [(1, "x")])
    require_plain(caught.value)
    assert caught.value.error_class == "DISK_NOT_ACCESSIBLE"
    assert caught.value.__cause__ is not None
    assert table.version() == 0
    assert len(list(Path(table.path).glob("*.parquet"))) == 1  # the merge's files are gone


@pytest.mark.spark
def test_a_disk_that_takes_no_commit(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file may have a byte, as if the disk were full: nothing is committed, and no data file stays."""
    execute, limits = command.execute, resource.getrlimit(resource.RLIMIT_FSIZE)
    before = content(Path(table.path))

    def full_afterwards(run: Any) -> Any:
        result = execute(run)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        return result

    monkeypatch.setattr(command, "execute", full_afterwards)
    try:
        with pytest.raises(StoreError) as caught:
            table.merge(UPSERT, [(1, "x")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    require_plain(caught.value)
    assert caught.value.__cause__ is not None
    after = content(Path(table.path))
    assert {name: after[name] for name in before} == before
    assert not [name for name in after.keys() - before if name.endswith((".json", ".parquet"))]


@pytest.mark.spark
def test_a_lost_worker(table: Table, spark: SparkSession) -> None:
    """A Python worker of the source's own plan that ends is Spark's failure."""
    dying = run_in_workers(spark.range(2), _die, "id BIGINT, v STRING")
    dying.createOrReplaceTempView("source")
    with pytest.raises(SparkFailedError) as caught:
        merge_sql(spark, UPSERT, tables={"target": table.path})
    spark.catalog.dropTempView("source")
    require_plain(caught.value)
    assert caught.value.__cause__ is not None
    assert table.version() == 1


def _die(_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os._exit(1)
    yield


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (Py4JNetworkError("Answer from Java side is empty"), SparkFailedError),
        (ConnectionRefusedError(111, "Connection refused"), SparkFailedError),
        (OSError(28, "No space left on device"), StoreError),
        (RecursionError("maximum recursion depth exceeded"), UnsupportedStatementError),
        (KeyError("id"), InternalMergeError),
        (pa.ArrowInvalid("x" * 10_000), InternalMergeError),
    ],
)
def test_whatever_is_raised_leaves_as_ours(raised: Exception, kind: type[MergeError]) -> None:
    """With the cause attached, also through pickling."""
    with pytest.raises(kind) as caught, merge_errors("/data/t"):
        raise raised
    assert caught.value.__cause__ is raised
    require_plain(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert (type(again), again.message) == (kind, caught.value.message)


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt), merge_errors("/data/t"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("line", ["[1]", "5", '{"add": 3}', '{"add": {}}', '{"remove": {"path": 1}}', "{", "[" * 9_000])
def test_a_winning_commit_that_is_damaged(tmp_path: Path, line: str) -> None:
    """A commit that another writer made is read to find conflicts."""
    file = tmp_path / log_file(0)
    file.parent.mkdir()
    file.write_text(line)
    with pytest.raises(DamagedLogError) as caught:
        LogStore(str(tmp_path)).read(0)
    require_plain(caught.value)
    assert caught.value.__cause__ is not None


def test_a_commit_may_contain_ends_of_lines_that_json_does_not_escape(tmp_path: Path) -> None:
    """U+2028 ends a line for Python, not for JSON."""
    store = LogStore(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    action = {"commitInfo": {"operationParameters": {"predicate": "a = '\u2028\x85'"}}}
    assert store.try_create(0, [action])
    assert store.read(0) == (action,)


def test_stack_traces_are_cut() -> None:
    """Of Java, of Rust, and of Python code in a worker, whose last line has the exception."""
    assert without_traces("[A] b\n\nJVM stacktrace:\norg.apache.X\n\tat y") == "[A] b"
    assert without_traces("Kernel error: x\n   0: <unknown>\n   1: <unknown>") == "Kernel error: x"
    worker = "An exception was thrown\nTraceback (most recent call last):\n  File x\nOSError: [Errno 28] full\n\tat a.b"
    assert without_traces(worker) == "OSError: [Errno 28] full"
    assert len(cut("x" * 9_999)) <= 400
    assert brief(ValueError("")) == "ValueError"


def test_parquet_metadata_is_what_the_tests_damage(sound: Path) -> None:
    """The footer ends with its length and four magic bytes, of which the tests flip parts."""
    file = next(sound.glob("*.parquet"))
    assert file.read_bytes()[-4:] == b"PAR1"
    assert pq.read_metadata(file).serialized_size > 60
