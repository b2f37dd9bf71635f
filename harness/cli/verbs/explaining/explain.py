"""``mergecheck explain``: explain row by row how a case gets its result, and what an engine's other result implies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import (
    case_id_option,
    case_timeout_option,
    deviation_options,
    expressions_option,
    json_option,
    known_deviations,
    spark_options,
    trust_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, show, text_width
from mergecheck.harness.cli.verbs.explaining.one_case import STANDARD_INPUT, one_case
from mergecheck.harness.engines.spark_values.on_demand import SparkNotStarted
from mergecheck.harness.explanation.explanation_text import MOST_EVALUATED_PAIRS
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.properties.source_tables import most_source_rows
from mergecheck.harness.report.document import CaseDocument, case_document
from mergecheck.harness.report.explain import row_lines
from mergecheck.harness.report.explanation_json import explanation_json
from mergecheck.harness.search.session import reference_for, rerun_on
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.variants.variant import without_variant
from mergecheck.harness.verdict import ExitCode, Expressions, UserInputError, Verdict
from mergecheck.model.outcome import Unsupported
from mergecheck.reference import MergeReference
from mergecheck.reference.dialects import DIALECTS

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.dialects import Dialect

_MOST_DIALECTS = 2


@click.command()
@click.argument("case", metavar="CASE")
@click.option(
    "--engine",
    "engine_name",
    metavar="NAME",
    help="Also run this engine, and say what its result implies if it differs: a registered name, or "
    "package.module:Class. Without it only the reference is asked, and no engine starts.",
)
@click.option(
    "--dialect",
    "dialect_names",
    metavar="NAME",
    type=click.Choice(list(DIALECTS)),
    multiple=True,
    help="The rule for several matches of a target row: explain the case by it. Twice: also show what changes if the "
    f"statement moves from the first to the second. One of: {', '.join(DIALECTS)}.",
)
@case_id_option
@click.option("--pairs", "with_pairs", is_flag=True, help="Show the value of ON for every pair of rows.")
@expressions_option
@case_timeout_option
@spark_options
@deviation_options
@trust_option
@json_option
def explain(
    *,
    case: str,
    engine_name: str | None,
    dialect_names: tuple[str, ...],
    case_id: str | None,
    with_pairs: bool,
    expressions_name: str,
    case_seconds: float,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    trust: bool,
    as_json: bool,
) -> int:
    """Explain one case row by row: matches, conditions, the clause that applied, files and path.

    CASE is a case file, the id of a finding, or - for standard input.
    """
    if dialect_names and engine_name is not None:
        raise UserInputError("--dialect goes without --engine: an engine declares its own dialect. Leave one out")
    if len(dialect_names) > _MOST_DIALECTS:
        raise UserInputError(f"--dialect was given {len(dialect_names)} times; give it once, or twice for a move")
    chosen = one_case(case, case_id, trust=trust, verb="explain")
    expressions = Expressions(expressions_name)
    report: CaseReport | None = None
    hypotheses: tuple[str, ...] = ()
    by_dialect: list[Reference] = []
    if engine_name is None:
        alone = _reference_alone(expressions)
        by_dialect = [_evaluated(chosen, alone, dialect=DIALECTS[name]) for name in dialect_names]
        reference = by_dialect[0] if by_dialect else _evaluated(chosen, alone)
    else:
        deviations = known_deviations(deviation_files, none=no_deviations)
        limit = TimeLimit(seconds=case_seconds)
        report, reference, hypotheses = _checked(chosen, engine_name, expressions, deviations, limit)
    where = None if case == STANDARD_INPUT else case
    document = (
        CaseDocument(case=chosen, reference=reference, report=None)
        if report is None
        else replace(
            case_document(report, hypotheses=hypotheses, where=where, case_id=case_id), case=chosen, reference=reference
        )
    )
    if as_json:
        emit_json(explanation_json(document, with_pairs=with_pairs, by_dialect=by_dialect))
    else:
        show("\n".join(row_lines(document, width=text_width() - 2, with_pairs=with_pairs, by_dialect=by_dialect)))
    return _exit_code(reference, report)


def _reference_alone(expressions: Expressions) -> MergeReference:
    if expressions is Expressions.DUCKDB:
        return MergeReference()
    if expressions is Expressions.AUTO:  # without an engine nothing is started
        return MergeReference(SparkNotStarted())
    from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator  # noqa: PLC0415 - it imports PySpark, which takes its time

    return MergeReference(SparkEvaluator(), always=True)


def _evaluated(case: Case, reference: MergeReference, *, dialect: Dialect | None = None) -> Reference:
    """Evaluate a case, with the value of ON for every pair of rows if the tables are small.

    A variant changes nothing that the reference knows of.
    """
    case = without_variant(case)
    num_pairs = len(case.target.rows) * most_source_rows(case)
    return reference.evaluate(case, dialect=dialect, every_pair=num_pairs <= MOST_EVALUATED_PAIRS)


def _checked(
    case: Case, engine_name: str, expressions: Expressions, deviations: Deviations, limit: TimeLimit
) -> tuple[CaseReport, Reference, tuple[str, ...]]:
    engine = engine_of_command(engine_name, limit)
    reference = reference_for(engine, expressions, starts_spark=True)
    checker = Checker(
        engine=engine,
        deviations=deviations,
        reference=reference.evaluate,
        limit=limit,
        rerun=rerun_on(engine_name, expressions=expressions, deviations=deviations),
    )
    report = check_saved(case, checker)
    return report, _evaluated(report.case, reference), checker.hypotheses(report)


def _exit_code(reference: Reference, report: CaseReport | None) -> ExitCode:
    if report is None:
        return ExitCode.INCONCLUSIVE if isinstance(reference.answer, Unsupported) else ExitCode.AGREE
    codes = {
        Verdict.MISMATCH: ExitCode.AGREE if report.deviations else ExitCode.MISMATCH,
        Verdict.JUDGED_IN_PART: ExitCode.INCONCLUSIVE,
        Verdict.UNSUPPORTED: ExitCode.INCONCLUSIVE,
        Verdict.ENGINE_ERROR: ExitCode.ENGINE,
    }
    return codes.get(report.verdict, ExitCode.AGREE)
