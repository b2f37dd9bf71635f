"""The adapter of this project's own MERGE: set-up, observation, and every failure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from upsert_case import CASE, SCHEMA, UPSERT, some_case

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.observe import UNREADABLE_TABLE
from mergecheck.harness.engines import pyspark as engine_module
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile, settings_of
from mergecheck.harness.engines.spark_case import profile_of, reads_source_from_table
from mergecheck.harness.verdict import EngineDownError
from mergecheck.merge.command import MergeResult
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError, UnsupportedTableError
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.model.case import Case, Expectation, Source, Target
from mergecheck.model.outcome import FileWork, MergePath, Outcome, Rejection, Unsupported
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FakeConf:
    """Spark's runtime settings as a dict."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {"spark.sql.caseSensitive": "false"}

    def get(self, name: str, default: str | None) -> str | None:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)


class FakeSpark:
    """As much of a session as the adapter touches when the merge itself is replaced."""

    def __init__(self) -> None:
        self.conf = FakeConf()
        self.catalog = self
        self.views: set[str] = set()
        self.gone = False

    def createDataFrame(self, _data: Any, schema: str) -> FakeSpark:  # noqa: N802 - Spark's name
        assert schema
        return self

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.views.add(name)

    def dropTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.views.remove(name)

    def range(self, _end: int) -> FakeSpark:
        return self

    @property
    def schema(self) -> None:
        if self.gone:
            raise ConnectionRefusedError("no JVM")


def engine_on(spark: FakeSpark) -> PySparkEngine:
    return PySparkEngine(cast("SparkSession", spark))


class FakeMerge:
    """Takes the place of ``merge_sql``: notes its arguments, then acts as the test asks."""

    def __init__(self, spark: FakeSpark, effect: Any) -> None:
        self.spark = spark
        self.effect = effect
        self.paths: dict[str, str] = {}
        self.settings: dict[str, str] = {}
        self.views: set[str] = set()

    def __call__(
        self, _spark: Any, _sql: str, *, tables: dict[str, str], interleaved: bool, logs: object
    ) -> MergeResult:
        del logs
        assert interleaved, "the text of a case also stands for the builder (R-102)"
        self.paths, self.settings, self.views = dict(tables), dict(self.spark.conf.values), set(self.spark.views)
        if isinstance(self.effect, Exception):
            raise self.effect
        self.effect(Path(tables["target"]))
        return MergeResult(version=1, path=ExecutionPath.A, metrics={"numSourceRows": 2})


@pytest.fixture
def spark() -> FakeSpark:
    return FakeSpark()


@pytest.fixture
def merge_with(spark: FakeSpark, monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(effect: Any = lambda _: None) -> FakeMerge:
        merge = FakeMerge(spark, effect)
        monkeypatch.setattr(engine_module, "merge_sql", merge)
        return merge

    return install


def commit(path: Path, *actions: dict[str, Any]) -> None:
    info = {"commitInfo": {"operation": "MERGE", "operationMetrics": {"numSourceRows": "7"}}}
    lines = (json.dumps(action) + "\n" for action in (info, *actions))
    (path / "_delta_log" / f"{1:020}.json").write_text("".join(lines))


def test_a_merge_without_commit_is_observed(spark: FakeSpark, merge_with: Any) -> None:
    """The table as it is, an empty feed, and the metrics that only the command knows (R-502)."""
    merge_with()
    outcome = engine_on(spark).run(CASE)
    assert isinstance(outcome, TableOutcome)
    assert outcome.record is not None
    assert outcome.work is not None
    assert len(outcome.work.sizes) == len(CASE.target.files)
    assert (outcome.record.num_commits, outcome.record.actions) == (0, ())
    assert outcome.record.definition == outcome.record.definition_before
    assert replace(outcome, record=None) == TableOutcome(
        schema=SCHEMA,
        rows=CASE.target.rows,
        metrics={"numSourceRows": 2},
        work=FileWork(sizes=outcome.work.sizes),
        cdf=(),
        committed=False,
        path=MergePath.A,
        num_records_added=0,
        num_records_removed=0,
    )


def test_a_commit_is_observed_from_the_log(spark: FakeSpark, merge_with: Any) -> None:
    """Metrics come from the history, not from the command's own row."""
    merge_with(commit)
    outcome = engine_on(spark).run(CASE)
    assert isinstance(outcome, Outcome)
    assert (outcome.metrics, outcome.committed, outcome.cdf) == ({"numSourceRows": 7}, True, ())


def test_change_files_of_a_table_without_feed_are_shown(spark: FakeSpark, merge_with: Any) -> None:
    """R-601: with the feed off there is nothing to show, so change files that were written all the same are."""

    def commit_change_file(path: Path) -> None:
        data = next(path.glob("*.parquet"))
        commit(path, {"cdc": {"path": data.name, "partitionValues": {}, "size": 1, "dataChange": False}})

    off = replace(CASE, target=replace(CASE.target, properties={}))
    merge_with(commit)
    quiet = engine_on(spark).run(off)
    merge_with(commit_change_file)
    loud = engine_on(spark).run(off)
    assert isinstance(quiet, Outcome)
    assert quiet.cdf is None
    assert isinstance(loud, Outcome)
    assert loud.cdf is not None
    # The file is a data file, so its rows lack the change type; they are shown all the same.
    assert {row[-1] for row in loud.cdf} == {None}


def test_a_table_that_cannot_be_read_is_a_failed_merge(spark: FakeSpark, merge_with: Any) -> None:
    """A commit that names a file which is not there is the merge's fault, not the harness's."""
    merge_with(lambda path: commit(path, {"add": {"path": "gone.parquet", "partitionValues": {}, "dataChange": True}}))
    result = engine_on(spark).run(CASE)
    assert isinstance(result, Rejection)
    assert (result.error_class, result.unchanged) == (UNREADABLE_TABLE, False)


def test_an_error_of_the_merge_is_a_rejection(spark: FakeSpark, merge_with: Any) -> None:
    """With Delta's class, and the table looked at afterwards (P-30)."""
    merge_with(AnalysisError("DELTA_X", "no"))
    assert engine_on(spark).run(CASE) == Rejection(error_class="DELTA_X", message="no", unchanged=True)


def test_any_other_error_is_the_merges_own(spark: FakeSpark, merge_with: Any) -> None:
    """A crash inside the merge is an answer that the reference can contradict."""
    merge_with(KeyError("k"))
    assert engine_on(spark).run(CASE) == Rejection(error_class="KeyError", message="'k'", unchanged=True)


@pytest.mark.parametrize("damage", ["commit", "file"])
def test_a_failed_merge_that_left_traces_is_found_out(
    spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """A new version or other rows; a stray file that no commit names is no harm."""

    def fail(_spark: Any, _sql: str, *, tables: dict[str, str], **_: object) -> MergeResult:
        path = Path(tables["target"])
        if damage == "commit":
            commit(path)
        else:
            (path / "stray.parquet").touch()
        raise AnalysisError("DELTA_X", "no")

    monkeypatch.setattr(engine_module, "merge_sql", fail)
    result = engine_on(spark).run(CASE)
    assert isinstance(result, Rejection)
    assert result.unchanged is (damage == "file")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnsupportedStatementError("schema evolution"), "schema evolution"),
        (
            UnsupportedTableError(["rowTracking", "deletionVectors"], where="t"),
            "table feature deletionVectors, rowTracking",
        ),
    ],
)
def test_what_the_merge_does_not_support(spark: FakeSpark, merge_with: Any, error: Exception, reason: str) -> None:
    """Reasons are short and countable."""
    merge_with(error)
    assert engine_on(spark).run(CASE) == Unsupported(reason)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (
            replace(CASE, conf={"spark.databricks.delta.nobody": "1"}),
            "setting spark.databricks.delta.nobody",
        ),
        (replace(CASE, target=Target(schema=Schema((Field("v", types.VOID),)))), "table: a Delta table cannot store"),
    ],
)
def test_what_cannot_be_set_up_is_unsupported(spark: FakeSpark, merge_with: Any, case: Case, reason: str) -> None:
    """A setting without effect, or another table than the case's, would be a check of something else."""
    merge = merge_with()
    result = engine_on(spark).run(case)
    assert isinstance(result, Unsupported)
    assert result.reason.startswith(reason)
    assert merge.paths == {}


def test_a_dead_jvm_is_no_answer(spark: FakeSpark, merge_with: Any) -> None:
    """Whatever the merge raised, it is Spark that is gone."""
    merge_with(RuntimeError("Answer from Java side is empty"))
    spark.gone = True
    with pytest.raises(EngineDownError, match="Spark is gone"):
        engine_on(spark).run(CASE)


def test_a_jvm_that_dies_during_the_merge_is_no_answer(spark: FakeSpark, merge_with: Any) -> None:
    """The merge sees the end first."""

    def die(_: Any) -> None:
        spark.gone = True
        raise RuntimeError("Answer from Java side is empty")

    merge_with(die)
    with pytest.raises(EngineDownError, match="Spark is gone"):
        engine_on(spark).run(CASE)


@pytest.mark.parametrize("effect", [lambda _: None, AnalysisError("DELTA_X", "no")], ids=["merged", "failed"])
@pytest.mark.parametrize("from_table", [True, False])
def test_nothing_is_left_behind(spark: FakeSpark, merge_with: Any, effect: Any, *, from_table: bool) -> None:
    """P19: settings are as before, the view and the directory are gone, also after a failure."""
    merge = merge_with(effect)
    case = some_case(reads_source_from_table, from_table)
    settings = {"spark.sql.caseSensitive": "true", "spark.databricks.delta.merge.materializeSource": "all"}
    engine = engine_on(spark)
    engine.run(case)
    before = dict(spark.conf.values)
    engine.run(replace(case, conf=settings))
    assert settings.items() <= merge.settings.items()
    assert merge.views == (set() if from_table else {"source"})
    assert ("source" in merge.paths) is from_table
    assert (spark.conf.values, spark.views) == (before, set())
    assert not Path(merge.paths["target"]).exists()


def test_settings_have_two_spellings(spark: FakeSpark, merge_with: Any) -> None:
    """The cases from Delta's suites call R-144's setting by a name of their own."""
    merge = merge_with()
    engine_on(spark).run(replace(CASE, conf={"void_columns": "true"}))
    assert merge.settings["spark.databricks.delta.createDataFrame.dropNullColumns"] == "true"
    assert "void_columns" not in merge.settings


def test_a_merge_into_itself_has_no_source(spark: FakeSpark, merge_with: Any) -> None:
    """The statement then names the target twice (R-810)."""
    merge = merge_with()
    engine_on(spark).run(replace(CASE, source=None))
    assert (set(merge.paths), merge.views) == ({"target"}, set())


def test_a_source_that_no_table_holds_is_a_local_relation(spark: FakeSpark, merge_with: Any) -> None:
    """Two columns of one name are fine as long as nobody asks for them (R-823)."""
    merge = merge_with()
    twice = Source(schema=Schema((Field("id", types.INT), Field("ID", types.INT))), rows=((1, 2),))
    engine_on(spark).run(replace(some_case(reads_source_from_table, wanted=True), source=twice))
    assert merge.views == {"source"}


def test_the_profile_is_set_and_the_case_goes_first(spark: FakeSpark, merge_with: Any) -> None:
    """Each case runs under its profile, whatever ran before, and its own settings win."""
    merge = merge_with()
    engine = engine_on(spark)
    for profile in (Profile.TINY, Profile.PRODUCTION, Profile.TINY):
        engine.run(some_case(profile_of, profile))
        assert PROFILE_SETTINGS[profile].items() <= merge.settings.items()
    engine.run(replace(some_case(profile_of, Profile.TINY), conf={"spark.sql.adaptive.enabled": "true"}))
    assert merge.settings["spark.sql.adaptive.enabled"] == "true"


def test_lanes_are_chosen_by_statement_and_schema() -> None:
    """At least a quarter of the cases run as in production and a quarter has a local source; rows do not matter."""
    cases = [replace(CASE, sql=f"{UPSERT} -- {number}") for number in range(400)]
    assert 100 <= sum(profile_of(case) is Profile.PRODUCTION for case in cases) <= 200
    assert 60 <= sum(not reads_source_from_table(case) for case in cases) <= 140
    fewer = [replace(case, target=replace(case.target, files=())) for case in cases]
    assert [profile_of(case) for case in fewer] == [profile_of(case) for case in cases]


def test_most_cases_of_delta_spark_run_with_code_generation() -> None:
    """As users run it; the cases as in production run on ``pyspark``."""
    cases = [replace(CASE, sql=f"{UPSERT} -- {number}") for number in range(400)]
    profiles = [profile_of(case, DeltaSparkEngine.profiles) for case in cases]
    assert 40 <= profiles.count(Profile.TINY) <= 100
    assert all(
        (profile is Profile.PRODUCTION) is (profile_of(case) is Profile.PRODUCTION)
        for profile, case in zip(profiles, cases, strict=True)
    )
    compiled = PROFILE_SETTINGS[Profile.COMPILED]
    assert compiled["spark.sql.codegen.wholeStage"] == "true"
    assert compiled.items() - PROFILE_SETTINGS[Profile.TINY].items() == {
        ("spark.sql.codegen.wholeStage", "true"),
        ("spark.sql.codegen.factoryMode", "FALLBACK"),
    }


def test_settings_are_put_back_when_one_is_refused(spark: FakeSpark) -> None:
    """A setting that Spark refuses half-way must not leave the others behind."""

    def refuse(name: str, value: str) -> None:
        if value == "bad":
            raise ValueError(name)
        spark.conf.values[name] = value

    spark.conf.set = refuse  # type: ignore[method-assign] # one refusal is all the test needs
    before = dict(spark.conf.values)
    with (
        pytest.raises(ValueError, match="second"),
        settings_of(spark, {"spark.sql.caseSensitive": "true", "second": "bad"}),  # type: ignore[arg-type] # a fake
    ):
        pass
    assert spark.conf.values == before


def test_a_stated_number_of_files_asks_for_one_task() -> None:
    """Otherwise the number would depend on the mode (R-542)."""
    case = some_case(profile_of, Profile.PRODUCTION)
    stated = replace(case, expect=Expectation(metrics={"numTargetFilesAdded": 1}))
    assert profile_of(stated) is Profile.TINY
    assert profile_of(replace(case, expect=Expectation(metrics={"numOutputRows": 1}))) is Profile.PRODUCTION
