"""``mergecheck engine mutants``: how soon a check of this engine notices wrong answers."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import (
    case_timeout_option,
    deviation_options,
    expressions_option,
    json_option,
    known_deviations,
    max_cases_option,
    max_time_option,
    seed_option,
    verbose_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.lab.mutants import run_mutants
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.render import printable
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import reference_for, stream_for
from mergecheck.harness.verdict import ExitCode, Expressions
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.mutants import MutantRun, Noticed

_DEFAULT_SECONDS = 120.0
_NUM_LATE = 3


@click.command(name="engine-mutants")
@click.argument("engine_name", metavar="ENGINE")
@seed_option
@max_cases_option
@max_time_option
@expressions_option
@deviation_options
@case_timeout_option
@verbose_option
@json_option
def mutants(
    *,
    engine_name: str,
    seed: int | None,
    max_cases: int | None,
    max_seconds: float | None,
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    case_seconds: float,
    verbose: bool,
    as_json: bool,
) -> int:
    """Change right answers of ENGINE in ways in which executors err, and show how soon its check notices each.

    A mutant is a wrong answer: a copied row doubled, a missing pre-image, ON read with <=>. A mutant that is never
    noticed is a fault that no run on this engine would find: its adapter does not report what it changes, a known
    deviation hides it, or no case came near it. Ends after 120 seconds if neither --max-cases nor --max-time is given.
    """
    if seed is None:
        seed = secrets.randbelow(2**31)
    if max_seconds is None and max_cases is None:
        max_seconds = _DEFAULT_SECONDS
    limit = TimeLimit(seconds=case_seconds)
    notice(f"starting {engine_name} ...")
    engine = engine_of_command(engine_name, limit)
    checker = Checker(
        engine=engine,
        deviations=known_deviations(deviation_files, none=no_deviations),
        reference=reference_for(engine, Expressions(expressions_name)).evaluate,
        skip_reference_if_unsupported=True,
        limit=limit,
    )
    found = run_mutants(stream_for(engine, seed), checker, Budget(max_cases=max_cases, max_seconds=max_seconds))
    title = f"{engine.name} {engine.version}"
    if as_json:
        emit_json({"engine": title, "seed": seed} | _document(found))
    else:
        _show(title, found, seed=seed, verbose=verbose)
    return ExitCode.AGREE if found.num_right else ExitCode.INCONCLUSIVE


def _show(title: str, run: MutantRun, *, seed: int, verbose: bool) -> None:
    noticed = sorted((one for one in run.found if one.case_number is not None), key=_case_number)
    right = f"{run.num_right} right {'answer was' if run.num_right == 1 else 'answers were'} changed"
    show(f"{title}, {counted(run.num_cases, 'case', 'cases')} of seed {seed}: {right}")
    if not run.num_right:
        return
    if noticed:
        half = noticed[(len(noticed) - 1) // 2]
        show(f"noticed {len(noticed)} of {len(run.found)} mutants, half of them by case {half.case_number}")
        for one in noticed if verbose else noticed[-_NUM_LATE:]:
            show(f"  case {one.case_number:<5} {one.mutant.check.value:<9} {printable(one.mutant.name)}")
    missed: dict[tuple[str, str], list[str]] = {}
    for one in run.found:
        if one.case_number is None:
            missed.setdefault((_state(one), _why(one)), []).append(one.mutant.name)
    for (state, why), names in missed.items():
        show(f"{state} ({printable(why)}):" if why else f"{state}:")
        for name in names:
            show(f"  {printable(name)}")


def _case_number(one: Noticed) -> int:
    return one.case_number or 0


def _state(one: Noticed) -> str:
    if one.num_tried == 0:
        return "not tried"
    return "hidden" if one.deviations else "not noticed"


def _why(one: Noticed) -> str:
    if one.reason or one.num_tried == 0:
        return one.reason or "no right answer could be changed so"
    return f"explained by the known deviations {', '.join(sorted(one.deviations))}" if one.deviations else ""


def _document(run: MutantRun) -> dict[str, object]:
    return {
        "cases": run.num_cases,
        "right": run.num_right,
        "mutants": [
            {
                "name": one.mutant.name,
                "check": one.mutant.check.value,
                "noticed_at_case": one.case_number,
                "answers": one.num_tried,
                "deviations": sorted(one.deviations),
                "reason": "" if one.case_number is not None else _why(one),
            }
            for one in run.found
        ],
    }
