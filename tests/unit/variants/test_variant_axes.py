"""Axes of variants: bases, places, selection by numbers, and the settings of our own engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from variant_cases import INSERT, OWN, REFERENCE, SCHEMA, UPSERT

from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.variants.axes.axis import Axis
from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES, BASE_NAMES, BASE_SETTINGS, OWN_BASE_SETTINGS
from mergecheck.harness.variants.axes.domains import is_repeatable
from mergecheck.harness.variants.axes.selection import SINGLES, every, selected
from mergecheck.harness.variants.axes.variant import VARIANT_SETTING, base_of, variant_named
from mergecheck.harness.variants.judge import VariantChecker
from mergecheck.harness.verdict import UserInputError
from mergecheck.merge.conf import SINGLE_SCAN
from mergecheck.model.case import Case, Target
from mergecheck.model.outcome import Unsupported


def test_every_axis_has_a_base_and_a_place() -> None:
    """So that the list names them all, and each name is one place."""
    assert set(BASE_NAMES) == set(Axis)
    assert {axis_value.axis for axis_value in AXIS_VALUES} == set(Axis) - {Axis.PLUGIN}  # a plugin brings its own place
    assert len({str(axis_value) for axis_value in AXIS_VALUES}) == len(AXIS_VALUES)


def test_every_exemption_has_a_rule() -> None:
    """What may change is part of the specification."""
    exemptions = [exemption for axis_value in AXIS_VALUES for exemption in axis_value.exemptions]
    assert all(exemption.rules for exemption in exemptions)
    assert all(e.metrics or e.observables or e.errors for e in exemptions)


@pytest.mark.parametrize("variant", SINGLES, ids=lambda variant: variant.name)
def test_a_name_leads_back_to_its_variant(variant: object) -> None:
    """The command line and saved cases name variants."""
    assert variant_named(str(getattr(variant, "name", ""))).name == getattr(variant, "name", None)


def test_what_a_place_needs_comes_along() -> None:
    """Only adaptive execution chooses the shuffled hash join for small tables."""
    assert variant_named("join=shuffled-hash").name == "join=shuffled-hash,aqe=on,partitions=2,splits=many"
    assert "partitions=5" in variant_named("partitions=5,join=shuffled-hash").name


@pytest.mark.parametrize(
    ("name", "said"),
    [("join=brodcast", "Did you mean 'join=broadcast'?"), ("join=x", "broadcast, shuffled-hash"), ("x", "axes: ")],
)
def test_an_unknown_name_is_a_mistake_of_the_user(name: str, said: str) -> None:
    """With what is allowed."""
    with pytest.raises(UserInputError, match=r"mergecheck variants --list") as caught:
        variant_named(name)
    assert said in str(caught.value)


def test_the_base_stands_still_and_a_case_keeps_its_settings() -> None:
    """A setting of the case goes before the base's, a variant's before both."""
    case = replace(UPSERT, conf={"spark.sql.shuffle.partitions": "3", VARIANT_SETTING: "aqe=on"})
    assert base_of(case).conf == {**BASE_SETTINGS, "spark.sql.shuffle.partitions": "3"}
    assert variant_named("partitions=5").applied(case).conf["spark.sql.shuffle.partitions"] == "5"


def test_domains() -> None:
    """A variant is chosen where it means something."""
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))

    def holds(name: str, case: Case) -> bool:
        return variant_named(name).holds(case, facts)

    assert not holds("insert-only=off", UPSERT)
    assert holds("insert-only=off", INSERT)
    assert not holds("matched-only=off", UPSERT)
    assert not holds("partitioned=no", UPSERT)
    assert holds("partitioned=by-column", UPSERT)
    assert not holds("files=per-row", replace(UPSERT, target=Target(schema=SCHEMA)))
    assert not is_repeatable(replace(UPSERT, sql=UPSERT.sql.replace("s.id", "rand()")))


def test_selection_hangs_on_the_number_alone() -> None:
    """The same case number gives the same variants, at least eight of them, and a run comes round to every place."""
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))
    first, _ = selected(5, UPSERT, facts)
    assert [v.name for v in first] == [v.name for v in selected(5, UPSERT, facts)[0]]
    assert len(first) >= 8
    chosen = [selected(index, UPSERT, facts, own=OWN)[0] for index in range(len(SINGLES))]
    tried = {str(axis_value) for variant in itertools.chain(*chosen) for axis_value in variant.axis_values}
    outside = {variant.axis_values[0] for variant in SINGLES if not variant.holds(UPSERT, facts)}
    assert tried == {str(axis_value) for axis_value in AXIS_VALUES} - {str(axis_value) for axis_value in outside}


def test_a_given_case_runs_under_every_place() -> None:
    """Somebody who gives a case wants it all."""
    inside, outside = every(UPSERT, facts_of(UPSERT, REFERENCE.evaluate(UPSERT)), own=OWN)
    assert {v.name for v in (*inside, *outside)} >= {v.name for v in SINGLES}
    random_key = replace(UPSERT, sql=UPSERT.sql.replace("s.id", "rand()"))
    assert every(random_key, facts_of(UPSERT, REFERENCE.evaluate(UPSERT))) == ((), ())


def test_our_engine_declares_every_setting_that_a_place_sets() -> None:
    """A place with a setting that the engine does not declare would be left out, and nobody told."""
    assert PySparkEngine.capabilities.own_settings >= OWN
    assert PySparkEngine.capabilities.own_settings >= set(OWN_BASE_SETTINGS)


def test_our_engine_stands_at_its_own_base() -> None:
    """Two scans, unless the case or the variant says otherwise; an engine without the setting never hears of it."""
    seen: list[dict[str, str]] = []

    class Listening:
        name, version = "listening", "1"

        def __init__(self, own_settings: frozenset[str]) -> None:
            self.capabilities = Capabilities(own_settings=own_settings)

        def run_recorded(self, case: Case) -> Recorded:
            seen.append(dict(case.conf))
            return Recorded(result=Unsupported("listens only"), plans=())

    for own, conf in ((OWN, {}), (OWN, {SINGLE_SCAN: "true"}), (frozenset(), {})):
        VariantChecker(Listening(own)).check_base(replace(UPSERT, conf=conf))
    assert [given.get(SINGLE_SCAN) for given in seen] == ["false", "true", None]


def test_settings_of_our_merge_are_for_our_engine() -> None:
    """Another engine has no such places, alone or mixed, and none of them counts as passed over."""
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))
    chosen = [selected(index, UPSERT, facts) for index in range(len(SINGLES))]
    met = [variant for pair in (*chosen, every(UPSERT, facts)) for part in pair for variant in part]
    assert met
    assert not any(axis_value.own_settings for variant in met for axis_value in variant.axis_values)
    assert any(axis_value.own_settings for axis_value in AXIS_VALUES)
