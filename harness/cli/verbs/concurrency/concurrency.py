"""``mergecheck lab concurrency``: check merges and other writes that run at the same time on one table."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import case_timeout_option, json_option
from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.cli.verbs.concurrency.modes import (
    count,
    enumerate_all,
    list_scenarios,
    race,
)
from mergecheck.harness.engine import InterleavedEngine, TableKeepingEngine
from mergecheck.harness.lab.concurrency.race.engines import CLIENTS
from mergecheck.harness.lab.concurrency.race.race_run import RaceOptions
from mergecheck.harness.lab.concurrency.scenario import Isolation, TableKind
from mergecheck.harness.lab.concurrency.scenarios import COUNTER, scenarios
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.lab.concurrency.scenario import Scenario


@click.command()
@click.option(
    "--scenario",
    "names",
    multiple=True,
    metavar="NAME",
    help="A scenario whose interleavings are run; repeat it for several. All if left out.",
)
@click.option("--list", "lists", is_flag=True, help="Show the scenarios, and run nothing.")
@click.option(
    "--table",
    "kind",
    type=click.Choice([kind.value for kind in TableKind]),
    default=TableKind.PLAIN.value,
    show_default=True,
    help="Scenarios: what their tables have besides what the scenarios need.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="Race: N random writers, a few at a time, instead of scenarios.",
)
@click.option(
    "--writers", type=click.IntRange(2, 8), default=3, show_default=True, help="Race: how many start together."
)
@click.option(
    "--engine",
    "engine_name",
    default="pyspark",
    show_default=True,
    metavar="NAME",
    help=f"The engine of the merges: any that can be stopped at points; for a race {', '.join(CLIENTS)}.",
)
@click.option(
    "--kills",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    metavar="PERCENT",
    help="Race: in how many of the rounds a process is killed.",
)
@click.option(
    "--isolation",
    type=click.Choice([level.value for level in Isolation], case_sensitive=False),
    default=Isolation.SERIALIZABLE.value,
    show_default=True,
    help="The level of the tables. Races: only delta-rs has WriteSerializable. Snapshot: engines with own tables.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Race: the same seed draws the same tables and writers. Drawn and printed if left out.",
)
@case_timeout_option
@json_option
def concurrency(
    *,
    names: tuple[str, ...],
    lists: bool,
    kind: str,
    steps: int | None,
    writers: int,
    engine_name: str,
    kills: int,
    isolation: str,
    seed: int | None,
    case_seconds: float,
    as_json: bool,
) -> int:
    """Check writers that run at the same time on one table: every history must equal a serial order.

    Runs every interleaving of small scenarios or, with --steps, a random race of
    processes, some of which are killed. --scenario counter --steps N races N merges that count (docs/concurrency.md).
    For --case-timeout, an interleaving, a round of a race, and a merge that counts are cases.
    """
    chosen, limit = scenarios_named(names), TimeLimit(seconds=case_seconds)
    if lists:
        return list_scenarios(chosen, as_json=as_json)
    if steps is not None:
        if kind != TableKind.PLAIN.value:
            raise UserInputError(f"--table {kind} goes with scenarios, not with a race: leave out --steps")
        if names and names != (COUNTER,):
            raise UserInputError(f"--steps goes with no scenario but {COUNTER}")
        if engine_name not in CLIENTS:
            raise UserInputError(f"{engine_name} has no races. Give --engine one of {', '.join(CLIENTS)}.")
        level = Isolation(isolation)
        has_level = level is Isolation.WRITE_SERIALIZABLE and engine_name == "delta-rs" and not names
        if level is not Isolation.SERIALIZABLE and not has_level:
            raise UserInputError(f"--isolation {isolation}: only random races of delta-rs have this level (R-751)")
        if names:
            return count(engine_name, chosen[0], num_threads=writers, num_merges=steps, limit=limit, as_json=as_json)
        options = RaceOptions(
            engine=engine_name,
            num_writers=writers,
            num_steps=steps,
            seed=secrets.randbelow(2**31) if seed is None else seed,
            kills=kills,
            isolation=level,
            patience=case_seconds,
        )
        return race(options, as_json=as_json)
    scenes = scenarios_on(TableKind(kind), chosen, are_named=bool(names))
    notice(f"starting {engine_name} ...")
    engine = engine_of_command(engine_name, limit)
    if not isinstance(engine, InterleavedEngine):
        raise UserInputError(
            f"{engine_name} cannot be stopped at points (run_in_steps, docs/engines.md), so it has no "
            "interleavings to enumerate: give --steps N for a random race"
        )
    if isolation == Isolation.SNAPSHOT.value and not isinstance(engine, TableKeepingEngine):
        raise UserInputError(f"--isolation {isolation}: Delta tables have no such level (R-751)")
    return enumerate_all(scenes, engine, isolation=Isolation(isolation), limit=limit, as_json=as_json)


def scenarios_on(kind: TableKind, chosen: Sequence[Scenario], *, are_named: bool) -> tuple[Scenario, ...]:
    """Return scenarios on tables of a kind, without those whose writers cannot write such tables.

    Raises:
        UserInputError: such a scenario was named.
    """
    without = [one.name for one in chosen if not one.fits(kind)]
    if without and are_named:
        raise UserInputError(
            f"{', '.join(without)}: a writer of it is delta-rs, which cannot write tables with {kind.value}. "
            "Leave it out, or choose another --table."
        )
    if without:
        notice(f"{counted(len(without), 'scenario')} left out: delta-rs, which writes in them, has no {kind.value}")
    return tuple(one.on_table(kind) for one in chosen if one.fits(kind))


def scenarios_named(names: Sequence[str]) -> tuple[Scenario, ...]:
    """Return the scenarios of these names, all if there are none.

    Raises:
        UserInputError: there is none of a name.
    """
    known = {scenario.name: scenario for scenario in scenarios()}
    if unknown := [name for name in names if name not in known]:
        raise UserInputError(f"no scenario is called {', '.join(unknown)}. Choose from {', '.join(known)}.")
    return tuple(known[name] for name in names) or tuple(known.values())
