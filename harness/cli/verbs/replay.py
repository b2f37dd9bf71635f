"""``mergecheck replay``: check saved cases again, one verdict each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.options import (
    case_timeout_option,
    deviation_options,
    engine_option,
    expressions_option,
    findings_option,
    json_option,
    known_deviations,
    oracle_option,
    spark_options,
    trust_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.core.time_limit import TimeLimit
from mergecheck.harness.deviations.audit import confirm
from mergecheck.harness.errors import ExitCode, UserInputError
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.report.json import num_by_spark, num_partly, rejection_classes, replay_json, unsupported_reasons
from mergecheck.harness.report.mismatch import difference_lines, mismatch_report
from mergecheck.harness.report.render import printable
from mergecheck.harness.session import open_engine, reference_for
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import Expressions, Oracle, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.findings.corpus import Corpus, SavedCase
    from mergecheck.harness.verdict import CaseReport

    Replayed = tuple[SavedCase, CaseReport, tuple[str, ...]]

MAX_SHORT_LINES = 4


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@engine_option
@findings_option("Where ids of findings are looked up.")
@case_timeout_option
@oracle_option
@expressions_option
@spark_options
@deviation_options
@trust_option
@json_option
def replay(
    *,
    paths: tuple[str, ...],
    engine_name: str,
    findings_directory: Path,
    case_seconds: float,
    oracle_name: str,
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    trust: bool,
    as_json: bool,
) -> int:
    """Check saved cases again: case files, folders of them, or ids of findings."""
    corpus = load_corpus(paths, trust=trust, findings=FindingsDirectory(findings_directory))
    for message in corpus.unreadable:
        notice(f"not read: {message}")
    if not corpus.cases:
        raise UserInputError("no case could be read; the messages above say why")
    deviations = known_deviations(deviation_files, none=no_deviations)
    with open_engine(engine_name) as engine:
        confirm(deviations, engine, notice)
        checker = Checker(
            engine=engine,
            deviations=deviations,
            oracle=Oracle(oracle_name),
            reference=reference_for(engine, Expressions(expressions_name)).evaluate,
            limit=TimeLimit(seconds=case_seconds),
        )
        reports, refused, interrupted = _check_all(corpus, checker)
    for message in refused:
        notice(f"not run: {message}")
    unreadable = (*corpus.unreadable, *refused)
    if as_json:
        emit_json(replay_json([report for _, report, _ in reports], unreadable))
    else:
        _print_result(reports, corpus)
    if interrupted:
        return ExitCode.INTERRUPTED
    # a known deviation does not fail a run
    verdicts = [Verdict.AGREE if report.deviations else report.verdict for _, report, _ in reports]
    return exit_code(verdicts, num_unreadable=len(unreadable))


def exit_code(verdicts: list[Verdict], *, num_unreadable: int) -> ExitCode:
    """Return the exit code of a replay; a run with unreadable cases never ends with 0."""
    if Verdict.MISMATCH in verdicts:
        return ExitCode.MISMATCH
    if num_unreadable:
        return ExitCode.USAGE
    if Verdict.ENGINE_ERROR in verdicts:
        return ExitCode.ENGINE
    if Verdict.AGREE not in verdicts and Verdict.BOTH_REJECTED not in verdicts:
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def _check_all(corpus: Corpus, checker: Checker) -> tuple[list[Replayed], list[str], bool]:
    """Check all cases; besides the reports, say which cases were refused, and whether Ctrl+C ended the run."""
    reports: list[Replayed] = []
    refused: list[str] = []
    try:
        for saved in corpus.cases:
            try:
                report = check_saved(saved.case, checker)
            except UserInputError as error:  # a value of a setting
                refused.append(f"{saved.path}: case {saved.case.id}: {error}")
                continue
            # of several cases, none is explained
            readings = checker.readings(report) if len(corpus.cases) == 1 else ()
            reports.append((saved, report, readings))  # no comprehension: reports before Ctrl+C are kept
    except KeyboardInterrupt:
        return reports, refused, True
    return reports, refused, False


def _print_result(reports: list[Replayed], corpus: Corpus) -> None:
    if len(reports) == 1 and len(corpus.cases) == 1 and reports[0][1].verdict is Verdict.MISMATCH:
        saved, report, readings = reports[0]
        show(mismatch_report(report, path=saved.path, readings=readings) + "\n")
    else:
        for saved, report, _ in reports:
            if report.deviations:
                show(f"DEVIATES  {printable(report.case.id)}  {saved.path}\n  {', '.join(report.deviations)}")
            elif report.verdict is Verdict.MISMATCH:
                show("\n".join(_short(saved, report)))
            elif report.verdict is Verdict.ENGINE_ERROR:
                show(f"ENGINE ERROR  {printable(report.case.id)}  {saved.path}\n  {printable(report.reason)}")
    _print_counts([report for _, report, _ in reports], corpus)


def _short(saved: SavedCase, report: CaseReport) -> list[str]:
    lines = difference_lines(report)
    shown = [f"  {line}" for line in lines[:MAX_SHORT_LINES]]
    more = [f"  ... {len(lines) - MAX_SHORT_LINES} more lines"] if len(lines) > MAX_SHORT_LINES else []
    return [f"MISMATCH  {printable(report.case.id)}  {saved.path}", *shown, *more]


def _print_counts(reports: list[CaseReport], corpus: Corpus) -> None:
    verdicts = [report.verdict for report in reports if not report.deviations]
    counts = [(verdict.value, verdicts.count(verdict)) for verdict in Verdict]
    counts.append(("deviates", len(reports) - len(verdicts)))
    counts += [("not run", len(corpus.cases) - len(reports)), ("not read", len(corpus.unreadable))]
    details = {
        Verdict.BOTH_REJECTED.value: rejection_classes(reports),
        Verdict.UNSUPPORTED.value: unsupported_reasons(reports),
        "deviates": Counter(name for report in reports for name in report.deviations),
    }
    for name, count in counts:
        if count or name == Verdict.AGREE.value:
            show(f"{name.replace('_', ' '):<14}{count:>6}")
        for reason, number in details.get(name, Counter()).most_common():
            show(f"    {number:>4}  {reason}")
    if num_asked := num_by_spark(reports):
        show(f"expressions by Spark in {num_asked}")
    if partly := num_partly(reports):
        show(f"partly judged {partly}: they store values that nobody can know")
