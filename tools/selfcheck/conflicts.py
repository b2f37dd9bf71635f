"""Whether the search for interleavings finds the mutants of the rules about concurrent commits.

``python -m tools.selfcheck.conflicts``, also with ``--fault NAME`` and ``--scenario NAME``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.concurrency.concurrency import scenarios_named
from mergecheck.harness.engine import InterleavedEngine
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.interleaving_text import finding_json
from mergecheck.harness.search.session import open_engine
from mergecheck.harness.verdict import ExitCode, HarnessBugError, UserInputError
from mergecheck.reference import MergeReference
from tools.selfcheck.catalogue import load_conflict_faults
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.lab.concurrency.enumerate import Interleaving
    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from tools.selfcheck.catalogue import ConflictFault
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


def hunt(fault: Fault, scenarios: Sequence[Scenario], engine: InterleavedEngine, reference: MergeReference) -> Hunt:
    """Run the interleavings of some scenarios with a fault switched on, until one shows it.

    Raises:
        StaleChangeError: the fault does not fit the source any more.
    """
    count = 0
    with Mutant.of(fault).switched_on():
        for scenario in scenarios:
            for one in enumerate_interleavings(scenario, engine, reference):
                count += 1
                if one.verdict.problems:
                    return Hunt(fault=fault, finding=one, num_interleavings=count)
    return Hunt(fault=fault, finding=None, num_interleavings=count)


@click.command()
@click.option("--fault", "ids", multiple=True, metavar="NAME", help="Plant this fault; repeat it for several.")
@click.option("--scenario", "names", multiple=True, metavar="NAME", help="Run these scenarios; all if left out.")
@json_option
def conflicts(*, ids: tuple[str, ...], names: tuple[str, ...], as_json: bool) -> int:
    """Run the mutants of the conflict rules, and look for each in the interleavings of the scenarios."""
    known = {one.fault.id: one for one in load_conflict_faults()}
    if unknown := [name for name in ids if name not in known]:
        raise UserInputError(f"no fault of conflicts is called {', '.join(unknown)}. Choose from {', '.join(known)}.")
    faults = tuple(known[name] for name in ids) or tuple(known.values())
    chosen = scenarios_named(names)
    with open_engine("pyspark") as engine:
        if not isinstance(engine, InterleavedEngine):
            raise HarnessBugError(f"{engine.name} cannot be stopped at points")
        return hunt_all(faults, chosen, engine, as_json=as_json)


def hunt_all(
    faults: Sequence[ConflictFault], chosen: Sequence[Scenario], engine: InterleavedEngine, *, as_json: bool
) -> ExitCode:
    """Look for each fault; a fault that is not found is a finding about the search."""
    hunts: list[Hunt] = []
    reference = MergeReference()
    for planted in faults:
        found = hunt(planted.fault, chosen, engine, reference)
        hunts.append(found)
        if not as_json:
            show("\n".join(_hunt_lines(found)))
    if as_json:
        emit_json({"faults": [_hunt_json(one) for one in hunts]})
    else:
        show(f"{sum(one.finding is not None for one in hunts)} of {len(hunts)} faults found")
    return ExitCode.AGREE if all(one.finding is not None for one in hunts) else ExitCode.MISMATCH


def _hunt_lines(found: Hunt) -> list[str]:
    if found.finding is None:
        return [f"{found.fault.id}: not found in {found.num_interleavings} interleavings"]
    first = found.finding.verdict.problems[0]
    return [
        f"{found.fault.id}: found by interleaving {found.num_interleavings}, in {found.finding.scenario.name}",
        f"  {first}",
    ]


def _hunt_json(found: Hunt) -> dict[str, Any]:
    finding = found.finding
    return {
        "fault": found.fault.id,
        "interleavings": found.num_interleavings,
        "scenario": None if finding is None else finding.scenario.name,
        "finding": None if finding is None else finding_json(finding.history, finding.verdict),
    }


if __name__ == "__main__":
    sys.exit(main(command=conflicts, name="conflicts"))
