"""``mergecheck cases diff --runs``: findings of a run that an earlier run of the same cases did not have."""

from __future__ import annotations

from pathlib import Path

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.report.ci.comparison import compare_results
from mergecheck.harness.report.ci.results import read_result
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("old", type=_FILE, metavar="OLD.json")
@click.argument("new", type=_FILE, metavar="NEW.json")
@json_option
def compare(*, old: Path, new: Path, as_json: bool) -> int:
    """Compare two results of fuzz --json or replay --json by fingerprint; only new differences fail (exit code 1)."""
    return compare_runs(old, new, as_json=as_json)


def compare_runs(old: Path, new: Path, *, as_json: bool) -> ExitCode:
    """Show the findings of one run that the other does not have.

    Returns:
        1 or 3 if the new run has differences, or errors alone, that the old one has not.

    Raises:
        UserInputError: a file is no result, or the runs did not check the same cases.
    """
    found = compare_results(read_result(old), read_result(new))
    only_errors = all(problem.endswith(": engine_error") for problem in found.new)
    code = (ExitCode.ENGINE if only_errors else ExitCode.MISMATCH) if found.new else ExitCode.AGREE
    if as_json:
        sorts = {"new": found.new, "gone": found.gone, "same": found.same}
        sorts |= {"not_checked": found.not_checked} if found.not_checked else {}
        emit_json({**{name: list(problems) for name, problems in sorts.items()}, "exit_code": int(code)})
        return code
    for word, problems in (("NEW", found.new), ("GONE", found.gone), ("SAME", found.same)):
        for problem in problems:
            show(f"{word:<5} {printable(problem)}")
    for problem in found.not_checked:
        show(f"NOT CHECKED {printable(problem)}")
    unseen = f", {len(found.not_checked)} not checked" if found.not_checked else ""
    show(f"{len(found.new)} new, {len(found.gone)} gone, {len(found.same)} the same{unseen}")
    return code
