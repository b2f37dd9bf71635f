"""``mergecheck fuzz``: check random cases until a budget is spent."""

from __future__ import annotations

import datetime as dt
import secrets
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.html.random_cases.fuzz import FuzzRun, fuzz_page
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.options import (
    batch_option,
    case_timeout_option,
    check_option,
    checks_named,
    deviation_options,
    engine_option,
    events_option,
    expressions_option,
    findings_option,
    jobs_option,
    json_option,
    known_deviations,
    limits_options,
    max_cases_option,
    max_time_option,
    observations_option,
    on_spark_option,
    oracle_option,
    parse_range,
    quiet_option,
    seed_option,
    spark_options,
    verbose_option,
)
from mergecheck.harness.cli.output.progress import Progress
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.cli.verbs.fuzzing.drawing import drawing_options
from mergecheck.harness.cli.verbs.fuzzing.earlier import earlier_runs_options
from mergecheck.harness.cli.verbs.fuzzing.in_parts import fuzz_in_parts, parts_progress
from mergecheck.harness.cli.verbs.fuzzing.result import FuzzResult
from mergecheck.harness.deviations.audit import confirm, warn_of_unused
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.processes.time_limit import DEFAULT_SECONDS, TimeLimit
from mergecheck.harness.properties.limits import DEFAULT_FLOOR
from mergecheck.harness.report import events
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.event_log import LogFiles
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.on_spark import RunInParts
from mergecheck.harness.search.session import (
    FuzzOptions,
    checks_each_alone,
    keep_crashed_cases,
    reference_for,
    rerun_on,
    run_fuzz,
)
from mergecheck.harness.verdict import Check, Expressions, Oracle

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.cli.verbs.fuzzing.drawing import Drawing
    from mergecheck.harness.cli.verbs.fuzzing.earlier import EarlierRuns
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.learning.learned import EngineKnowledge
    from mergecheck.harness.properties.limits import Limits
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.verdict import Rerun

DEFAULT_MAX_CASES = 500


@click.command()
@engine_option
@max_cases_option
@max_time_option
@case_timeout_option
@seed_option
@click.option(
    "--range",
    "range_text",
    metavar="A:B",
    help="Only the cases of the seed from number A to before B: the part of one of several machines.",
)
@click.option("--max-findings", type=click.IntRange(min=1), metavar="N", help="Stop after N different findings.")
@findings_option("Where findings are saved.")
@limits_options
@click.option("--steer", is_flag=True, help="Draw several cases at a time, and check the one that adds most coverage.")
@batch_option
@jobs_option("Check N cases at once; findings and their order do not depend on N.")
@on_spark_option
@drawing_options
@check_option
@oracle_option
@expressions_option
@spark_options
@deviation_options
@events_option
@observations_option
@html_option
@earlier_runs_options
@quiet_option
@verbose_option
@json_option
def fuzz(
    *,
    engine_name: str,
    max_cases: int | None,
    max_seconds: float | None,
    case_seconds: float,
    seed: int | None,
    range_text: str | None,
    max_findings: int | None,
    findings_directory: Path,
    limits: Limits,
    steer: bool,
    batch_size: int | None,
    num_jobs: int,
    spark_master: str | None,
    drawing: Drawing,
    check_names: tuple[str, ...],
    oracle_name: str,
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    events_file: Path | None,
    observations_file: Path | None,
    html_file: Path | None,
    earlier: EarlierRuns,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Check random cases until the budget is spent (500 cases if no budget is given)."""
    if steer and num_jobs > 1:
        raise click.UsageError(
            "--steer chooses each case by the coverage of all cases before it, so it checks one at a time: "
            "give either --steer or --jobs"
        )
    numbers = None if range_text is None else parse_range(range_text)
    if numbers is not None and (steer or seed is None):
        raise click.UsageError(
            "--range needs --seed N, and no --steer: other machines must draw the other cases of the same seed"
        )
    if max_cases is None and max_seconds is None and numbers is None:
        max_cases = DEFAULT_MAX_CASES
    if seed is None:
        seed = secrets.randbelow(2**31)
    expressions = Expressions(expressions_name)
    options = FuzzOptions(
        seed=seed,
        budget=Budget(max_cases=max_cases, max_seconds=max_seconds, max_findings=max_findings),
        findings=findings_directory,
        numbers=numbers,
        steer=steer,
        batch_size=batch_size,
        num_jobs=num_jobs,
        features_off=drawing.left_out,
        focus=frozenset(drawing.focus),
        boundary=drawing.boundary,
        expressions=expressions,
    )
    saved: list[events.FindingSaved] = []
    examples: list[events.FindingRepeated] = []
    deviations = known_deviations(deviation_files, none=no_deviations)
    checks = _Checks(
        deviations=deviations,
        oracle=Oracle(oracle_name),
        limit=TimeLimit(seconds=case_seconds),
        checks=checks_named(check_names),
        rerun=rerun_on(engine_name, expressions=expressions, checks=checks_named(check_names), deviations=deviations),
        known=drawing.known,
    )
    flags = "" if oracle_name == Oracle.REFERENCE.value else f" --oracle {oracle_name}"
    flags += "" if case_seconds == DEFAULT_SECONDS else f" --case-timeout {case_seconds:g}"
    flags += "" if limits.floor == DEFAULT_FLOOR else f" --floor {limits.floor:g}"
    flags += " --steer" if steer else ""
    flags += drawing.flags()
    if spark_master is not None:
        if numbers is None or any((max_cases, max_seconds, max_findings, html_file, events_file, observations_file)):
            raise click.UsageError(
                "--on-spark needs --range A:B and --seed N, and no --max-cases, --max-time, --max-findings, --html, "
                "--events or --observations: the parts of the range are checked whole, and put together at the end"
            )
        own = f"{checks.rerun.flags()}{flags} --seed {seed}" + ("" if batch_size is None else f" --batch {batch_size}")
        part_options = [*shlex.split(own), *(f"--deviations={file.resolve()}" for file in deviation_files)]
        parts = RunInParts(spark_master, engine_name, numbers, part_options, parts_progress(quiet=quiet))
        return fuzz_in_parts(parts, FindingsDirectory(findings_directory), limits, as_json=as_json)
    files = LogFiles(events=events_file, observations=observations_file)
    output = _Output(files=files, quiet=quiet, verbose=verbose, as_json=as_json)
    started = dt.datetime.now(dt.UTC)
    summary, named = _run(engine_name, options, checks, output, saved=saved, examples=examples)
    num_cases = max(1, summary.counts.num_cases)
    if numbers is None:
        is_default = summary.batch_size == 1 and checks_each_alone(num_cases, checks.oracle)
    else:
        is_default = batch_size is None
    flags += "" if is_default else f" --batch {summary.batch_size}"
    which = f"--max-cases {num_cases}" if numbers is None else f"--range {numbers.start}:{numbers.stop}"
    result = FuzzResult(
        engine=engine_name,
        engine_name=named.name,
        engine_version=named.version,
        started=started,
        summary=summary,
        saved=tuple(saved),
        examples=tuple(examples),
        limits=limits,
        earlier=earlier,
        again=f"mergecheck fuzz{checks.rerun.flags()}{flags} --seed {seed} {which}",
        numbers=numbers,
    )
    if as_json:
        emit_json(result.document())
    else:
        result.show(verbose=verbose)
    if html_file is not None:
        about = FuzzRun(
            engine=f"{engine_name} {named.version}".rstrip(),
            limits=limits,
            missed=result.missed,
            again=result.again,
            runs=(*earlier.history, result.figures) if earlier.history else (),
        )
        write_html(html_file, fuzz_page(summary, saved, run=about, deviations=deviations, code=result.code))
    return result.code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checks:
    """How each case is checked."""

    deviations: Deviations
    oracle: Oracle
    limit: TimeLimit
    checks: frozenset[Check] | None
    rerun: Rerun
    known: EngineKnowledge | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    """Output options."""

    files: LogFiles
    quiet: bool
    verbose: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """An engine with its own name and version."""

    name: str
    version: str


def _run(
    engine_name: str,
    options: FuzzOptions,
    how: _Checks,
    output: _Output,
    *,
    saved: list[events.FindingSaved],
    examples: list[events.FindingRepeated],
) -> tuple[Summary, _Named]:
    """Run, and return the counts and the engine's own name."""

    def keep(event: events.Event) -> None:
        if isinstance(event, events.FindingRepeated) and event.example is not None:
            examples.append(event)
        if isinstance(event, events.FindingSaved):
            saved.append(event)
            if not output.as_json:
                with progress.paused():
                    document = case_document(event.finding.report, finding=event.finding, where=event.path)
                    show(mismatch_report(document, verbose=output.verbose) + "\n")

    for path, what in keep_crashed_cases(FindingsDirectory(options.findings)):
        notice(f"crashed: {what}\n  saved to {path}")
    name = f"mergecheck fuzz{how.rerun.flags()}"
    with output.files.open(name) as log, Progress(quiet=output.quiet) as progress:
        progress.starting(f"engine {engine_name}")
        engine = engine_of_command(engine_name, how.limit)
        if how.known is not None and (remark := how.known.remark_on(engine)):
            notice(remark)
        confirm(how.deviations, engine, notice)
        checker = Checker(
            engine=engine,
            deviations=how.deviations,
            oracle=how.oracle,
            reference=reference_for(engine, options.expressions).evaluate,
            limit=how.limit,
            checks=how.checks,
            rerun=how.rerun,
        )
        summary = run_fuzz(checker, options, listener=events.broadcast(progress, log, keep))
        if output.verbose:
            warn_of_unused(how.deviations, engine, summary.counts.deviations.keys(), notice)
        return summary, _Named(name=engine.name, version=engine.version)
