"""``mergecheck engine conform``: run the fixed conformance suite, print a table by feature, write a certificate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from rich.table import Table

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import (
    LEARNED,
    case_timeout_option,
    file_option,
    json_option,
    require_new_certificate,
)
from mergecheck.harness.cli.output.terminal import emit_json, show, show_table
from mergecheck.harness.cli.verbs.engines.learn import changes_since, learned_about, write_learned
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.lab.conformance import Mark, certificate, counts, failed_checks
from mergecheck.harness.lab.conformance import conform as run_suite
from mergecheck.harness.lab.learning.learned import read_knowledge
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.json import checks_not_made
from mergecheck.harness.report.mismatch import difference_lines
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import ExitCode, UserInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.lab.conformance import Result

_MOST_LINES = 4


@click.command()
@click.argument("engine_name", metavar="ENGINE")
@file_option(
    "--certificate", "certificate_file", "Write the certificate to FILE; an existing file is never overwritten."
)
@file_option(
    "--learned",
    "learned_file",
    "Also find out by tiny cases what ENGINE takes and refuses, and write it to FILE for fuzz --capabilities.",
    over=LEARNED,
)
@file_option(
    "--check-learned",
    "known_file",
    "Also find out whether ENGINE still takes and refuses what FILE has (exit code 1 if not).",
)
@case_timeout_option
@json_option
def conform(
    *,
    engine_name: str,
    certificate_file: Path | None,
    learned_file: Path | None,
    known_file: Path | None,
    case_seconds: float,
    as_json: bool,
) -> int:
    """Run a fixed suite of cases over every feature of MERGE on ENGINE: pass, fail or unsupported."""
    known = None if known_file is None else read_knowledge(known_file)
    deviations = load_deviations()
    if certificate_file is not None:
        require_new_certificate(certificate_file)
    limit = TimeLimit(seconds=case_seconds)
    engine = engine_of_command(engine_name, limit)
    checker = Checker(engine=engine, deviations=deviations, limit=limit)
    results = list(run_suite(engine, lambda case, _: checker.check_case(case)))
    document = certificate(engine, results)
    title = f"{engine.name} {engine.version}"
    if certificate_file is not None:
        _write(certificate_file, document)
    now = None if learned_file is None and known is None else learned_about(engine, limit)
    if now is not None and learned_file is not None:
        write_learned(learned_file, now)
    changed = () if now is None or known is None else changes_since(known, now)
    if as_json:
        emit_json(document | ({} if known is None else {"learned_changed": list(changed)}))
    else:
        _print_result(title, results)
        for line in changed:
            show(f"changed  {printable(line)}")
    code = exit_code(results)
    return ExitCode.MISMATCH if changed and code in (ExitCode.AGREE, ExitCode.INCONCLUSIVE) else code


def exit_code(results: Sequence[Result]) -> ExitCode:
    """Return the exit code of a suite; a failure outweighs an engine error. Without any pass it is inconclusive."""
    marks = {result.mark for result in results}
    if Mark.FAIL in marks:
        return ExitCode.MISMATCH
    if Mark.ERROR in marks:
        return ExitCode.ENGINE
    return ExitCode.AGREE if Mark.PASS in marks else ExitCode.INCONCLUSIVE


def _print_result(title: str, results: Sequence[Result]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for heading in ("feature", *(mark.value for mark in Mark)):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for feature, marks in counts(results).items():
        table.add_row(feature, *(str(marks[mark] or ".") for mark in Mark))
    show_table(table)
    show("")
    for result in results:
        if result.mark is not Mark.PASS:
            known = f"known: {', '.join(result.report.deviations)}" if result.report.deviations else ""
            why = result.report.reason or known
            show(f"{result.mark.value.upper()}  {result.feature}/{result.name}   {why}".rstrip())
            for line in difference_lines(case_document(result.report).differences)[:_MOST_LINES]:
                show(f"  {line}")
    passed = sum(result.mark is Mark.PASS for result in results)
    failed = ", ".join(f"{check} {number}" for check, number in failed_checks(results).most_common())
    show(f"\n{passed} of {len(results)} cases passed{f'; failed checks: {failed}' if failed else ''}")
    missing = checks_not_made([result.report for result in results if result.mark is Mark.PASS]).most_common()
    if missing:
        show(f"of those, not checked, or not in full: {', '.join(f'{check} in {number}' for check, number in missing)}")


def _write(path: Path, document: dict[str, object]) -> None:
    try:
        create(path, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --certificate FILE.") from error
