"""``mergecheck config ci``: results for a CI service, and workflows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.options import json_option, writable
from mergecheck.harness.cli.output.terminal import emit_json, emit_text, show
from mergecheck.harness.processes.output_files import append, write_text
from mergecheck.harness.report.ci.github import annotation_lines, step_summary
from mergecheck.harness.report.ci.junit import junit_xml
from mergecheck.harness.report.ci.results import read_result
from mergecheck.harness.report.ci.workflows import JOBS, WORKFLOWS, write_workflows
from mergecheck.harness.report.render import with_escapes
from mergecheck.harness.verdict import ExitCode, UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@click.group()
def ci() -> None:
    """Report results to a CI service, or write workflows for it."""


@ci.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE...")
@click.option(
    "--github", is_flag=True, help=f"Print annotations, and append a summary to ${SUMMARY_VARIABLE} if that is set."
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=writable(r"<\?xml|<testsuite"),
    metavar="FILE",
    help="Write a JUnit file.",
)
def report(*, results: tuple[Path, ...], github: bool, junit: Path | None) -> int:
    """Report what fuzz --json, replay --json or run --json wrote. Ends with 0: the run itself had the exit code."""
    if not github and junit is None:
        raise click.UsageError("give --github, --junit FILE, or both")
    found = [read_result(path) for path in results]
    if github:
        for line in annotation_lines(found):
            emit_text(f"{with_escapes(line)}\n")  # commands, on purpose; texts from cases are escaped in them
    try:
        summary = os.environ.get(SUMMARY_VARIABLE)
        if github and summary:
            append(Path(summary), step_summary(found))
        if junit is not None:
            write_text(junit, junit_xml(found), errors="backslashreplace")
    except OSError as error:
        raise UserInputError(f"cannot write the report: {error}") from error
    return ExitCode.AGREE


def _into(default: str) -> Callable[[Any], Any]:
    return click.option(
        "--into",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(default),
        show_default=True,
        metavar="DIR",
        help="Where to write them.",
    )


@ci.command()
@_into(".github/workflows")
@json_option
def github(*, into: Path, as_json: bool) -> int:
    """Write workflows for pull requests, nights, several machines and new engine versions; overwrite none."""
    return _write(into, WORKFLOWS, as_json=as_json)


@ci.command()
@_into(".")
@json_option
def kubernetes(*, into: Path, as_json: bool) -> int:
    """Write a job that checks the ranges of one run in several pods; overwrite none."""
    return _write(into, JOBS, as_json=as_json)


def _write(into: Path, names: tuple[str, ...], *, as_json: bool) -> ExitCode:
    files = [str(path) for path in write_workflows(into, names)]
    if as_json:
        emit_json({"files": files})
    else:
        show("\n".join(f"wrote {file}" for file in files) or "all files are there already")
    return ExitCode.AGREE
