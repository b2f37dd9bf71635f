"""Whether the search for interleavings finds the planted faults of the rules about concurrent commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.harness.lab.concurrency.enumerate import Interleaving
    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from mergecheck.reference import MergeReference
    from tools.selfcheck.fault import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """A search for one fault.

    Attributes:
        finding: the first interleaving that shows it; None if none does.
        num_interleavings: how many were run until then.
    """

    fault: Fault
    finding: Interleaving | None
    num_interleavings: int


def hunt(fault: Fault, scenarios: Sequence[Scenario], spark: SparkSession, reference: MergeReference) -> Hunt:
    """Run the interleavings of some scenarios with a fault switched on, until one shows it.

    Raises:
        StaleChangeError: the fault does not fit the source any more.
    """
    count = 0
    with Mutant.of(fault).switched_on():
        for scenario in scenarios:
            for one in enumerate_interleavings(scenario, spark, reference):
                count += 1
                if one.verdict.problems:
                    return Hunt(fault=fault, finding=one, num_interleavings=count)
    return Hunt(fault=fault, finding=None, num_interleavings=count)
