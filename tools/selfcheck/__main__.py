"""``python -m tools.selfcheck``: measure how fast random cases find mutants of the merge."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.options import FiniteRange, json_option, markdown_option
from mergecheck.harness.cli.output.terminal import emit_json, notice, show, show_table, write_page
from mergecheck.harness.engines.spark.config import require_place
from mergecheck.harness.specification.citations import titled
from mergecheck.harness.verdict import ExitCode
from tools.selfcheck import score_text
from tools.selfcheck.catalogue import chosen
from tools.selfcheck.mutation import diff
from tools.selfcheck.page import selfcheck_page
from tools.selfcheck.pool import run_seeds, shrink_faults
from tools.selfcheck.results import KeptResults
from tools.selfcheck.scope_cases import Scopes, of_rows
from tools.selfcheck.score import score, score_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.selfcheck.fault import Fault
    from tools.selfcheck.score import Score
    from tools.selfcheck.shrinking import Shrunk
    from tools.selfcheck.trial import SeedResult

DEFAULT_SEEDS = 10
DEFAULT_MAX_CASES = 1000
DEFAULT_FLOOR = 0.95


@click.command()
@click.option("--fault", "names", multiple=True, metavar="NAME", help="Look for this fault only; may be repeated.")
@click.option(
    "--list", "as_list", is_flag=True, help="List the catalogue and run nothing; with --fault, show the changed source."
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=DEFAULT_SEEDS,
    show_default=True,
    metavar="N",
    help="Number of seeds; a fault is solved only if every seed finds it.",
)
@click.option(
    "--seed",
    "first_seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="The first seed; the others are the numbers after it.",
)
@click.option(
    "--max-cases",
    type=click.IntRange(min=1),
    default=DEFAULT_MAX_CASES,
    show_default=True,
    help="Maximum number of cases per seed.",
)
@click.option(
    "--max-time",
    "max_seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    help="End after S seconds; a seed that is cut short goes on in the next run with the same --results.",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="NAME",
    help="Take the merges of a small scope instead of random cases, and the mutants of rows, metrics and change feed; "
    "may be repeated.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of each statement of a scope only N pairs of tables, drawn by the seed.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Number of processes, each with its own Spark.",
)
@click.option(
    "--drop-missed",
    is_flag=True,
    help="Stop looking for a fault after the first seed that misses it: it is not solved, and misses take longest.",
)
@click.option("--shrink", "with_shrinking", is_flag=True, help="Also shrink one case per fault.")
@click.option(
    "--floor",
    type=FiniteRange(0, 1),
    default=DEFAULT_FLOOR,
    show_default=True,
    help="Minimum share of solved faults; below it the run is inconclusive (exit code 4).",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save each seed's result to FILE, and reuse results in it that the same code produced.",
)
@markdown_option
@html_option
@json_option
def selfcheck(
    *,
    names: tuple[str, ...],
    as_list: bool,
    seeds: int,
    first_seed: int,
    max_cases: int,
    max_seconds: float | None,
    scopes: tuple[str, ...],
    pairs: int | None,
    jobs: int,
    drop_missed: bool,
    with_shrinking: bool,
    floor: float,
    results: Path | None,
    markdown: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> int:
    """Run mutants of the PySpark merge, and count the random cases until each is found."""
    chosen_scopes = Scopes(scopes, pairs) if scopes else None
    faults = of_rows(chosen(names)) if scopes else chosen(names)
    if as_list:
        _list(faults, with_changes=bool(names), as_json=as_json)
        return ExitCode.AGREE
    require_place()  # the processes that run Spark could only report that they did not start
    found = _run(
        faults,
        tuple(range(first_seed, first_seed + seeds)),
        max_cases=max_cases,
        ends=math.inf if max_seconds is None else time.monotonic() + max_seconds,
        jobs=jobs,
        drop_missed=drop_missed,
        with_shrinking=with_shrinking,
        path=results,
        scopes=chosen_scopes,
    )
    _show(found, markdown=markdown, as_json=as_json)
    code = ExitCode.AGREE if found.solved_share >= floor else ExitCode.INCONCLUSIVE
    if html_file is not None:
        write_html(html_file, selfcheck_page(found, floor=floor, code=code))
    return code


def _run(
    faults: Sequence[Fault],
    seeds: Sequence[int],
    *,
    max_cases: int,
    ends: float,
    jobs: int,
    drop_missed: bool,
    with_shrinking: bool,
    path: Path | None,
    scopes: Scopes | None,
) -> Score:
    kept = (
        None if path is None else KeptResults.of(path, faults, max_cases=max_cases, of=repr(scopes) if scopes else "")
    )
    latest = {result.seed: result for result in (kept.read() if kept else ())}
    known = [result for seed, result in latest.items() if seed in seeds]

    def told(result: SeedResult) -> None:
        if kept is not None:
            kept.add(result)
        notice(
            f"seed {result.seed}: {len(result.kills)} of {len(faults)} faults found in {result.num_cases} cases, "
            f"{result.num_runs} runs of a faulty merge, {result.seconds:.0f} s"
        )

    def told_size(shrunk: Shrunk | None) -> None:
        if shrunk is not None:
            notice(
                f"{shrunk.fault}: {shrunk.num_target_rows}+{shrunk.num_source_rows} rows, {shrunk.num_clauses} clauses "
                f"in {shrunk.seconds:.0f} s{', cut short by its limit' if shrunk.cut_short else ''}: {shrunk.sql}"
            )

    done = {result.seed for result in known if not result.is_cut_short}
    if done:
        notice(f"reused results of seeds {', '.join(map(str, sorted(done)))}")
    left = [seed for seed in seeds if seed not in done]
    results = [result for result in known if result.seed in done]
    if left:
        results += run_seeds(
            faults,
            left,
            max_cases=max_cases,
            jobs=jobs,
            listener=told,
            known=known,
            drop_missed=drop_missed,
            scopes=scopes,
            ends=ends,
        )
    minimal = shrink_faults(faults, results, jobs=jobs, listener=told_size) if with_shrinking else []
    return score(faults, results, max_cases=max_cases, shrunk=[one for one in minimal if one is not None])


def _show(found: Score, *, markdown: Path | None, as_json: bool) -> None:
    if markdown is not None:
        date = dt.datetime.now(dt.UTC).date().isoformat()
        write_page(markdown, score_text.markdown(found, date=date, version=importlib.metadata.version("mergecheck")))
    if as_json:
        emit_json(score_json(found))
        return
    show_table(score_text.rich_table(found))
    show("\n".join(score_text.summary_lines(found)))


def _list(faults: Sequence[Fault], *, with_changes: bool, as_json: bool) -> None:
    if as_json:
        emit_json({"faults": [_listed(fault) for fault in faults]})
        return
    for fault in faults:
        show(f"{fault.id}  ({fault.area.value})\n  {fault.summary}\n  {titled(fault.rules)}")
        if with_changes:
            show("\n".join(f"  {line}".rstrip() for line in diff(fault.changes)))
    show(f"{len(faults)} faults")


def _listed(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.id,
        "area": fault.area.value,
        "rules": list(fault.rules),
        "sentence": fault.summary,
        "origin": fault.origin,
        "changes": [{"function": one.function, "replace": one.replace, "by": one.by} for one in fault.changes],
    }


if __name__ == "__main__":
    sys.exit(main(command=selfcheck, name="selfcheck"))
