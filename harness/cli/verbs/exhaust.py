"""``mergecheck exhaust``: check every merge of a small scope on an engine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.html.exhaust import exhaust_page
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.options import (
    case_timeout_option,
    check_option,
    checks_named,
    deviation_options,
    engine_option,
    file_option,
    findings_option,
    jobs_option,
    json_option,
    known_deviations,
    max_time_option,
    on_spark_option,
    parse_range,
    quiet_option,
    require_new_certificate,
    spark_options,
)
from mergecheck.harness.cli.output.status_line import StatusLine
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.cli.verbs.fuzzing.in_parts import parts_progress, save_finding
from mergecheck.harness.deviations.audit import confirm
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.lab.exhaustive.exhaustive_run import RunOptions, run_oracles, run_parts_of_scope, run_scope
from mergecheck.harness.lab.exhaustive.exhaustive_text import certificate, document, lines
from mergecheck.harness.lab.exhaustive.scope_file import load_scope, scope_names
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report import events
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.search.on_spark import RunInParts
from mergecheck.harness.search.session import WARM_UP, reference_for, rerun_on, start_limit
from mergecheck.harness.verdict import Expressions, UserInputError
from mergecheck.model.formatting import counted
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.exhaustive.exhaustive_run import ExhaustiveReport
    from mergecheck.harness.lab.exhaustive.scope import Scope
    from mergecheck.harness.verdict import Check, ExitCode


PART_SIZE = 10
"""Statements of a part for ``--on-spark``: some thousand merges each."""
_JOURNAL = "exhaust.jsonl"


@click.command()
@engine_option
@click.option(
    "--scope",
    "scope_name",
    default="quick",
    show_default=True,
    metavar="NAME|FILE",
    help=f"The tables and statements: {', '.join(scope_names())}, or a file ending in .toml.",
)
@click.option(
    "--range",
    "range_text",
    metavar="A:B",
    help="Only the statements from number A to before B; without B, to the last one.",
)
@jobs_option("Check N statements at once; findings do not depend on N.")
@on_spark_option
@max_time_option
@file_option("--journal", "journal", "Add each statement's result to FILE, and skip the statements that it has.")
@file_option(
    "--certificate", "certificate_file", "Write the certificate to FILE; an existing file is never overwritten."
)
@click.option("--oracles-only", is_flag=True, help="Hold the row model against the reference; no engine runs.")
@case_timeout_option
@check_option
@findings_option("Where findings are saved.")
@spark_options
@deviation_options
@html_option
@quiet_option
@json_option
def exhaust(
    *,
    engine_name: str,
    scope_name: str,
    range_text: str | None,
    num_jobs: int,
    spark_master: str | None,
    max_seconds: float | None,
    journal: Path | None,
    certificate_file: Path | None,
    oracles_only: bool,
    case_seconds: float,
    check_names: tuple[str, ...],
    findings_directory: Path,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    html_file: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check every merge of small tables by every statement of a grammar: nothing is drawn.

    One MERGE holds all pairs of tables of a statement. Two oracles that share no code predict each.
    """
    scope = load_scope(scope_name)
    size = len(scope.statements)
    numbers = range(size) if range_text is None else parse_range(range_text, size=size, stream=f"scope {scope.name}")
    if certificate_file is not None:
        require_new_certificate(certificate_file)
    options = RunOptions(
        numbers=numbers, journal=journal, findings=findings_directory, num_jobs=num_jobs, max_seconds=max_seconds
    )
    deviations = known_deviations(deviation_files, none=no_deviations)
    checks = checks_named(check_names)
    if spark_master is not None:
        if oracles_only or max_seconds is not None or html_file is not None:
            raise click.UsageError(
                "--on-spark checks a whole range on an engine, and puts its parts together at the end: leave "
                "--oracles-only, --max-time and --html out"
            )
        flags = f"{rerun_on(engine_name, checks=checks, deviations=deviations).flags()} --case-timeout {case_seconds:g}"
        part_options = [
            *shlex.split(flags),
            *("--scope", str(Path(scope_name).resolve()) if scope_name.endswith(".toml") else scope_name),
            *(f"--deviations={file.resolve()}" for file in deviation_files),
        ]
        run = RunInParts(spark_master, engine_name, numbers, part_options, parts_progress(quiet=quiet))
        report = run_parts_of_scope(scope, options, lambda left: _journals(run, left))
        for finding in report.found:
            save_finding(FindingsDirectory(findings_directory), finding)
        return _show(report, certificate_file, as_json=as_json)
    with _Progress(scope, numbers, quiet=quiet) as progress:
        if oracles_only:
            report = run_oracles(scope, MergeReference().evaluate, options, on_piece=progress.count)
        else:
            report = _on_engine(
                engine_name,
                scope,
                options,
                deviations,
                limit=TimeLimit(seconds=case_seconds),
                checks=checks,
                progress=progress,
                as_json=as_json,
            )
    code = _show(report, certificate_file, as_json=as_json)
    if html_file is not None:
        write_html(html_file, exhaust_page(report, deviations=deviations))
    return code


def _journals(run: RunInParts, left: frozenset[int]) -> Iterator[str]:
    return run.results("exhaust", "--journal", _JOURNAL, size=PART_SIZE, file=_JOURNAL, wanted=left)


def _show(report: ExhaustiveReport, certificate_file: Path | None, *, as_json: bool) -> ExitCode:
    """Print a report, and write its certificate if a file is given."""
    if as_json:
        emit_json(document(report))
    else:
        show("\n".join(lines(report)))
    if certificate_file is not None:
        _write(certificate_file, report)
    return report.code


def _on_engine(
    engine_name: str,
    scope: Scope,
    options: RunOptions,
    deviations: Deviations,
    *,
    limit: TimeLimit,
    checks: frozenset[Check] | None,
    progress: _Progress,
    as_json: bool,
) -> ExhaustiveReport:
    def listen(event: events.Event) -> None:
        progress.take(event)
        if isinstance(event, events.FindingSaved) and not as_json:
            with progress.paused():
                shown = case_document(event.finding.report, finding=event.finding, where=event.path)
                show(mismatch_report(shown) + "\n")

    engine = engine_of_command(engine_name, limit)
    confirm(deviations, engine, notice)
    with interrupts_kept():  # the engine's start does not count
        run_limited(engine, WARM_UP, start_limit(engine_name, limit))
    checker = Checker(
        engine=engine,
        deviations=deviations,
        reference=reference_for(engine, Expressions.DUCKDB).evaluate,
        limit=limit,
        checks=checks,
        rerun=rerun_on(engine_name, checks=checks, deviations=deviations),
    )
    return run_scope(scope, checker, options, listener=listen)


def _write(path: Path, report: ExhaustiveReport) -> None:
    try:
        create(path, json.dumps(certificate(report), indent=2) + "\n")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --certificate FILE.") from error


class _Progress(StatusLine):
    """Shows how many statements and merges are done."""

    def __init__(self, scope: Scope, numbers: range, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._scope = scope
        self._numbers = numbers
        self._statements: set[str] = set()
        self._merges = 0
        self._doing = ""

    def take(self, event: events.Event) -> None:
        """Take an event of the run."""
        if isinstance(event, events.RunStarted):
            self.restart_wait()
            self.print(f"engine {event.engine} {event.engine_version}  scope {self._scope.name}")
        elif isinstance(event, events.CaseChecked):
            self._doing = ""
            self._statements.add(event.report.case.sql)
            self._merges = event.summary.counts.num_batched
        elif isinstance(event, events.ShrinkingStarted):
            self._doing = f"  shrinking {event.fingerprint}"
        elif isinstance(event, events.CaseSetAside):
            self.print(f"{event.kind.replace('_', ' ')}: {event.reason}\n  saved to {event.path}")
        self.print_periodically()

    def count(self, merges: int) -> None:
        """Take the number of merges that the oracles have judged."""
        self._merges = merges
        self.print_periodically()

    def line(self) -> str:
        statements = counted(len(self._numbers), "statement")
        return f"scope {self._scope.name}: {counted(self._merges, 'merge')} of {statements}{self._doing}"
