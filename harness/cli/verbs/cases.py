"""``mergecheck cases``: show saved cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.options import case_id_option, findings_option, json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.findings.corpus import find_case_file
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.report.sql_script import sql_script
from mergecheck.reference.case.case_file import case_to_json, load_cases

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def cases() -> None:
    """Show saved cases."""


@cases.command(name="show")
@click.argument("name", metavar="ID|FILE")
@case_id_option
@click.option("--sql", "as_sql", is_flag=True, help="Print a script for Spark SQL with Delta Lake.")
@findings_option("Where ids of findings are looked up.")
@json_option
def show_case(*, name: str, case_id: str | None, as_sql: bool, findings_directory: Path, as_json: bool) -> None:
    """Show one case: its tables and statement, a SQL script (--sql), or its case file (--json)."""
    if as_sql and as_json:
        raise click.UsageError("give either --sql or --json, not both")
    path = find_case_file(name, findings=FindingsDirectory(findings_directory))
    found = load_cases(path)
    if case_id is not None:
        found = tuple(case for case in found if case.id == case_id)
    if len(found) != 1:
        what = f"{len(found)} cases" if case_id is None else f"{len(found)} cases with the id {case_id!r}"
        raise UserInputError(f"{path} holds {what}; choose one with --id ID")
    case = found[0]
    if as_json:
        emit_json(case_to_json(case))
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
        show("\n".join(lines))
