"""Merges into tables of an S3-compatible store: each acts as on a disk, and leaves nothing else behind."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock
from urllib.parse import unquote

import obstore
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from obstore.exceptions import GenericError
from s3_store import SECRET, Bucket, s3_bucket

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.config import SparkPlace
from mergecheck.harness.engines.spark.object_store import store_root
from mergecheck.harness.engines.spark.session import settings_of, start_session
from mergecheck.harness.lab.sequences.draw import sequences
from mergecheck.harness.lab.sequences.report import Ending
from mergecheck.harness.lab.sequences.sequence_run import run_sequence
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.merge import DeltaTable, ExecutionError, merge_sql, plan
from mergecheck.merge.conf import LARGE_TABLE_BYTES, SINGLE_SCAN
from mergecheck.merge.errors import AnalysisError, ConcurrentModificationError, StoreError, UncertainCommitError
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.table.commit import commit
from mergecheck.merge.table.reading.scan import read_table
from mergecheck.merge.table.snapshot.reading import open_snapshot
from mergecheck.merge.table.storage import object_store
from mergecheck.merge.table.storage.log_store import LogStore
from mergecheck.merge.table.storage.store_access import StoreAccess, store_access
from mergecheck.strategies.stream import samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NUM_CASES = 6
FEED = {"delta.enableChangeDataFeed": "true"}
ROWS = pa.table({"id": pa.array(range(6), pa.int64()), "p": ["a b", "c%d", "é:/+"] * 2, "v": list("uvwxyz")})
SOURCE = "(SELECT 1L AS id, '#?' AS p, 'new' AS v UNION ALL SELECT 77L, 'c%d', 'more')"
ON = f"MERGE INTO target t USING {SOURCE} s ON t.id = s.id "
UPSERT = ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
DELETE = ON + "WHEN MATCHED THEN DELETE"
BY_SOURCE = UPSERT + " WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE"
INSERT = ON + "WHEN NOT MATCHED THEN INSERT *"
TWO_SCANS = {SINGLE_SCAN: "false"}
LARGE = {LARGE_TABLE_BYTES: "0", **TWO_SCANS}


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with s3_bucket() as found:
        yield found


@pytest.fixture(scope="module")
def spark(bucket: Bucket) -> Iterator[SparkSession]:
    session = start_session()
    with settings_of(session, bucket.session_settings):
        yield session
    session.stop()


def twins(
    bucket: Bucket, folder: Path, *, partition_by: list[str] | None = None, properties: dict[str, str] | None = None
) -> tuple[str, str]:
    """Write a table of two files at least, and its copy in the store under a name that needs encoding."""
    path = folder / "table"
    for half in (ROWS.slice(0, 3), ROWS.slice(3)):
        write_deltalake(path, half, mode="append", partition_by=partition_by, configuration=properties)
    prefix = f"{folder.name}/a table é+#"
    for file in path.rglob("*"):
        if file.is_file():
            obstore.put(bucket.open(prefix), file.relative_to(path).as_posix(), file)
    return str(path), f"s3a://{bucket.name}/{prefix}"


def rows_of(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    frame = read_table(spark, open_snapshot(spark, path))
    return sorted(tuple(row) for row in frame.collect())


def actions_of(spark: SparkSession, path: str, version: int) -> list[dict[str, Any]]:
    location = open_snapshot(spark, path).location
    return list(LogStore(location, access=store_access(spark, path)).read(version))


def objects_of(bucket: Bucket, path: str) -> list[str]:
    return [key for key in bucket.keys(path.split("/", 3)[3]) if key.endswith(".parquet")]


@pytest.mark.parametrize(
    ("sql", "conf", "path", "partition_by"),
    [
        (UPSERT, {}, ExecutionPath.D, None),
        (UPSERT, {}, ExecutionPath.D, ["p"]),
        (BY_SOURCE, TWO_SCANS, ExecutionPath.D, ["p"]),
        (DELETE, TWO_SCANS, ExecutionPath.D, None),
        (INSERT, {}, ExecutionPath.A, ["p"]),
        (UPSERT, LARGE, ExecutionPath.D, None),
    ],
    ids=["single-scan", "partitioned", "two-scans", "delete", "insert-only", "low-shuffle"],
)
def test_a_merge_does_in_a_store_what_it_does_on_a_disk(
    spark: SparkSession,
    bucket: Bucket,
    tmp_path: Path,
    *,
    sql: str,
    conf: Mapping[str, str],
    path: ExecutionPath,
    partition_by: list[str] | None,
) -> None:
    """The same path, metrics, rows and actions; every object of the store is one that the log knows."""
    local, stored = twins(bucket, tmp_path, partition_by=partition_by, properties=FEED)
    low_shuffle = mock.patch.object(plan, "rewrite_with_low_shuffle", wraps=plan.rewrite_with_low_shuffle)
    with settings_of(spark, conf), low_shuffle as rewriting:
        there, here = (merge_sql(spark, sql, tables={"target": where}) for where in (stored, local))
    assert rewriting.call_count == (2 if conf == LARGE else 0)
    assert (there.path, there.row, there.version) == (path, here.row, here.version)
    assert all(file.startswith(stored) for file in there.touched_files)
    assert rows_of(spark, stored) == rows_of(spark, local)

    actions = [actions_of(spark, where, there.version or 0) for where in (stored, local)]
    kinds = [Counter(next(iter(action)) for action in of_one) for of_one in actions]
    assert kinds[0] == kinds[1]
    if sql != INSERT:
        assert kinds[0]["cdc"]
    known = [a for version in range(3) for a in actions_of(spark, stored, version)]
    paths = {unquote(action[kind]["path"]) for action in known for kind in ("add", "cdc") if kind in action}
    assert paths == set(objects_of(bucket, stored))


def test_a_table_of_a_store_is_a_source_and_the_builder_s_target(
    spark: SparkSession, bucket: Bucket, tmp_path: Path
) -> None:
    """``s3://`` is ``s3a://`` to Spark; a snapshot of a store is a Delta source, which is not materialised."""
    local, stored = twins(bucket, tmp_path)
    merge_sql(spark, DELETE, tables={"target": local})
    as_s3 = stored.replace("s3a://", "s3://")
    result = (
        DeltaTable.forPath(spark, local)
        .alias("t")
        .merge(DeltaTable.forPath(spark, as_s3).alias("s").toDF(), "t.id = s.id")
        .whenNotMatchedInsertAll()
        .execute()
    )
    assert result.row == (1, 0, 0, 1)
    assert result.materialize_reason is not None
    assert not result.materialize_reason.materializes
    back = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = concat(s.v, '!')"
    assert merge_sql(spark, back, tables={"target": as_s3, "source": local}).row == (6, 6, 0, 0)


@pytest.mark.parametrize("conf", [{}, TWO_SCANS], ids=["single-scan", "two-scans"])
def test_a_failing_merge_leaves_no_object_behind(
    spark: SparkSession, bucket: Bucket, tmp_path: Path, conf: Mapping[str, str]
) -> None:
    """Of two tasks one writes its file before the other fails; the table is as it was."""
    _, stored = twins(bucket, tmp_path, partition_by=["p"], properties=FEED)
    before = objects_of(bucket, stored)
    sql = ON + "WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, s.p, raise_error(s.v))"
    with settings_of(spark, {**conf, "spark.sql.shuffle.partitions": "4"}), pytest.raises(ExecutionError):
        merge_sql(spark, sql, tables={"target": stored})
    written: list[int] = []

    def interrupted(*_: object, **__: object) -> None:
        written.append(len(objects_of(bucket, stored)) - len(before))
        raise KeyboardInterrupt

    lost = mock.patch.object(commit, "commit_info", side_effect=interrupted)
    with settings_of(spark, conf), lost, pytest.raises(KeyboardInterrupt):
        merge_sql(spark, UPSERT, tables={"target": stored})
    assert written[0] > 1, "files had been put when the interrupt came"
    assert objects_of(bucket, stored) == before
    assert open_snapshot(spark, stored).version == 1


def test_two_writers_at_one_version(spark: SparkSession, bucket: Bucket, tmp_path: Path) -> None:
    """Put-if-absent refuses the second one: it goes after an append into another partition, and not after a delete."""
    _, stored = twins(bucket, tmp_path, partition_by=["p"])
    insert = "MERGE INTO target t USING (SELECT 50L AS id, 'z' AS p, 'v' AS v) s ON t.id = s.id AND t.p = '{}' {}"
    other = insert.format("z", "WHEN NOT MATCHED THEN INSERT *")
    own = insert.format("a b", "WHEN NOT MATCHED THEN INSERT *")
    assert _with_another_first(spark, stored, own, other).version == 3
    with pytest.raises(ConcurrentModificationError):
        _with_another_first(spark, stored, UPSERT, DELETE)
    assert open_snapshot(spark, stored).version == 4


def _with_another_first(spark: SparkSession, table: str, sql: str, other: str) -> Any:
    """Run a merge in which another takes the version just before the commit."""
    actions = commit.PendingCommit.actions

    def late(self: commit.PendingCommit, *given: object) -> Any:
        with mock.patch.object(commit.PendingCommit, "actions", actions):
            merge_sql(spark, other, tables={"target": table})
        return actions(self, *given)

    with mock.patch.object(commit.PendingCommit, "actions", late):
        return merge_sql(spark, sql, tables={"target": table})


def test_a_commit_whose_answer_was_lost_is_known_again(bucket: Bucket) -> None:
    """A client that asks twice learns that the file exists: its own file, which is no other's commit."""
    log = LogStore(f"s3a://{bucket.name}/lost", access=_access(bucket))
    assert log.try_create(0, [{"commitInfo": {"txnId": "mine"}}])
    assert log.try_create(0, [{"commitInfo": {"txnId": "mine"}}])
    assert not log.try_create(0, [{"commitInfo": {"txnId": "another's"}}])


def test_files_stay_where_a_commit_may_have_been_made(spark: SparkSession, bucket: Bucket, tmp_path: Path) -> None:
    """The request got through, its answer did not: whoever deleted the files then would break the table."""
    _, stored = twins(bucket, tmp_path)
    put = obstore.put

    def lost(store: Any, path: str, *arguments: Any, **options: Any) -> Any:
        put(store, path, *arguments, **options)
        if path.startswith("_delta_log"):
            raise GenericError("no answer")

    failing = mock.patch.object(obstore, "put", lost)
    with failing, pytest.raises(UncertainCommitError, match="perhaps the commit was made"):
        merge_sql(spark, UPSERT, tables={"target": stored})
    assert len(rows_of(spark, stored)) == len(ROWS) + 1


def test_what_a_store_refuses_is_named(spark: SparkSession, bucket: Bucket) -> None:
    """No bucket, nobody there, no table: one message each, without the client's inner life and without a secret."""
    with pytest.raises(AnalysisError, match="is not a Delta table"):
        merge_sql(spark, UPSERT, tables={"target": f"s3a://{bucket.name}/nothing"})
    with pytest.raises(
        StoreError, match=r"s3a://no-such-bucket/t cannot be used: .*Check that the bucket exists"
    ) as no:
        merge_sql(spark, UPSERT, tables={"target": "s3a://no-such-bucket/t"})
    gone = LogStore("s3a://b/t", access=StoreAccess(endpoint="http://127.0.0.1:9", credentials=_keys()))
    with (
        mock.patch.object(object_store, "_RETRIES", {"max_retries": 0}, create=True),
        pytest.raises(StoreError) as none,
    ):
        gone.read(0)
    for error in (no.value, none.value):
        assert SECRET not in f"{error!r}{error.__cause__!r}"
        assert "\n" not in error.message


def test_files_that_cannot_be_put_are_discarded(bucket: Bucket, tmp_path: Path) -> None:
    """A worker's file goes from its disk and from the store, and a refusal of the store is not hidden."""
    access = _access(bucket)
    folder = mock.patch("tempfile.tempdir", str(tmp_path))
    with folder:
        storage = object_store.ObjectStorage(f"s3a://{bucket.name}/t", access)
        file = storage.new_file("p=a%20b/f.parquet")
        Path(file.begin()).write_bytes(b"12345")
        assert file.finish() == 5
        assert bucket.keys("t") == ["p=a%20b/f.parquet"]
        elsewhere = object_store.ObjectStorage(f"s3a://{bucket.name}/u", access)
        for one in (storage, elsewhere):
            with one.local_copy(f"s3a://{bucket.name}/t/p=a%20b/f.parquet") as copy:
                assert Path(copy).read_bytes() == b"12345"
        file.discard()
        assert bucket.keys("t") == []

        refused = object_store.ObjectStorage("s3a://no-such-bucket/t", access).new_file("f.parquet")
        Path(refused.begin()).write_bytes(b"12345")
        with pytest.raises(object_store.STORE_ERRORS):
            refused.finish()
        refused.discard()
    assert not list(tmp_path.iterdir())


def test_random_cases_agree_on_tables_in_a_store(
    spark: SparkSession, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness copies each case's tables into the store, and compares the result there."""
    monkeypatch.setattr("mergecheck.harness.engines.spark.config._Chosen.place", _place(bucket, "cases"))
    engine = PySparkEngine(spark)
    verdicts = Counter(check_case(drawn.case, engine).verdict for drawn in islice(samples(8), NUM_CASES))
    assert verdicts.total() == verdicts[Verdict.AGREE] + verdicts[Verdict.BOTH_REJECTED] == NUM_CASES
    assert bucket.keys("cases") == []


def test_a_living_table_goes_to_the_store_and_back(
    spark: SparkSession, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps between merges are done on the local copy, which each merge replaces by the store's table."""
    monkeypatch.setattr("mergecheck.harness.engines.spark.config._Chosen.place", _place(bucket, "sequences"))
    _, sequence = next(sequences(1, num_steps=4))
    report = run_sequence(sequence, PySparkEngine(spark))
    assert report.ending is Ending.AGREES, report.reason
    assert report.num_steps > 1
    assert bucket.keys("sequences") == []


def _place(bucket: Bucket, prefix: str) -> SparkPlace:
    return SparkPlace(table_root=store_root(f"s3a://{bucket.name}/{prefix}", bucket.environment))


def _keys() -> tuple[tuple[str, str], ...]:
    return (("AWS_ACCESS_KEY_ID", "somebody"), ("AWS_SECRET_ACCESS_KEY", SECRET))


def _access(bucket: Bucket) -> StoreAccess:
    return StoreAccess(endpoint=bucket.endpoint, credentials=_keys())
