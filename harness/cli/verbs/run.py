"""``mergecheck run``: check and explain one case, or one merge of the user's own tables."""

from __future__ import annotations

import contextlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import NONE_KNOWN, Checker
from mergecheck.harness.cli.options import (
    case_id_option,
    case_timeout_option,
    check_option,
    checks_named,
    deviation_options,
    expressions_option,
    json_option,
    known_deviations,
    spark_options,
    trust_option,
)
from mergecheck.harness.cli.output.html_file import html_option, write_html
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.explaining.one_case import STANDARD_INPUT, one_case
from mergecheck.harness.core.formatting import LINE_WIDTH
from mergecheck.harness.core.time_limit import TimeLimit
from mergecheck.harness.delta.import_table import RealInput, build_case, unchanged
from mergecheck.harness.errors import ExitCode
from mergecheck.harness.html_report.page import Fact
from mergecheck.harness.html_report.saved_cases import ShownCase, real_page, run_page
from mergecheck.harness.matrix.majority_vote import odd_json, odd_lines, silent_lines, votes
from mergecheck.harness.report.explain import explain_lines
from mergecheck.harness.report.json import run_json
from mergecheck.harness.report.table_merge import real_json, real_lines
from mergecheck.harness.session import open_engine, reference_for, rerun_on
from mergecheck.harness.trust.case import require_harmless
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import Expressions, Verdict

if TYPE_CHECKING:
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Capabilities, Engine
    from mergecheck.harness.matrix.majority_vote import Vote
    from mergecheck.harness.verdict import CaseReport, Check
    from mergecheck.reference.case.model import Case

    Checked = tuple[CaseReport, Capabilities, tuple[str, ...]]

EXIT_CODES = {
    Verdict.AGREE: ExitCode.AGREE,
    Verdict.BOTH_REJECTED: ExitCode.AGREE,
    Verdict.MISMATCH: ExitCode.MISMATCH,
    Verdict.UNSUPPORTED: ExitCode.INCONCLUSIVE,
    Verdict.ENGINE_ERROR: ExitCode.ENGINE,
}
_WEIGHTS = (ExitCode.AGREE, ExitCode.INCONCLUSIVE, ExitCode.ENGINE, ExitCode.MISMATCH)


@click.command()
@click.argument("case", required=False, metavar="[CASE]")
@click.option(
    "--engine",
    "engine_names",
    multiple=True,
    default=("pyspark",),
    show_default=True,
    metavar="NAME",
    help="A registered engine, or package.module:Class. Repeat it to compare engines and name the odd one out.",
)
@case_id_option
@click.option("--target", type=click.Path(path_type=Path), metavar="DELTA_DIR", help="A Delta table; it is only read.")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Source rows: a .parquet or .csv file, or a Delta table.",
)
@click.option("--sql", metavar="MERGE", help="The statement; it must call the tables target and source.")
@case_timeout_option
@check_option
@expressions_option
@spark_options
@deviation_options
@trust_option
@html_option
@json_option
def run(
    *,
    case: str | None,
    engine_names: tuple[str, ...],
    case_id: str | None,
    target: Path | None,
    source: Path | None,
    sql: str | None,
    case_seconds: float,
    check_names: tuple[str, ...],
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    trust: bool,
    html_file: Path | None,
    as_json: bool,
) -> int:
    """Check one case and explain it: tables, statement, the engine's result, the reference's result.

    CASE is a case file, the id of a finding, or - for standard input. Instead of CASE, --target, --source and --sql
    check a merge of your own tables, on a copy.
    """
    real = [option for option in (target, source, sql) if option is not None]
    if case is not None and real:
        raise click.UsageError("give either CASE or --target, --source and --sql")
    how = _How(Expressions(expressions_name), TimeLimit(seconds=case_seconds), checks_named(check_names))
    if target is not None and source is not None and sql is not None:
        if len(engine_names) > 1:
            raise click.UsageError("your own tables are merged by one engine at a time: give --engine once")
        given = RealInput(target=target, source=source, sql=sql)
        return _run_real(engine_names[0], how, given, trust=trust, html_file=html_file, as_json=as_json)
    if case is None:
        raise click.UsageError("give CASE, or all of --target, --source and --sql")
    deviations = known_deviations(deviation_files, none=no_deviations)
    checked = _check_all(one_case(case, case_id, trust=trust, verb="run"), engine_names, how, deviations)
    reports, found = [report for report, _, _ in checked], _votes(checked)
    if as_json and len(reports) == 1:
        emit_json(run_json(reports[0]))
    elif as_json:
        emit_json({"engines": [run_json(report) for report in reports], "majority_vote": odd_json(found)})
    else:
        _print_result(checked, found, deviations)
    # a mismatch outweighs an engine that failed, and that outweighs a case that could not be checked
    code = max((_exit_code(report) for report in reports), key=_WEIGHTS.index)
    if html_file is not None:
        where = None if case == STANDARD_INPUT else case
        cases = [ShownCase(report=report, where=where, readings=readings) for report, _, readings in checked]
        write_html(html_file, run_page(cases, votes=found, deviations=deviations, code=code))
    return code


def _exit_code(report: CaseReport) -> ExitCode:
    return ExitCode.AGREE if report.deviations else EXIT_CODES[report.verdict]


def _votes(checked: list[Checked]) -> tuple[Vote, ...]:
    reports, capabilities = [report for report, _, _ in checked], [each for _, each, _ in checked]
    return votes(reports, capabilities, min_parties=2)


def _print_result(checked: list[Checked], found: tuple[Vote, ...], deviations: Deviations) -> None:
    for number, (report, _, readings) in enumerate(checked):
        show(("\n" if number else "") + "\n".join(explain_lines(report, readings=readings)))
        for deviation in report.deviations:
            reason = f"DEVIATES {deviation}: {deviations.reason(deviation)}"
            show(textwrap.fill(reason, LINE_WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    if len(checked) > 1:
        agree = ["all that answered agree"] if found else ["fewer than two answers"]
        lines = (odd_lines(found) or agree) + silent_lines([report for report, _, _ in checked])
        show("\n" + "\n".join(["parties", *(f"  {line}" for line in lines)]))


def _run_real(
    engine_name: str, how: _How, given: RealInput, *, trust: bool, html_file: Path | None, as_json: bool
) -> int:
    with unchanged(given.target):
        case = build_case(given)
        if not trust:  # the log of a table has texts that engines evaluate, whoever wrote it
            require_harmless(case, f"--target {given.target}", own_statement=True)
        report = _check(case, engine_name, how)
    lines = real_lines(report, target=given.target, source=given.source)
    if as_json:
        emit_json(real_json(report))
    else:
        show("\n".join(lines))
    code = EXIT_CODES[report.verdict]
    if html_file is not None:
        facts = (
            Fact(name="Target", text=str(given.target), is_code=True),
            Fact(name="Source", text=str(given.source), is_code=True),
        )
        write_html(html_file, real_page(report, lines=lines, facts=facts, code=code))
    return code


@dataclass(frozen=True, slots=True)
class _How:
    """How a case is checked."""

    expressions: Expressions
    limit: TimeLimit
    checks: frozenset[Check] | None

    def checker(self, engine: Engine, name: str, deviations: Deviations = NONE_KNOWN) -> Checker:
        return Checker(
            engine=engine,
            deviations=deviations,
            reference=reference_for(engine, self.expressions, starts_spark=True).evaluate,
            limit=self.limit,
            checks=self.checks,
            rerun=rerun_on(name, expressions=self.expressions, checks=self.checks, deviations=deviations),
        )


def _check_all(case: Case, engine_names: tuple[str, ...], how: _How, deviations: Deviations) -> list[Checked]:
    with contextlib.ExitStack() as stack:
        # start all before the first case: engines on Spark share one session with all jars
        engines = [stack.enter_context(open_engine(name)) for name in engine_names]
        checkers = [how.checker(*named, deviations) for named in zip(engines, engine_names, strict=True)]
        return [_checked(case, checker) for checker in checkers]


def _checked(case: Case, checker: Checker) -> Checked:
    report = check_saved(case, checker)
    return report, checker.engine.capabilities, checker.readings(report)


def _check(case: Case, engine_name: str, how: _How) -> CaseReport:
    with open_engine(engine_name) as engine:
        return how.checker(engine, engine_name).check_case(case)
