"""Axes of variants: bases, places, selection by numbers, and the settings of our own engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from variant_cases import AXES, INSERT, OWN, REFERENCE, SCHEMA, SPARKS, UPSERT

from mergecheck import Axis
from mergecheck.harness.engine import Capabilities, Recorded, wrong_capability
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile
from mergecheck.harness.oracles.transformations.domains import is_repeatable
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.vocabulary import PROPERTIES
from mergecheck.harness.search.session import cases_for
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.variants.judge import VariantChecker
from mergecheck.harness.variants.selection import every, selected
from mergecheck.harness.variants.variant import VARIANT_SETTING, EngineAxes
from mergecheck.harness.verdict import UserInputError
from mergecheck.merge.conf import OWN_PREFIX, SETTING_NAMES, SINGLE_SCAN
from mergecheck.model.case import Case, Target
from mergecheck.model.outcome import Unsupported
from mergecheck.strategies import Feature


def test_every_name_is_one_value() -> None:
    """So that the command line can name each, and a saved case its variant."""
    assert len({str(value) for value in OWN.values}) == len(OWN.values)
    assert {value.axis for value in OWN.values} == {axis.name for axis in OWN.axes}


def test_every_change_that_is_allowed_has_a_rule() -> None:
    """What may change is part of the specification."""
    allowed = [allowed for value in OWN.values for allowed in value.may_change]
    assert all(one.rules and one.names for one in allowed)


@pytest.mark.parametrize("variant", OWN.singles, ids=lambda variant: variant.name)
def test_a_name_leads_back_to_its_variant(variant: object) -> None:
    """The command line and saved cases name variants."""
    assert OWN.named(str(getattr(variant, "name", ""))).name == getattr(variant, "name", None)


def test_what_a_place_needs_comes_along() -> None:
    """Only adaptive execution chooses the shuffled hash join for small tables."""
    assert AXES.named("join=shuffled-hash").name == "join=shuffled-hash,aqe=on,partitions=2,splits=many"
    assert "partitions=5" in AXES.named("partitions=5,join=shuffled-hash").name


@pytest.mark.parametrize(
    ("name", "said"),
    [("join=brodcast", "Did you mean 'join=broadcast'?"), ("join=x", "broadcast, shuffled-hash"), ("x", "axes: ")],
)
def test_an_unknown_name_is_a_mistake_of_the_user(name: str, said: str) -> None:
    """With what is allowed."""
    with pytest.raises(UserInputError, match=r"mergecheck variants --list") as caught:
        AXES.named(name)
    assert said in str(caught.value)


def test_the_base_stands_still_and_a_case_keeps_its_settings() -> None:
    """A setting of the case goes before the base's, a variant's before both."""
    case = replace(UPSERT, conf={"spark.sql.shuffle.partitions": "3", VARIANT_SETTING: "aqe=on"})
    assert AXES.base_of(case).conf == {**AXES.base, "spark.sql.shuffle.partitions": "3"}
    assert AXES.named("partitions=5").applied(case).conf["spark.sql.shuffle.partitions"] == "5"


def test_domains() -> None:
    """A variant is chosen where it means something."""
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))

    def holds(name: str, case: Case) -> bool:
        return AXES.named(name).holds(case, facts)

    assert not holds("insert-only=off", UPSERT)
    assert holds("insert-only=off", INSERT)
    assert not holds("matched-only=off", UPSERT)
    assert not holds("partitioned=no", UPSERT)
    assert holds("partitioned=by-column", UPSERT)
    assert not holds("files=per-row", replace(UPSERT, target=Target(schema=SCHEMA)))
    assert not is_repeatable(replace(UPSERT, sql=UPSERT.sql.replace("s.id", "rand()")))


def test_axes_favour_and_avoid_features_of_random_cases() -> None:
    """A feature that one axis needs and another one avoids stays as it is."""
    axes = EngineAxes(
        (
            Axis("acme.rows", base="off", values=("on",), favours=("several-row-groups", "not partitions")),
            Axis("acme.files", base="off", values=("on",), favours=("several-files", "partitions")),
        )
    )
    rows, files = axes.named("acme.rows=on"), axes.named("acme.files=on")
    assert axes.favoured([rows]) == ({"several-row-groups"}, {"partitions"})
    assert axes.favoured([rows, files]) == ({"several-row-groups", "several-files"}, frozenset())


def test_features_that_lead_to_a_property_are_drawn() -> None:
    """What an axis names itself goes before what leads to a property."""
    axes = EngineAxes(
        (
            Axis("acme.files", base="off", values=("on",), favours=("rewritten-files",)),
            Axis("acme.marks", base="off", values=("on",), favours=("rewritten-files", "deletion-vectors")),
        )
    )
    wanted, avoided = axes.favoured([axes.named("acme.files=on")])
    assert (wanted, avoided >= {"deletion-vectors", "empty-source"}) == ({"matched-update"}, True)
    wanted, avoided = axes.favoured([axes.named("acme.marks=on")])
    assert (wanted, "deletion-vectors" in avoided) == ({"matched-update", "deletion-vectors"}, False)


def test_what_an_axis_needs_brings_no_wishes_of_its_own() -> None:
    """The value of another axis comes along; the case need not have what that axis favours."""
    axes = EngineAxes(
        (
            Axis("acme.large", base="off", values=("on",), favours=("several-row-groups",)),
            Axis("acme.keys", base="off", values=("on",), favours=("key-ranges",), needs={"acme.large": "on"}),
        )
    )
    assert axes.favoured([axes.named("acme.keys=on")]) == ({"key-ranges"}, frozenset())
    assert axes.favours([axes.named("acme.keys=on")], UPSERT, facts_of(UPSERT, REFERENCE.evaluate(UPSERT)))


def test_features_that_lead_to_properties_are_features() -> None:
    """A name that no feature has would be passed over in silence."""
    features = {feature.value for feature in Feature}
    named = {each.removeprefix("not ") for one in PROPERTIES.values() for each in one.features}
    assert named <= features


@pytest.mark.parametrize("name", ["low-shuffle=off", "insert-only=off"])
def test_most_draws_have_what_an_axis_needs(name: str) -> None:
    """So that a run of a few minutes shows a fault of the path that the axis switches."""
    axes = EngineAxes(PySparkEngine.capabilities.axes)
    variant = axes.named(name)
    focus, avoid = axes.favoured([variant])
    cases = cases_for(PySparkEngine, focus=focus, avoid=avoid, draws_settings=False)
    drawn = Draws(cases, seed=3)
    reached = 0
    for _ in range(8):
        one = drawn.draw_wanted(variant.holds, favours=lambda *of: axes.favours([variant], *of), most=5)
        assert one.reference is not None
        facts = facts_of(one.case, one.reference)
        reached += variant.holds(one.case, facts) and axes.favours([variant], one.case, facts)
    assert reached >= 6


def test_a_case_is_favoured_if_it_has_what_some_variant_favours() -> None:
    """Properties that are no features count, and features that are no properties do not."""
    names = ("rewritten-files", "not partitions", "deletion-vectors")
    axes = EngineAxes((Axis("acme.rows", base="off", values=("on",), favours=names),))
    rows, facts = axes.named("acme.rows=on"), facts_of(UPSERT, REFERENCE.evaluate(UPSERT))
    assert axes.favours([rows], UPSERT, facts)
    assert not axes.favours([rows], UPSERT, replace(facts, path=None))
    partitioned = replace(UPSERT.target, partition_by=UPSERT.target.schema.names[:1])
    assert not axes.favours([rows], replace(UPSERT, target=partitioned), facts)


def test_selection_hangs_on_the_number_alone() -> None:
    """The same case number gives the same variants, at least eight of them, and a run comes round to every place."""
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))
    first, _ = selected(5, UPSERT, facts, AXES)
    assert [v.name for v in first] == [v.name for v in selected(5, UPSERT, facts, AXES)[0]]
    assert len(first) >= 8
    chosen = [selected(index, UPSERT, facts, OWN)[0] for index in range(len(OWN.singles))]
    tried = {str(value) for variant in itertools.chain(*chosen) for value in variant.values}
    outside = {single.name for single in OWN.singles if not single.holds(UPSERT, facts)}
    assert tried == {str(value) for value in OWN.values} - outside


def test_a_given_case_runs_under_every_place() -> None:
    """Somebody who gives a case wants it all."""
    inside, outside = every(UPSERT, facts_of(UPSERT, REFERENCE.evaluate(UPSERT)), OWN)
    assert {v.name for v in (*inside, *outside)} >= {v.name for v in OWN.singles}
    random_key = replace(UPSERT, sql=UPSERT.sql.replace("s.id", "rand()"))
    assert every(random_key, facts_of(UPSERT, REFERENCE.evaluate(UPSERT)), OWN) == ((), ())


def test_our_engine_declares_every_switch_of_its_own_as_an_axis() -> None:
    """A switch without an axis would be tried by nobody."""
    declared = {axis.setting for axis in PySparkEngine.capabilities.axes}
    assert {name for name in SETTING_NAMES if name.startswith(OWN_PREFIX)} <= declared


def test_an_engine_is_run_at_the_base_of_its_axes() -> None:
    """Two scans for our merge, unless the case or the variant sets it; no other engine gets the setting."""
    seen: list[dict[str, str]] = []

    class Listening:
        name, version = "listening", "1"

        def __init__(self, axes: tuple[Axis, ...]) -> None:
            self.capabilities = Capabilities(axes=axes)

        def run(self, case: Case) -> Unsupported:
            seen.append(dict(case.conf))
            return Unsupported("listens only")

        def run_recorded(self, case: Case) -> Recorded:
            return Recorded(result=self.run(case), plans=())

        def close(self) -> None:
            pass

    own = PySparkEngine.capabilities.axes
    for axes, conf in ((own, {}), (own, {SINGLE_SCAN: "true"}), (SPARKS, {}), ((), {})):
        VariantChecker(Listening(axes)).check_base(replace(UPSERT, conf=conf))
    assert [given.get(SINGLE_SCAN) for given in seen] == ["false", "true", None, None]
    assert [PROFILE_SETTINGS[Profile.TINY].items() <= given.items() for given in seen] == [True, True, True, False]


def test_an_axis_gives_its_setting_a_base_and_values() -> None:
    """In texts, by names, or without a base."""
    axes = EngineAxes(
        (
            Axis("acme.lowShuffle", base="off", values=("on",), may_change=("numTargetFilesAdded",)),
            Axis("rules", setting="acme.rules", values=("a,b", "none"), applies_to=("insert-only",)),
            Axis("fast", setting="acme.fast", base="no", values={"no": "0", "yes": "1"}, needs={"rules": "none"}),
        )
    )
    assert axes.base == {"acme.lowShuffle": "off", "acme.fast": "0"}
    assert [variant.name for variant in axes.singles[:4]] == [
        "acme.lowShuffle=on",
        "rules=a+b",
        "rules=none",
        "rules=none,fast=yes",
    ]
    fast = axes.named("fast=yes")
    assert fast.lines() == ("axis rules: unset -> none", "axis fast: no -> yes")
    assert fast.applied(INSERT).conf == {"acme.lowShuffle": "off", "acme.fast": "1", "acme.rules": "none"}
    assert fast.judged(INSERT).conf == {}  # the reference never sees the switch of an engine
    facts = facts_of(UPSERT, REFERENCE.evaluate(UPSERT))
    assert not fast.holds(UPSERT, facts)
    assert fast.holds(INSERT, facts)


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (Axis("a", values=("b",), applies_to=("insert_only",)), "Did you mean 'insert-only'"),
        (Axis("a", values=("b",), needs={"c": "d"}), "it needs c=d, which no axis has"),
        (Axis("files", values=("b",)), "a name that is taken: files"),
    ],
)
def test_an_axis_that_names_what_there_is_not_is_a_mistake_of_the_user(axis: Axis, message: str) -> None:
    """Found before anything runs."""
    with pytest.raises(UserInputError, match=message):
        EngineAxes((axis,))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ([Axis("a", values=("b",))], "axes must be a tuple of mergecheck.Axis"),
        ((Axis("a=b", values=("b",)),), "the name of an axis"),
        ((Axis("a", base=1, values=("b",)),), "base of a must be a text"),  # type: ignore[arg-type]
        ((Axis("a", values="on"),), "values of a must be a tuple"),  # type: ignore[arg-type]
        ((Axis("a"),), "not empty"),
        ((Axis("a", values=("b",), may_change="path"),), "may_change of a"),  # type: ignore[arg-type]
        ((Axis("a", values=("b",), applies_to="insert-only"),), "applies_to of a"),  # type: ignore[arg-type]
        ((Axis("a", values=("b",), needs=("c",)),), "needs of a"),  # type: ignore[arg-type]
    ],
)
def test_an_axis_of_wrong_types_is_named(axes: tuple[Axis, ...], message: str) -> None:
    """With the part, and with what it must be."""
    assert message in str(wrong_capability(Capabilities(axes=axes)))
