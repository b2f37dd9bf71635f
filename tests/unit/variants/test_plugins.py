"""Plugins of Spark as an axis of variants: facts, the engine that runs, the switch that mends a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from variant_cases import SPARKS

from mergecheck.harness.cli.verbs.variants.runs import chosen_variants
from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.spark_versions.delta import DeltaReleaseEngine
from mergecheck.harness.engines.spark_versions.plugins import PLUGIN_SETTING, comet, given_plugin, known_plugin
from mergecheck.harness.engines.spark_versions.spark_version import release_on_spark
from mergecheck.harness.search.session import WARM_UP
from mergecheck.harness.variants.bisect import mending_switches
from mergecheck.harness.variants.judge import VariantChecker
from mergecheck.harness.variants.plans import fingerprint_of
from mergecheck.harness.variants.variant import EngineAxes, Variant, axes_of, plugin_value
from mergecheck.harness.variants.variants_run import VariantRun
from mergecheck.harness.variants.with_plugin import EngineWithPlugin, with_plugin
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

SWITCH = "spark.comet.exec.sortMergeJoin.enabled"
PLAN = "== Physical Plan ==\nCometSort (2)\n+- Scan parquet  (1)\n"


class RightEngine:
    """Answers as the reference does; under a plugin it loses a row, unless a part of the plugin is off."""

    name, version = "right", "1"
    capabilities = Capabilities(cdf=False, metrics=False)

    def __init__(self, plugin: Plugin | None = None, *, loses_row: bool = True) -> None:
        self.plugin = plugin
        self.loses_row = loses_row
        self.closed = False

    def with_plugin(self, plugin: Plugin) -> RightEngine:
        return RightEngine(plugin, loses_row=self.loses_row)

    def run(self, case: Case) -> EngineResult:
        answer = MergeReference().evaluate(replace(case, conf={})).answer
        if not isinstance(answer, Prediction):
            return Unsupported("this test needs no more")
        is_wrong = self.plugin is not None and self.loses_row and case.conf.get(SWITCH) != "false"
        return Outcome(schema=answer.schema, rows=answer.rows[1:] if is_wrong else answer.rows)

    def run_recorded(self, case: Case) -> Recorded:
        return Recorded(result=self.run(case), plans=() if self.plugin is None else (PLAN,))

    def close(self) -> None:
        self.closed = True


def test_a_plugin_is_known_by_its_name_and_release() -> None:
    assert known_plugin("comet") == comet()
    assert known_plugin("comet@0.11.0") == comet("0.11.0")
    assert known_plugin("gluten") is None
    assert known_plugin("aqe=on") is None


def test_comet_brings_its_jar_for_the_line_of_spark() -> None:
    release = release_on_spark("delta-spark", "3.3.2+spark3.5", example="3.3.2+spark3.5")
    plain, plugged = DeltaReleaseEngine.setup(release), DeltaReleaseEngine.setup(release, comet("0.12.0"))
    added = [jars.coordinates for jars in plugged.jars if jars not in plain.jars]
    assert added == [("org.apache.datafusion:comet-spark-spark3.5_2.12:0.12.0",)]
    assert plugged.settings["spark.plugins"] == "org.apache.spark.CometPlugin"
    assert "spark.plugins" not in plain.settings


def test_any_other_plugin_is_given_by_settings_and_proof() -> None:
    plugin = given_plugin(("spark.plugins=a.B", "spark.x=1=2"), ("Gluten*",))
    assert (plugin.settings, plugin.proof) == ({"spark.plugins": "a.B", "spark.x": "1=2"}, ("Gluten*",))
    assert plugin.options == ("--spark-conf", "spark.plugins=a.B", "--spark-conf", "spark.x=1=2", "--proof", "Gluten*")
    with pytest.raises(UserInputError, match="NAME=VALUE"):
        given_plugin(("spark.plugins",), ("Gluten*",))
    with pytest.raises(UserInputError, match="needs --proof"):
        given_plugin(("spark.plugins=a.B",), ())


def test_options_choose_variants_and_one_plugin() -> None:
    only, plugin = chosen_variants(("comet", "aqe=on,comet"), (), ())
    assert only == ("comet", "aqe=on,comet")
    assert plugin == comet()
    only, plugin = chosen_variants((), ("spark.plugins=a.B",), ("Gluten*",))
    assert only == ("plugin=given",)
    assert plugin is not None
    with pytest.raises(UserInputError, match="one plugin"):
        chosen_variants(("comet",), ("spark.plugins=a.B",), ("Gluten*",))
    assert chosen_variants(("aqe=on",), (), ())[1] is None


def test_proof_is_a_pattern_of_operators() -> None:
    plan = fingerprint_of([PLAN])
    assert plan.shows(("Comet*",))
    assert plan.shows(("CometSort",))
    assert not plan.shows(("Gluten*", "Comet"))


def test_a_setting_of_the_case_chooses_the_engine() -> None:
    plain = RightEngine()
    engine = EngineWithPlugin(plain, comet())
    assert engine.run_recorded(WARM_UP).plans == ()
    assert engine.run_recorded(replace(WARM_UP, conf={PLUGIN_SETTING: "comet"})).plans == (PLAN,)
    engine.close()
    assert not plain.closed


def test_an_engine_that_starts_with_no_plugin_is_refused() -> None:
    with pytest.raises(UserInputError, match=r"delta-spark@3\.3\.2\+spark3\.5"):
        with_plugin(object(), "duckdb", comet())  # type: ignore[arg-type] # no engine at all


@pytest.mark.parametrize("loses_row", [True, False])
def test_a_difference_under_a_plugin_is_bisected_to_its_switch(*, loses_row: bool) -> None:
    plugin = comet()
    engine = EngineWithPlugin(RightEngine(loses_row=loses_row), plugin)
    axes = axes_of(engine, plugin)
    run = VariantRun(VariantChecker(engine, axes=axes), only=(axes.named("comet"),), plugin=plugin)
    run.run([WARM_UP])
    assert run.counts.of(plugin_value(plugin)).num_seen == 1
    assert run.counts.unseen() == ()
    assert [finding.mended_by for finding in run.found] == ([(f"{SWITCH}=false",)] if loses_row else [])
    for finding in run.found:
        assert "--variant comet@0.12.0 case.json" in finding.command("case.json")


def test_a_plugin_that_never_ran_makes_a_run_inconclusive() -> None:
    plugin = replace(comet(), proof=("Gluten*",))
    engine = EngineWithPlugin(RightEngine(loses_row=False), plugin)
    axes = axes_of(engine, plugin)
    run = VariantRun(VariantChecker(engine, axes=axes), only=(axes.named("comet"),), plugin=plugin)
    run.run([WARM_UP])
    assert [str(value) for value in run.counts.unseen()] == ["plugin=comet"]


def test_a_saved_case_of_a_plugin_needs_the_plugin() -> None:
    run = VariantRun(VariantChecker(RightEngine()))
    with pytest.raises(UserInputError, match="--variant"):
        run.run([replace(WARM_UP, conf={"mergecheck.variant": "plugin=comet"})])


def test_other_axes_of_a_variant_stay_while_switches_are_tried() -> None:
    tried: list[Variant] = []

    def flips(variant: Variant) -> bool:
        tried.append(variant)
        return True

    assert mending_switches(EngineAxes(SPARKS, comet()).named("aqe=on,comet"), comet(), flips) == ()
    assert all([value.axis for value in one.values] == ["aqe", "plugin"] for one in tried)
    assert len(tried) == len(comet().switches)
