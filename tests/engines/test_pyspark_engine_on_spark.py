"""The adapter of this project's own MERGE on a real Spark session: rows, errors, and what reaches the terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from upsert_case import CASE, SCHEMA, some_case

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.class_archive import class_archive
from mergecheck.harness.engines.spark.java_home import java_command, java_release
from mergecheck.harness.engines.spark.session import Profile, start_session
from mergecheck.harness.engines.spark_case import profile_of, reads_source_from_table
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case import Source
from mergecheck.model.case_file import dump_case
from mergecheck.model.outcome import Outcome, Rejection

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    engine = PySparkEngine()
    yield engine
    engine.close()


@pytest.mark.parametrize("profile", [Profile.TINY, Profile.PRODUCTION])
@pytest.mark.parametrize("from_table", [True, False])
def test_an_upsert_agrees_with_the_reference(engine: PySparkEngine, profile: Profile, *, from_table: bool) -> None:
    """The real thing on each mode: rows, metrics, change rows, commit and path."""
    mode = (profile, from_table)
    case = some_case(lambda case: (profile_of(case), reads_source_from_table(case)) == mode, wanted=True)
    report = check_case(case, engine)
    assert (report.verdict, report.mismatches, report.reason) == (Verdict.AGREE, (), "")
    assert isinstance(report.result, Outcome)
    assert set(report.result.rows) == {(1, "x"), (2, None), (3, "c"), (9, "y")}


def test_a_real_rejection_leaves_the_table_alone(engine: PySparkEngine) -> None:
    """Two source rows for one target row are an error for both (R-320)."""
    source = Source(schema=SCHEMA, rows=((1, "x"), (1, "y")))
    report = check_case(replace(CASE, source=source), engine)
    assert (report.verdict, report.mismatches) == (Verdict.BOTH_REJECTED, ())


def test_sessions_that_start_at_once_give_the_streams_back(engine: PySparkEngine) -> None:
    """Jobs are threads, and an engine may ask for the session in each of them."""
    assert engine.name == "pyspark"
    before = os.fstat(1), os.fstat(2)
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(lambda _: start_session(), range(24)))) == 24
    after = os.fstat(1), os.fstat(2)
    assert [(each.st_dev, each.st_ino) for each in after] == [(each.st_dev, each.st_ino) for each in before]


def test_a_running_session_needs_no_look_at_java(engine: PySparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever thread asks for it: a look at Java is a process of its own."""
    running = engine.session()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert start_session() is running
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(start_session).result() is running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the files that a process has mapped")
def test_the_jvm_maps_the_class_archive_that_it_is_given() -> None:
    """It is given none if there was none when this process started Spark."""
    java = cast("Any", start_session())._jvm.java.lang
    given = list(java.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
    archive = class_archive(java_release(java_command() or "") or "")
    mapped = str(archive) in Path(f"/proc/{java.ProcessHandle.current().pid()}/maps").read_text()
    assert mapped == (f"-XX:SharedArchiveFile={archive}" in given)


def test_errors_of_spark_do_not_reach_the_terminal(engine: PySparkEngine, capfd: pytest.CaptureFixture[str]) -> None:
    """A user sees the harness; the messages of Spark and PySpark are in the answer."""
    nowhere = "MERGE INTO target t USING (SELECT * FROM nowhere) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    result = engine.run(replace(CASE, sql=nowhere))
    assert isinstance(result, Rejection)
    assert result.error_class == "TABLE_OR_VIEW_NOT_FOUND"
    assert capfd.readouterr() == ("", "")


def test_a_run_shows_no_log_and_no_warning_of_a_library(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """PySpark warns of the version of pandas, which it meets on its way to Arrow and does not use."""
    path = tmp_path / "case.json"
    path.write_text(dump_case(CASE), "utf-8")
    assert main(["replay", str(path), "--engine", "pyspark"]) == 0
    warnings.warn("PySpark does not yet fully support pandas >= 3.0.0. Some features", FutureWarning, stacklevel=1)
    assert [str(one.message) for one in recwarn] == []
    assert re.sub(r"starting engine pyspark .*\n|engine pyspark .*\n", "", capfd.readouterr().err) == ""


def test_starting_spark_says_nothing_on_the_terminal() -> None:
    """Not even the JVM's own warnings, which come before any log setting is read."""
    program = (
        "from mergecheck.harness.engines.spark.session import start_session\n"
        "spark = start_session()\n"
        "print(spark.range(3).count())\n"
        "spark.stop()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - this interpreter
    assert (done.stdout, done.stderr) == ("3\n", "")
