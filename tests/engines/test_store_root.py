"""Table roots in an S3-compatible store, as the command line reaches them: engines agree, wrong roots are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from s3_store import SECRET, Bucket, s3_bucket

from mergecheck.harness.engines.spark.config import TABLE_ROOT_VARIABLE
from tools.benchmarks.reliability.spark_servers import mergecheck_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUM_CASES = 3


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with s3_bucket() as found:
        yield found


@pytest.mark.spark
def test_engines_agree_on_tables_in_a_store(bucket: Bucket, tmp_path: Path) -> None:
    """One Spark with S3A and Delta Lake, started for the root alone; every case's tables are gone afterwards."""
    engines = ("--engine", "pyspark", "--engine", "delta-spark")
    summary = mergecheck_json(
        tmp_path,
        *("lab", "matrix", *engines, "--seed", "6", "--max-cases", str(NUM_CASES), "--no-deviations"),
        environment={**bucket.environment, TABLE_ROOT_VARIABLE: f"s3a://{bucket.name}/some/where"},
    )
    assert [engine["totals"]["agree"] for engine in summary["engines"]] == [NUM_CASES, NUM_CASES]
    assert bucket.keys() == []


@pytest.mark.parametrize(
    ("root", "changes", "message"),
    [
        ("s3a://no-such-bucket/x", {}, "NoSuchBucket"),
        ("s3://{name}/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "endpoint: http://127.0.0.1:9; keys: given"),
        ("s3a://somebody:{secret}@{name}/x", {}, "credentials in its path"),
    ],
    ids=["no-bucket", "nobody-there", "keys-in-uri"],
)
def test_a_store_that_cannot_be_used_is_the_user_s_error(
    bucket: Bucket, tmp_path: Path, *, root: str, changes: dict[str, str], message: str
) -> None:
    """Exit code 2 before any engine starts: the given value, the allowed ones, and never a secret."""
    text = root.format(name=bucket.name, secret=SECRET)
    with pytest.raises(AssertionError, match="exit code 2") as caught:
        mergecheck_json(tmp_path, "fuzz", "--table-root", text, environment={**bucket.environment, **changes})
    said = str(caught.value)
    assert message in said
    assert "Allowed: a directory" in said
    assert "starting engine" not in said
    assert "Traceback" not in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "verb",
    [("variants", "--max-cases", "1"), ("lab", "scale", "--rows", "1000")],
    ids=" ".join,
)
@pytest.mark.parametrize("root", ["s3a://no-such-bucket/x", "/no/such/directory"])
def test_verbs_that_know_the_root_by_its_variable_say_the_same(
    bucket: Bucket, tmp_path: Path, *, verb: tuple[str, ...], root: str
) -> None:
    """Exit code 2 from them, too, and no traceback of a process that did not start."""
    with pytest.raises(AssertionError, match="exit code 2") as caught:
        mergecheck_json(tmp_path, *verb, environment={**bucket.environment, TABLE_ROOT_VARIABLE: root})
    said = str(caught.value)
    assert root in said
    assert "Traceback" not in said
