"""Engines on another Spark: how a release is read, its packages, and the requests to its child."""

from __future__ import annotations

import io
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.delta.write import UnwritableTableError
from mergecheck.harness.engines.registry import diagnose_engine
from mergecheck.harness.engines.spark_versions import worker
from mergecheck.harness.engines.spark_versions.child import merged
from mergecheck.harness.engines.spark_versions.delta import DeltaReleaseEngine, parquet_view, spelled_for
from mergecheck.harness.engines.spark_versions.spark_version import ReleaseOnSpark, SparkVersion, release_on_spark
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import Source
from mergecheck.model.case_file import case_from_json
from mergecheck.model.types.ddl import parse_schema

VECTOR_COUNTS = ("Added", "Removed", "Updated")
EVOLVING = "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"


@pytest.mark.parametrize(
    ("text", "coordinates", "requirements"),
    [
        ("3.3.2+spark3.5", "io.delta:delta-spark_2.12:3.3.2", ("pyspark==3.5.*",)),
        ("2.4.0+spark3.4", "io.delta:delta-core_2.12:2.4.0", ("pyspark==3.4.*",)),
        ("4.0.0+spark4.0", "io.delta:delta-spark_2.13:4.0.0", ("pyspark==4.0.*", "pyarrow>=18")),
        ("4.3.1+spark4.1", "io.delta:delta-spark_4.1_2.13:4.3.1", ("pyspark==4.1.*", "pyarrow>=18")),
    ],
)
def test_a_release_brings_its_spark_and_its_jar(text: str, coordinates: str, requirements: tuple[str, ...]) -> None:
    release = release_on_spark("delta-spark", text, example="3.3.2+spark3.5")
    assert str(release) == text
    assert DeltaReleaseEngine.setup(release).jars[0].coordinates == (coordinates,)
    assert release.spark.requirements == requirements


@pytest.mark.parametrize("text", ["3.3.2", "3.3.2+spark", "spark3.5", "3.3.2+spark3", "3.3.2+spark3.5.1", "x+spark3.5"])
def test_a_text_that_names_no_release_on_a_spark_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserInputError, match=r"delta-spark@3\.3\.2\+spark3\.5"):
        release_on_spark("delta-spark", text, example="3.3.2+spark3.5")


def test_a_spark_of_another_age_is_refused() -> None:
    with pytest.raises(UserInputError, match="only Spark 3 and 4"):
        release_on_spark("delta-spark", "1.0.0+spark2.4", example="3.3.2+spark3.5")


def test_releases_are_compared_by_their_numbers() -> None:
    assert ReleaseOnSpark("4.0.0rc1", SparkVersion(4, 0)).numbers == (4, 0, 0)
    assert ReleaseOnSpark("3.10.0", SparkVersion(3, 5)).numbers > ReleaseOnSpark("3.9.1", SparkVersion(3, 5)).numbers


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("3.0.0+spark3.5", {"materializeSourceTimeMs", *(f"numTargetDeletionVectors{x}" for x in VECTOR_COUNTS)}),
        ("3.1.0+spark3.5", {"materializeSourceTimeMs"}),
        ("3.2.1+spark3.5", {"materializeSourceTimeMs"}),
        ("3.3.0+spark3.5", set()),
        ("4.3.1+spark4.1", set()),
    ],
)
def test_a_release_is_held_to_the_metrics_it_reports(text: str, missing: set[str]) -> None:
    """As merges of these releases answered; the others of R-510 are demanded of every release."""
    engine = DeltaReleaseEngine(release_on_spark("delta-spark", text, example="3.3.2+spark3.5"))
    assert engine.capabilities.metric_names == HISTORY_METRICS - missing


def test_spark_3_is_asked_for_schema_evolution_by_the_setting() -> None:
    document = {
        "format_version": 1,
        "id": "evolving",
        "target": {"schema": "id INT", "files": []},
        "source": {"schema": "id INT, v STRING", "rows": []},
        "sql": EVOLVING,
    }
    case = case_from_json(document, where="test")
    assert spelled_for(SparkVersion(4, 1), case) == (EVOLVING, {})
    assert spelled_for(SparkVersion(3, 5), case) == (
        EVOLVING.replace("MERGE WITH SCHEMA EVOLUTION", "MERGE"),
        {"spark.databricks.delta.schema.autoMerge.enabled": "true"},
    )


def test_jars_and_extensions_are_joined_and_other_settings_replaced() -> None:
    found = merged({"spark.jars": "a", "spark.x": "1"}, {"spark.jars": "b", "spark.x": "{warehouse}/2"}, warehouse="/w")
    assert found == {"spark.jars": "a,b", "spark.x": "/w/2"}


def test_comet_runs_on_the_delta_of_its_spark() -> None:
    needs = {need.found.partition(" (")[0] for need in diagnose_engine("comet@0.12.0+spark3.5")}
    assert any("Delta Lake 3.3.2 for Spark 3.5" in found for found in needs)
    assert any("comet for Spark 3.5" in found for found in needs)
    with pytest.raises(UserInputError, match=r"Spark 3\.5, 4\.0, 4\.1"):
        diagnose_engine("comet@0.12.0+spark3.4")


@pytest.mark.parametrize(
    ("ddl", "said"),
    [("id INT, v VOID", "VOID"), ("id INT, s STRUCT<a: VOID>", "VOID"), ("id INT, ID INT", "case only")],
)
def test_a_source_that_no_file_can_hold_is_not_changed_into_another(ddl: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UnwritableTableError, match=said):
        parquet_view(Source(schema=parse_schema(ddl), rows=()), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_merge_of_this_project_needs_what_it_imports() -> None:
    own = version("mergecheck")
    needs = {need.name: need for need in diagnose_engine(f"pyspark@{own}+spark4.1")}
    assert {"java", "environment"} == needs.keys()
    assert "pyspark==4.1.*" in needs["environment"].found
    assert f"sqlglot=={version('sqlglot')}" in needs["environment"].found


@pytest.mark.parametrize(
    ("text", "said"),
    [("0.0.1+spark4.1", "runs its own merge"), ("{own}+spark3.5", "needs Spark 4"), ("{own}", "such as pyspark@")],
)
def test_another_release_of_the_merge_and_an_older_spark_are_refused(text: str, said: str) -> None:
    with pytest.raises(UserInputError, match=said):
        diagnose_engine(f"pyspark@{text.format(own=version('mergecheck'))}")


def test_doctor_tells_what_is_missing_and_fetches_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MERGECHECK_CACHE", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/mvn" if name == "mvn" else None)
    needs = {need.name: need for need in diagnose_engine("delta-spark@3.3.2+spark3.5")}
    assert "pyspark==3.5.*" in needs["environment"].found
    assert "io.delta:delta-spark_2.12:3.3.2" in needs["jars"].found
    assert needs["environment"].fix
    assert needs["jars"].fix
    assert list(tmp_path.iterdir()) == []


class Session:
    """The part of a Spark session that the worker uses: SQL that it has received, and settings."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.settings: dict[str, str] = {}
        self.conf = self

    def set(self, name: str, value: str) -> None:
        """Take a setting."""
        self.settings[name] = value

    def unset(self, name: str) -> None:
        """Drop a setting."""
        del self.settings[name]

    def sql(self, text: str) -> Session:
        """Execute a statement, if it is none that fails."""
        self.heard.append(text)
        if text == "FAIL":
            raise ValueError("no such table\n\tat somewhere.in.Java")
        return self

    def collect(self) -> list[Session]:
        """Give one row."""
        return [self]

    def asDict(self, *, recursive: bool) -> dict[str, bool]:  # noqa: N802 - as PySpark spells it
        """Give the row's columns."""
        return {"recursive": recursive}

    def range(self, _: int) -> Session:
        """Answer, for Spark is alive."""
        return self

    schema = None


def stops(out: io.StringIO) -> Any:
    return worker._Stops(out)


def test_the_child_runs_steps_under_their_settings_alone() -> None:
    spark, settings = Session(), {}
    request = {
        "conf": {"a": "1", "b": "2"},
        "steps": [{"sql": "CREATE"}, {"sql": "MERGE", "name": "row"}],
        "finally": ["DROP"],
    }
    assert worker._run(spark, request, settings, stops(io.StringIO())) == {
        "results": {"row": [{"recursive": True}]},
        "plans": [],
    }
    assert spark.heard == ["CREATE", "MERGE", "DROP"]
    assert spark.settings == {"a": "1", "b": "2"}
    worker._run(spark, {"conf": {"b": "3"}, "steps": [], "finally": []}, settings, stops(io.StringIO()))
    assert spark.settings == {"b": "3"}


def test_a_step_that_fails_ends_the_request_and_what_was_made_is_dropped() -> None:
    spark = Session()
    request = {"conf": {}, "steps": [{"sql": "FAIL", "step": "merge"}, {"sql": "NEVER"}], "finally": ["FAIL", "DROP"]}
    answer = worker._run(spark, request, {}, stops(io.StringIO()))
    assert answer["failed"] == {"step": "merge", "class": "ValueError", "message": "no such table"}
    assert spark.heard == ["FAIL", "FAIL", "DROP"]


class WritersSession(Session):
    """A session of which a writer's is made, and whose merge is an event that a listener hears."""

    def __init__(self) -> None:
        super().__init__()
        self.listener: Any = None

    def newSession(self) -> WritersSession:  # noqa: N802 - as PySpark spells it
        return self

    def sql(self, text: str) -> Session:
        if text == "MERGE":
            self.listener.notify(None)
        return super().sql(text)


@pytest.mark.parametrize(("order", "ending"), [("go on", {"results": {}, "plans": []}), ("end", "RuntimeError")])
def test_a_writer_stops_at_an_event_and_goes_on_or_ends(order: str, ending: object) -> None:
    """Its merge waits in a thread of its own; the next line is its answer."""
    out, spark = io.StringIO(), WritersSession()
    spark.listener = listener = stops(out)
    listener._events.add("Scan")  # as if the listener were known to Iceberg already
    step = {"sql": "MERGE", "step": "merge", "stops_at": "Scan"}
    listener.serve(spark, {"do": "run", "writer": "a", "conf": {}, "steps": [step], "finally": []})
    assert lines_of(out, 1) == [{"stopped": True}]
    listener.serve(spark, {"do": order, "writer": "a"})
    answer = lines_of(out, 2)[1]
    assert answer == ending or answer["failed"]["class"] == ending


def lines_of(out: io.StringIO, number: int) -> list[dict[str, Any]]:
    """Wait for so many lines."""
    for _ in range(500):
        if len(lines := out.getvalue().splitlines()) >= number:
            return [json.loads(line) for line in lines]
        time.sleep(0.01)
    raise AssertionError(out.getvalue())


def test_the_child_answers_before_it_starts_spark() -> None:
    child = WorkerProcess(Path(sys.executable), Path(worker.__file__))
    try:
        assert child.ask({"do": "version"}, timeout=60) == {"version": version("pyspark")}
    finally:
        child.close()
