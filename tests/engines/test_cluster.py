"""The engine pyspark on a real standalone cluster: a master and two workers, as the command line reaches them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from remote_spark_cases import expected_counts, write_cases
from s3_store import s3_bucket

from tools.benchmarks.reliability.spark_servers import NUM_WORKERS, bare_python, cluster, mergecheck_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.benchmarks.reliability.spark_servers import Cluster

NUM_CASES = 4
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.mark.spark
def test_random_cases_agree_on_a_cluster(spark_cluster: Cluster, tmp_path: Path) -> None:
    """Random cases of a fixed seed, two at a time, on workers that have merge/ from us alone and a shared root."""
    root = tmp_path / "shared"
    root.mkdir()
    place = ("--master", spark_cluster.url, "--table-root", root.as_uri())
    summary = mergecheck_json(
        tmp_path,
        # the reference judges the first cases of this seed as a whole
        *("fuzz", "--seed", "3", "--max-cases", str(NUM_CASES), "--floor", "0", "--jobs", "2", *place),
        environment={"PYSPARK_PYTHON": str(bare_python(tmp_path))},
    )
    assert (summary["num_cases"], summary["findings"], summary["counts"]["mismatch"]) == (NUM_CASES, [], 0)
    assert summary["verified"] + summary["counts"]["both_rejected"] == NUM_CASES
    assert not list(root.iterdir()), "tables are gone, and so is the file by which workers were looked at"

    state = spark_cluster.state()
    (application,) = state["completedapps"]
    assert (application["name"], application["state"]) == ("mergecheck", "FINISHED")
    assert (application["cores"], state["aliveworkers"]) == (NUM_WORKERS, NUM_WORKERS)
    shipped = list(spark_cluster.work.glob(f"{application['id']}/*/mergecheck_merge.zip"))
    assert len(shipped) == NUM_WORKERS, "tasks ran on both workers, which fetched merge/ for them"


@pytest.mark.spark
def test_every_path_and_error_is_the_same_on_a_cluster(spark_cluster: Cluster, tmp_path: Path) -> None:
    """Paths A to D with the change feed, a materialised source, and errors from the analysis, tasks and the writer.

    Their tables are in a store: the workers get S3A and its keys from here.
    """
    cases = write_cases(tmp_path / "cases")
    with s3_bucket() as bucket:
        place = ("--master", spark_cluster.url, "--table-root", f"s3a://{bucket.name}/tables")
        replayed = mergecheck_json(tmp_path, "replay", str(cases), *place, environment=bucket.environment)
        assert bucket.keys() == []
    assert {name: count for name, count in replayed["counts"].items() if count} == expected_counts()


@pytest.mark.spark
def test_tasks_that_run_twice_and_a_lost_worker_count_once(spark_cluster: Cluster) -> None:
    """The last test of this cluster, which loses a worker by it."""
    command = [sys.executable, "-m", "tools.benchmarks.reliability.cluster_faults", "--master", spark_cluster.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout + done.stderr
    assert spark_cluster.state()["aliveworkers"] == NUM_WORKERS - 1
