"""``mergecheck lab merge-runs``: the runs of several machines as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.options import FiniteRange, json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.findings.origin import origin_in
from mergecheck.harness.findings.store import EXAMPLES, FindingsDirectory
from mergecheck.harness.lab.exhaustive.exhaustive_run import ExhaustiveReport
from mergecheck.harness.lab.exhaustive.exhaustive_text import document, lines
from mergecheck.harness.lab.exhaustive.journal import (
    journal_text,
    merge_journals,
    read_journal,
    require_same,
)
from mergecheck.harness.lab.exhaustive.scope import load_scope
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.properties.limits import DEFAULT_FLOOR, DEFAULT_MAX_DEVIATING, Limits
from mergecheck.harness.properties.statistics import Stop
from mergecheck.harness.report.merged_runs import merge_runs, read_run
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.case_file import case_from_json
from mergecheck.model.case_id import with_content_id
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mergecheck.harness.report.merged_runs import MergedRuns

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
@click.option(
    "--floor",
    type=FiniteRange(0, 1),
    default=DEFAULT_FLOOR,
    show_default=True,
    help="Minimum share of verified cases of all runs together.",
)
@click.option(
    "--max-deviating",
    type=FiniteRange(0, 1),
    default=DEFAULT_MAX_DEVIATING,
    show_default=True,
    help="Maximum share of cases of all runs together that show known deviations.",
)
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
    floor: float,
    max_deviating: float,
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
    merged = merge_runs([read_run(file) for file in runs], Limits(floor=floor, max_deviating=max_deviating))
    for winner in merged.winners:
        winner["path"] = str(save_finding(findings, winner))
    for other in merged.others:
        save_finding(FindingsDirectory(findings.root / EXAMPLES), other)
    _create(into / FUZZ_FILE, json.dumps(merged.document, indent=1) + "\n")
    if as_json:
        emit_json(merged.document)
    else:
        show("\n".join(merged_lines(merged)))
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


def save_finding(findings: FindingsDirectory, finding: Mapping[str, Any]) -> Path:
    """Keep a finding that another machine has reported.

    Returns:
        Its file.

    Raises:
        CaseFormatError: its case is none.
        UserInputError: the folder cannot be written.
    """
    where = f"finding {finding['id']!r:.40}"
    case = with_content_id(case_from_json(finding["case_file"], where=where))
    lines = [line for mismatch in finding["mismatches"] for line in mismatch["lines"]]
    report = "\n".join([str(finding["fingerprint"]), *map(str, finding["hypotheses"]), "", *map(str, lines)])
    return findings.save(case, report, origin_in(finding["case_file"], where))


def merged_lines(merged: MergedRuns) -> Iterator[str]:
    """Write the runs as one for a person; findings come last."""
    run = merged.document
    first, end = run["range"]
    yield f"{run['engine_name']} {run['engine_version']}  seed {run['seed']}  numbers {first} to {end - 1} in " + (
        counted(run["runs"], "run")
    )
    counts = run["counts"] | {"deviates": run["deviating"]}
    verdicts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    pairs = f" ({run['table_pairs']:,} pairs of tables)" if run["batches"] else ""
    yield f"{counted(run['num_cases'], 'case')}{pairs}: {verdicts}"
    for sentence in run["inconclusive"]:
        yield f"inconclusive: {sentence}"
    for finding in merged.winners:
        what = f"acts {finding['hypotheses'][0]}" if finding["hypotheses"] else finding["fingerprint"]
        in_cases = counted(finding["num_cases"], "case")
        yield f"finding {finding['id']}  {what}  in {in_cases}, first number {finding['number']}  {finding['path']}"


def _merge_journals(
    files: Iterable[Path], into: Path, findings: FindingsDirectory, *, scope_name: str | None, as_json: bool
) -> ExitCode:
    read = {file: read_journal(file) for file in files}
    header = next(iter(read.values())).header
    for file, entries in read.items():
        require_same(file, entries.header, header)
    scope = load_scope(scope_name or header.scope)
    if scope.digest != header.digest:
        raise UserInputError(
            f"the journals are of another scope {header.scope} than {scope_name or 'the present one'}. Give --scope "
            "the file that the runs had, and use the version of mergecheck that they had."
        )
    merged = merge_journals(sorted(read.values(), key=lambda entries: min(entries.results, default=0)))
    _create(into / JOURNAL_FILE, journal_text(merged))
    for finding in merged.findings:
        save_finding(findings, finding)
    report = ExhaustiveReport(
        scope=scope,
        engine=header.engine,
        engine_version=header.engine_version,
        numbers=range(len(scope.statements)),
        results=dict(merged.results),
        stop=Stop.END,
        seconds=0.0,
        num_new=0,
    )
    if as_json:
        emit_json(document(report) | {"found": list(merged.findings)})
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
