"""Variants on the PySpark merge: plans are seen to change, outcomes are not; a mutant is found with its axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import ConfigurableEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.variants.judge import Ending, VariantChecker
from mergecheck.harness.variants.plans import fingerprint_of
from mergecheck.harness.variants.variant import axes_of
from mergecheck.harness.variants.variants_run import VariantRun
from tools.selfcheck.catalogue import load_variant_faults, variant_cases
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.selfcheck.catalogue import VariantFault

pytestmark = pytest.mark.spark

QUICK = ("shuffle-loses-a-file", "second-batch-lost", "values-of-eight-files")


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    """Start the merge once."""
    engine = PySparkEngine()
    yield engine
    engine.close()


def running(engine: PySparkEngine, *names: str) -> VariantRun:
    return VariantRun(
        VariantChecker(engine),
        only=tuple(axes_of(engine).named(name) for name in names),
        limits=ShrinkLimits(max_seconds=0, max_runs=0),
    )


def test_every_join_is_seen_and_agrees(engine: PySparkEngine) -> None:
    """The settings do choose the operators, and the operators give one answer."""
    names = ("join=broadcast", "join=shuffled-hash", "join=nested-loop", "codegen=whole-stage", "reader=batches of 1")
    run = running(engine, *names)
    run.run([variant_cases()["upsert"]])
    assert run.found == []
    assert run.counts.unseen() == ()
    assert run.counts.endings[Ending.EQUAL] + run.counts.endings[Ending.EXEMPT] == len(names)
    assert run.counts.operators["SortMergeJoin"] > 0  # the base


def test_settings_are_put_back(engine: PySparkEngine) -> None:
    """A variant leaves no trace in the session."""
    assert isinstance(engine, ConfigurableEngine)
    first = fingerprint_of(engine.run_recorded(axes_of(engine).base_of(variant_cases()["upsert"])).plans)
    running(engine, "aqe=on,join=broadcast,partitions=5").run([variant_cases()["upsert"]])
    assert fingerprint_of(engine.run_recorded(axes_of(engine).base_of(variant_cases()["upsert"])).plans) == first


@pytest.mark.parametrize("planted", [f for f in load_variant_faults() if f.fault.id in QUICK], ids=lambda f: f.fault.id)
def test_a_mutant_is_found_and_its_axis_named(engine: PySparkEngine, planted: VariantFault) -> None:
    """Of the three axes of the variant, the one that the fault hangs on."""
    run = running(engine, planted.variant)
    with Mutant.of(planted.fault).switched_on():
        run.run([variant_cases()[planted.case]])
    assert [finding.variant is not None for finding in run.found] == [True]
    named = run.found[0].variant
    assert named is not None
    assert {value.axis for value in named.values} <= planted.axes
