"""``mergecheck run``: check and explain one case, or one merge of the user's own tables."""

from __future__ import annotations

import contextlib
import shlex
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import NONE_KNOWN, Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.html.saved_cases import ShownCase, own_facts, run_page
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
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.explaining.one_case import STANDARD_INPUT, one_case
from mergecheck.harness.cli.verbs.saved.one_saved import write_case
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.findings.origin import case_text, origin_of
from mergecheck.harness.lab.scoreboard.majority_vote import odd_json, odd_lines, silent_lines, votes
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.explain import explain_lines
from mergecheck.harness.report.json import run_json
from mergecheck.harness.report.table_merge import OwnTables, own_table_json
from mergecheck.harness.search.session import reference_for, rerun_on
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import EXIT_CODES, ExitCode, Expressions, UserInputError
from mergecheck.model.formatting import LINE_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.delta.import_table import RealInput
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Capabilities, Engine
    from mergecheck.harness.lab.scoreboard.majority_vote import Vote
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.harness.verdict import CaseReport, Check, Rerun
    from mergecheck.model.case import Case

    Checked = tuple[CaseReport, Capabilities, tuple[str, ...]]

MAX_SAVED_ROWS = 10_000
"""A case file is read, compared and shown whole."""

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
@click.option(
    "--save",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CASE.json",
    help="Keep your own tables and the statement as a case file; it holds all their rows.",
)
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
    saved: Path | None,
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
    given = [option for option in (target, source, sql) if option is not None]
    if case is not None and given:
        raise click.UsageError("give either CASE or --target, --source and --sql")
    tables = None
    if target is not None and source is not None and sql is not None:
        from mergecheck.harness.delta.import_table import RealInput  # noqa: PLC0415 - it needs an extra, cases do not

        tables = RealInput(target=target, source=source, sql=sql)
    if case is None and tables is None:
        raise click.UsageError("give CASE, or all of --target, --source and --sql")
    if saved is not None and tables is None:
        raise click.UsageError("--save keeps your own tables as a case: give it with --target, --source and --sql")
    how = _How(Expressions(expressions_name), TimeLimit(seconds=case_seconds), checks_named(check_names))
    deviations = known_deviations(deviation_files, none=no_deviations)
    with contextlib.ExitStack() as stack:
        if tables is None:
            checked_case = one_case(case or "", case_id, trust=trust, verb="run")
        else:
            checked_case = stack.enter_context(_own_case(tables, saved, trust=trust))
        checked = _check_all(checked_case, engine_names, how, deviations)
    reports, found = [report for report, _, _ in checked], _votes(checked)
    own: OwnTables | None = None
    where: Path | str | None = None if case == STANDARD_INPUT else case
    if tables is not None:
        if saved is not None:
            write_case(saved, case_text(checked_case, origin_of(reports[0], found_by="run", engine=engine_names[0])))
        command = _command(tables, engine_names, reports[0].rerun, deviation_files) + (" --trust" if trust else "")
        own, where = OwnTables(target=tables.target, source=tables.source, command=command, saved=saved), saved
    shown = [case_document(report, where=where, hypotheses=hypotheses) for report, _, hypotheses in checked]
    if as_json:
        engines = [run_json(document) if own is None else own_table_json(document, own) for document in shown]
        emit_json(engines[0] if len(engines) == 1 else {"engines": engines, "majority_vote": odd_json(found)})
    else:
        _print_result(shown, found, deviations, own)
    # a mismatch outweighs an engine that failed, and that outweighs a case that could not be checked
    code = max((_exit_code(report) for report in reports), key=_WEIGHTS.index)
    if html_file is not None:
        cases = [ShownCase(document=document) for document in shown]
        facts = () if own is None else own_facts(own)
        write_html(html_file, run_page(cases, votes=found, deviations=deviations, code=code, facts=facts))
    return code


def _exit_code(report: CaseReport) -> ExitCode:
    return ExitCode.AGREE if report.deviations else EXIT_CODES[report.verdict]


def _votes(checked: list[Checked]) -> tuple[Vote, ...]:
    reports, capabilities = [report for report, _, _ in checked], [each for _, each, _ in checked]
    return votes(reports, capabilities, min_parties=2)


def _print_result(
    shown: list[CaseDocument], found: tuple[Vote, ...], deviations: Deviations, own: OwnTables | None
) -> None:
    for number, document in enumerate(shown):
        show(("\n" if number else "") + "\n".join(explain_lines(document, own=own)))
        for deviation in document.checked.deviations:
            reason = f"DEVIATES {deviation}: {deviations.reason(deviation)}"
            show(textwrap.fill(reason, LINE_WIDTH, subsequent_indent="  ", break_on_hyphens=False))
            show(f"  {deviations.link(deviation)}")
    if len(shown) > 1:
        agree = ["all that answered agree"] if found else ["fewer than two answers"]
        lines = (odd_lines(found) or agree) + silent_lines([document.checked for document in shown])
        show("\n" + "\n".join(["parties", *(f"  {line}" for line in lines)]))


@contextlib.contextmanager
def _own_case(given: RealInput, saved: Path | None, *, trust: bool) -> Iterator[Case]:
    """Make a case of the user's tables, which must stay as they are while it is checked."""
    from mergecheck.harness.delta.import_table import build_case, unchanged  # noqa: PLC0415 - see run

    with unchanged(given.target):
        case = build_case(given)
        if not trust:  # the log of a table has texts that engines evaluate, and may be a stranger's
            require_harmless(case, f"--target {given.target}", own_statement=True)
        num_rows = len(case.target.rows) + (0 if case.source is None else len(case.source.rows))
        if saved is not None and saved.exists():
            raise UserInputError(f"--save {saved}: the file is there already. Give another file, or remove it.")
        if saved is not None and num_rows > MAX_SAVED_ROWS:
            raise UserInputError(
                f"--save {saved}: the tables have {num_rows:,} rows together, a case file takes {MAX_SAVED_ROWS:,}. "
                "Leave --save out: the report has the command that checks the merge again. For a case file give tables "
                "with fewer rows, such as those whose keys the differences name, or make a small case of the merge "
                "after it has run: mergecheck cases import"
            )
        yield case


def _command(given: RealInput, engine_names: tuple[str, ...], rerun: Rerun, files: tuple[Path, ...]) -> str:
    """Write the command that checks the merge of these tables again."""
    engines = "".join(f" --engine {shlex.quote(name)}" for name in engine_names)
    known = "".join(f" --deviations {shlex.quote(str(path))}" for path in files)
    tables = f"--target {shlex.quote(str(given.target))} --source {shlex.quote(str(given.source))}"
    return f"mergecheck run{engines}{replace(rerun, engine='').flags()}{known} {tables} --sql {shlex.quote(given.sql)}"


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
    # start all before the first case: engines on Spark share one session with all jars
    engines = [engine_of_command(name, how.limit) for name in engine_names]
    checkers = [how.checker(*named, deviations) for named in zip(engines, engine_names, strict=True)]
    return [_checked(case, checker) for checker in checkers]


def _checked(case: Case, checker: Checker) -> Checked:
    report = check_saved(case, checker)
    return report, checker.engine.capabilities, checker.hypotheses(report)
