"""``mergecheck run``: one case, or one merge on real tables, explained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.terminal import deviation_options, emit_json, engine_option, json_option, known_deviations, show
from harness.corpus import find_case_file
from harness.errors import ExitCode, UserInputError
from harness.explain import explain_lines
from harness.outcome_json import run_json
from harness.verdict import Verdict
from reference.case_file import load_cases, parse_cases

if TYPE_CHECKING:
    from harness.deviations import Deviations
    from harness.verdict import CaseReport
    from reference.case import Case

STANDARD_INPUT = "-"
EXIT_CODES = {
    Verdict.AGREE: ExitCode.AGREE,
    Verdict.BOTH_REJECTED: ExitCode.AGREE,
    Verdict.MISMATCH: ExitCode.MISMATCH,
    Verdict.UNSUPPORTED: ExitCode.INCONCLUSIVE,
    Verdict.ENGINE_ERROR: ExitCode.ENGINE,
}


@click.command()
@click.argument("case", required=False, metavar="[CASE]")
@engine_option()
@click.option("--id", "case_id", metavar="ID", help="The case to run, where the file holds several.")
@click.option("--target", type=click.Path(path_type=Path), metavar="DELTA_DIR", help="A real table; it is only read.")
@click.option(
    "--source", type=click.Path(path_type=Path), metavar="FILE", help="A .parquet or .csv file, or a Delta folder."
)
@click.option("--sql", metavar="MERGE", help="The statement; it calls the tables target and source.")
@deviation_options
@json_option
def run(
    *,
    case: str | None,
    engine_name: str,
    case_id: str | None,
    target: Path | None,
    source: Path | None,
    sql: str | None,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    as_json: bool,
) -> int:
    """Run one case and explain it: tables, statement, what the engine did, what the reference says.

    CASE is a case file, the id of a finding, or - for standard input. In its place, --target, --source and --sql check
    a merge of real tables, on a copy.
    """
    real = [option for option in (target, source, sql) if option is not None]
    if case is not None and real:
        raise click.UsageError("give either CASE or --target, --source and --sql")
    if target is not None and source is not None and sql is not None:
        return _run_real(engine_name, target=target, source=source, sql=sql, as_json=as_json)
    if case is None:
        raise click.UsageError("give CASE, or all of --target, --source and --sql")
    deviations = known_deviations(deviation_files, none=no_deviations)
    report = _check(_one_case(case, case_id), engine_name, deviations)
    if as_json:
        emit_json(run_json(report))
    else:
        show("\n".join(explain_lines(report)))
        for deviation in report.deviations:
            show(f"DEVIATES {deviation}: {deviations.reason(deviation)}")
    return ExitCode.AGREE if report.deviations else EXIT_CODES[report.verdict]


def _run_real(engine_name: str, *, target: Path, source: Path, sql: str, as_json: bool) -> int:
    from harness.real_input import RealInput, build_case, unchanged  # noqa: PLC0415 - deltalake and DuckDB load slowly
    from harness.real_report import real_json, real_lines  # noqa: PLC0415 - the same

    with unchanged(target):
        report = _check(build_case(RealInput(target=target, source=source, sql=sql)), engine_name, None)
    if as_json:
        emit_json(real_json(report))
    else:
        show("\n".join(real_lines(report, target=target, source=source)))
    return EXIT_CODES[report.verdict]


def _check(case: Case, engine_name: str, deviations: Deviations | None) -> CaseReport:
    from harness.session import NONE_KNOWN, check_one, open_engine  # noqa: PLC0415 - DuckDB and the engine load slowly

    with open_engine(engine_name) as engine:
        return check_one(case, engine, deviations or NONE_KNOWN)


def _one_case(name: str, case_id: str | None) -> Case:
    if name == STANDARD_INPUT:
        found = parse_cases(sys.stdin.read(), name="standard input", lines=False)
    else:
        found = load_cases(find_case_file(name))
    if case_id is not None:
        found = tuple(case for case in found if case.id == case_id)
    if len(found) != 1:
        what = f"{len(found)} cases" if case_id is None else f"{len(found)} cases with the id {case_id!r}"
        raise UserInputError(
            f"{name} holds {what}, run takes one: name it with --id ID, or check all with: mergecheck replay {name}"
        )
    return found[0]
