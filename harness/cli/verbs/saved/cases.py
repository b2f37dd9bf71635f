"""``mergecheck cases``: list, show, compare and prune saved cases."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.options import case_id_option, findings_option, json_option
from mergecheck.harness.cli.output.terminal import emit_json, notice_unreadable, show
from mergecheck.harness.cli.verbs.project.compare import compare_runs
from mergecheck.harness.cli.verbs.saved.one_saved import one_saved
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.origin import case_text, origin_to_json
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.report.sql_script import sql_script
from mergecheck.harness.verdict import ExitCode
from mergecheck.model.case_file import ORIGIN_KEY, case_to_json

if TYPE_CHECKING:
    from mergecheck.harness.findings.corpus import Corpus, SavedCase
    from mergecheck.harness.findings.origin import Origin


@click.command(name="list")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@findings_option("The folder that is listed if no PATH is given, and where ids of findings are looked up.")
@json_option
def list_cases(*, paths: tuple[str, ...], findings_directory: Path, as_json: bool) -> int:
    """List saved cases: id, rows, who found them, how the engine differed, and their files."""
    if not paths and not any(findings_directory.rglob("*.json")):
        corpus: Corpus | None = None
    else:
        names = paths or (str(findings_directory),)
        corpus = load_corpus(names, trust=True, findings=FindingsDirectory(findings_directory))
    found = () if corpus is None else corpus.cases
    unreadable = () if corpus is None else corpus.unreadable
    notice_unreadable(unreadable)
    if as_json:
        emit_json({"cases": [_entry(saved) for saved in found], "unreadable": list(unreadable)})
    else:
        show("\n".join(line for saved in found for line in _lines(saved)) or f"no cases in {findings_directory}")
    return ExitCode.USAGE if unreadable else ExitCode.AGREE


@click.command(name="show")
@click.argument("name", metavar="ID|FILE")
@case_id_option
@click.option("--sql", "as_sql", is_flag=True, help="Print a script for Spark SQL with Delta Lake.")
@findings_option("Where ids of findings are looked up.")
@json_option
def show_case(*, name: str, case_id: str | None, as_sql: bool, findings_directory: Path, as_json: bool) -> None:
    """Show one case: its tables, statement and origin, a SQL script (--sql), or its case file (--json)."""
    if as_sql and as_json:
        raise click.UsageError("give either --sql or --json, not both")
    saved = one_saved(name, case_id, findings=FindingsDirectory(findings_directory), verb="cases show")
    case = saved.case
    if as_json:
        origin = {} if saved.origin is None else {ORIGIN_KEY: origin_to_json(saved.origin)}
        emit_json(case_to_json(case) | origin)
    elif as_sql:
        show(sql_script(case))
    else:
        lines = [
            f"case {printable(case.id)}",
            "",
            *table_lines(case),
            *settings_lines(case),
            "",
            *statement_lines(case.sql),
        ]
        if saved.origin is not None:
            lines += ["", *_origin_lines(saved.origin)]
        show("\n".join(lines))


@click.command(name="diff")
@click.argument("first", metavar="ID|FILE")
@click.argument("second", metavar="ID|FILE")
@click.option(
    "--runs",
    "are_runs",
    is_flag=True,
    help="Compare two results of fuzz --json or replay --json by fingerprint; only new differences fail (exit code 1).",
)
@findings_option("Where ids of findings are looked up.")
@json_option
def diff_cases(*, first: str, second: str, are_runs: bool, findings_directory: Path, as_json: bool) -> int:
    """Compare two cases: tables, statement, settings and expectation. Exit code 1 if they differ.

    The id and the origin have no meaning for the merge, and are not compared. With --runs: compare two runs.
    """
    if are_runs:
        return compare_runs(Path(first), Path(second), as_json=as_json)
    store = FindingsDirectory(findings_directory)
    saved = [one_saved(name, None, findings=store, verb="cases diff") for name in (first, second)]
    documents = [case_to_json(one.case) for one in saved]
    keys = sorted({*documents[0], *documents[1]} - {"id", "format_version"})
    different = [key for key in keys if documents[0].get(key) != documents[1].get(key)]
    if as_json:
        emit_json({"equal": not different, "different": different})
        return ExitCode.MISMATCH if different else ExitCode.AGREE
    if not different:
        show("equal")
        return ExitCode.AGREE
    before, after = (_plain_lines(one) for one in saved)
    fromfile, tofile = (printable(str(one.path)) for one in saved)
    show("\n".join(difflib.unified_diff(before, after, fromfile, tofile, lineterm="")))
    return ExitCode.MISMATCH


def _plain_lines(saved: SavedCase) -> list[str]:
    lines = case_text(saved.case, None).removesuffix("\n").split("\n")
    return [line for line in lines if not line.startswith('  "id": ')]


def _lines(saved: SavedCase) -> list[str]:
    target, source = num_rows(saved.case)
    lines = [f"{printable(saved.case.id)}  {target} + {source} rows  {printable(str(saved.path))}"]
    return lines + ([] if saved.origin is None else [f"  {line}" for line in _origin_lines(saved.origin)])


def _origin_lines(origin: Origin) -> list[str]:
    engine = f" on {origin.engine} {origin.engine_version}".rstrip() if origin.engine else ""
    draw = "" if origin.seed is None else f", seed {origin.seed}"
    draw += "" if origin.number is None else f", case {origin.number}"
    lines = [f"found by {origin.found_by} of mergecheck {origin.mergecheck}{engine}{draw}"]
    return [printable(line) for line in [*lines, *([str(origin.fingerprint)] if origin.fingerprint else [])]]


def _entry(saved: SavedCase) -> dict[str, object]:
    target, source = num_rows(saved.case)
    entry: dict[str, object] = {
        "id": saved.case.id,
        "path": str(saved.path),
        "target_rows": target,
        "source_rows": source,
    }
    return entry if saved.origin is None else entry | {ORIGIN_KEY: origin_to_json(saved.origin)}
