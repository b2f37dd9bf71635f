"""``mergecheck lab merge-runs``: the runs of several machines as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.options import json_option, limits_options
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.fuzzing.in_parts import keep_findings, save_finding, show_merged
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.lab.exhaustive.exhaustive_run import report_of
from mergecheck.harness.lab.exhaustive.exhaustive_text import document, lines
from mergecheck.harness.lab.exhaustive.journal import (
    journal_text,
    merge_journals,
    read_journal,
    require_same,
    require_scope,
)
from mergecheck.harness.lab.exhaustive.scope_file import load_scope, scope_names
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.report.merged_runs import merge_runs, read_run
from mergecheck.harness.verdict import ExitCode, UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.properties.limits import Limits

FUZZ_FILE = "fuzz.json"
JOURNAL_FILE = "exhaust.jsonl"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True), metavar="PATH...")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help=f"Write the result here: {FUZZ_FILE} or {JOURNAL_FILE}, and the findings.",
)
@limits_options
@click.option(
    "--scope",
    "scope_name",
    metavar="FILE",
    help="The scope of the journals, if it is a file of your own.",
)
@json_option
def merge_runs_of_machines(
    *,
    paths: tuple[Path, ...],
    into: Path,
    limits: Limits,
    scope_name: str | None,
    as_json: bool,
) -> int:
    """Put runs of several machines together: fuzz --range A:B --json, or the journals of exhaust --range A:B.

    PATH is a result, a journal, or a folder of them. Counts are added up, and of the cases of a finding the one with
    the lowest number wins, so that the result does not depend on which machine ran which range.
    """
    files = [file for path in paths for file in _files(path)]
    journals = [file for file in files if file.suffix == ".jsonl"]
    runs = [file for file in files if file.suffix != ".jsonl"]
    if bool(journals) == bool(runs):
        raise UserInputError(
            f"{len(runs)} results of fuzz (.json) and {len(journals)} journals of exhaust (.jsonl) were given. "
            "Give results of one of the two verbs."
        )
    findings = FindingsDirectory(into / "findings")
    if journals:
        return _merge_journals(journals, into, findings, scope_name=scope_name, as_json=as_json)
    merged = merge_runs([read_run(file) for file in runs], limits)
    keep_findings(merged, findings)
    _create(into / FUZZ_FILE, json.dumps(merged.document, indent=1) + "\n")
    show_merged(merged, as_json=as_json)
    return merged.code


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(file for file in path.iterdir() if file.name in {FUZZ_FILE, JOURNAL_FILE})
    if not found:
        raise UserInputError(
            f"{path} has no {FUZZ_FILE} and no {JOURNAL_FILE}. Write one by: mergecheck fuzz --seed 1 --range 0:100 "
            f"--json > {path / FUZZ_FILE}, or name the files."
        )
    yield from found


def _merge_journals(
    files: Iterable[Path], into: Path, findings: FindingsDirectory, *, scope_name: str | None, as_json: bool
) -> ExitCode:
    read = {file: read_journal(file) for file in files}
    header = next(iter(read.values())).header
    for file, entries in read.items():
        require_same(file, entries.header, header)
    if scope_name is None and header.scope not in scope_names():
        raise UserInputError(
            f"the journals are of the scope {header.scope!r}, which does not come with mergecheck. Give its file with "
            "--scope FILE."
        )
    scope = load_scope(scope_name or header.scope)
    require_scope(header, scope)
    merged = merge_journals(sorted(read.values(), key=lambda entries: min(entries.results, default=0)))
    _create(into / JOURNAL_FILE, journal_text(merged))
    for finding in merged.findings:
        save_finding(findings, finding)
    report = report_of(scope, merged, range(len(scope.statements)))
    if as_json:
        emit_json(document(report))
    else:
        show("\n".join(lines(report)))
    return report.code


def _create(path: Path, text: str) -> None:
    try:
        create(path, text, parents=True)
    except FileExistsError as error:
        raise UserInputError(f"{path} is there already, and not overwritten. Give --into another folder.") from error
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Give --into another folder.") from error
