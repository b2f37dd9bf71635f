"""``mergecheck concurrency``: check merges and other writes that run at the same time on one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.concurrency.scenarios import scenarios
from mergecheck.harness.concurrency.text import (
    MAX_FINDINGS,
    Tally,
    finding_json,
    finding_lines,
    summary_line,
    tally_json,
)
from mergecheck.harness.engine import SparkSessionEngine
from mergecheck.harness.errors import ExitCode, HarnessBugError, UserInputError
from mergecheck.harness.selfcheck.catalogue import load_conflict_faults
from mergecheck.harness.selfcheck.conflicts import hunt
from mergecheck.harness.session import open_engine
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.harness.concurrency.scenario import Scenario
    from mergecheck.harness.selfcheck.catalogue import ConflictFault
    from mergecheck.harness.selfcheck.conflicts import Hunt

_SCHEDULED = "pyspark"  # the engine whose points can be scheduled


@click.command()
@click.option(
    "--scenario",
    "names",
    multiple=True,
    metavar="NAME",
    help="A scenario whose interleavings are run; repeat it for several. All if left out.",
)
@click.option("--list", "lists", is_flag=True, help="Show the scenarios, and run nothing.")
@click.option("--faults", "plants", is_flag=True, help="Plant the faults of the conflict rules, and look for each.")
@click.option("--fault", "fault_ids", multiple=True, metavar="NAME", help="Plant this fault; repeat it for several.")
@json_option
def concurrency(*, names: tuple[str, ...], lists: bool, plants: bool, fault_ids: tuple[str, ...], as_json: bool) -> int:
    """Check writers that run at the same time on one table: every history must equal a serial order.

    Runs every interleaving of small scenarios on the merge of this project (docs/concurrency.md).
    """
    chosen = _chosen(names)
    if lists:
        return _list(chosen, as_json=as_json)
    faults = _faults(fault_ids) if plants or fault_ids else ()
    with open_engine(_SCHEDULED) as engine:
        if not isinstance(engine, SparkSessionEngine):
            raise HarnessBugError(f"the engine {_SCHEDULED} has no session")
        notice("starting Spark ...")
        session = engine.session()
        if faults:
            return _hunt(faults, chosen, session, as_json=as_json)
        return _enumerate(chosen, session, as_json=as_json)


def _chosen(names: Sequence[str]) -> tuple[Scenario, ...]:
    known = {scenario.name: scenario for scenario in scenarios()}
    if unknown := [name for name in names if name not in known]:
        raise UserInputError(f"no scenario is called {', '.join(unknown)}. Choose from {', '.join(known)}.")
    return tuple(known[name] for name in names) or tuple(known.values())


def _faults(ids: Sequence[str]) -> tuple[ConflictFault, ...]:
    known = {one.fault.id: one for one in load_conflict_faults()}
    if unknown := [name for name in ids if name not in known]:
        raise UserInputError(f"no fault of conflicts is called {', '.join(unknown)}. Choose from {', '.join(known)}.")
    return tuple(known[name] for name in ids) or tuple(known.values())


def _list(chosen: Sequence[Scenario], *, as_json: bool) -> ExitCode:
    if as_json:
        emit_json({"scenarios": [{"name": one.name, "summary": one.summary} for one in chosen]})
    else:
        show("\n".join(f"{one.name:<22} {one.summary}" for one in chosen))
    return ExitCode.AGREE


def _enumerate(chosen: Sequence[Scenario], session: SparkSession, *, as_json: bool) -> ExitCode:
    reference, tallies = MergeReference(), [Tally(scenario) for scenario in chosen]
    for tally in tallies:
        for one in enumerate_interleavings(tally.scenario, session, reference):
            tally.add(one)
        if not as_json:
            for found in tally.findings[:MAX_FINDINGS]:
                show("\n".join(finding_lines(found)) + "\n")
            show(tally.line())
    if as_json:
        emit_json({"engine": _SCHEDULED, "scenarios": [tally_json(tally) for tally in tallies]})
    else:
        show(summary_line(tallies))
    return ExitCode.MISMATCH if any(tally.findings for tally in tallies) else ExitCode.AGREE


def _hunt(
    faults: Sequence[ConflictFault], chosen: Sequence[Scenario], session: SparkSession, *, as_json: bool
) -> ExitCode:
    """Look for each fault; a fault that is not found is a finding about the search."""
    hunts: list[Hunt] = []
    reference = MergeReference()
    for planted in faults:
        found = hunt(planted.fault, chosen, session, reference)
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
