"""The engine pyspark behind a real Spark Connect server, as the command line reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from remote_spark_cases import expected_counts, write_cases
from s3_store import s3_bucket

from tools.benchmarks.reliability.spark_servers import bare_python, connect_server, mergecheck_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUM_CASES = 6


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(folder, bare_python(folder)) as url:
        yield url


@pytest.mark.spark
def test_random_cases_agree_on_connect(server: str, tmp_path: Path) -> None:
    """Random cases of a fixed seed, two at a time in sessions of their own; workers have merge/ from us alone."""
    summary = mergecheck_json(
        tmp_path,
        "fuzz",
        "--seed",
        "3",  # the reference judges its first cases as a whole
        "--max-cases",
        str(NUM_CASES),
        "--floor",
        "0",
        "--jobs",
        "2",
        "--remote",
        server,
    )
    assert (summary["num_cases"], summary["findings"], summary["counts"]["mismatch"]) == (NUM_CASES, [], 0)
    assert summary["verified"] + summary["counts"]["both_rejected"] == NUM_CASES


@pytest.mark.spark
def test_every_path_and_error_is_the_same_on_connect(server: str, tmp_path: Path) -> None:
    """Paths A to D with the change feed, a materialised source, and errors from the analysis, tasks and the writer."""
    cases = write_cases(tmp_path / "cases")
    replayed = mergecheck_json(tmp_path, "replay", str(cases), environment={"MERGECHECK_SPARK_REMOTE": server})
    assert {name: count for name, count in replayed["counts"].items() if count} == expected_counts()


@pytest.mark.spark
def test_delta_spark_says_what_a_server_lacks(server: str, tmp_path: Path) -> None:
    """No client can load jars into a server: the message shows how to start one with Delta Lake."""
    arguments = ("fuzz", "--engine", "delta-spark", "--max-cases", "1", "--no-deviations", "--remote", server)
    message = r"exit code 3[\s\S]*without Delta Lake.*--packages io\.delta:delta-spark_"
    with pytest.raises(AssertionError, match=message) as caught:
        mergecheck_json(tmp_path, *arguments)
    assert "Traceback" not in str(caught.value)


@pytest.mark.spark
def test_a_store_that_the_server_cannot_read_is_named(server: str, tmp_path: Path) -> None:
    """Workers reach the store, but the server has no S3A: the message shows how to start one with it."""
    message = r"exit code 3[\s\S]*cannot read s3a://[\s\S]*--packages org\.apache\.hadoop:hadoop-aws:"
    with s3_bucket() as bucket:
        place = ("--remote", server, "--table-root", f"s3a://{bucket.name}/tables")
        with pytest.raises(AssertionError, match=message) as caught:
            mergecheck_json(tmp_path, "fuzz", "--max-cases", "1", *place, environment=bucket.environment)
    assert "Traceback" not in str(caught.value)
