"""``mergecheck replay``: check saved cases again, one verdict each."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.html.saved_cases import ShownCase, replay_page
from mergecheck.harness.cli.options import (
    case_timeout_option,
    check_option,
    checks_named,
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
from mergecheck.harness.cli.output.terminal import emit_json, notice, notice_unreadable, show
from mergecheck.harness.deviations.audit import confirm
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.finding_status import FindingChange, FindingStatus, compare
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.baseline import FAILING, Word, read_saved_run
from mergecheck.harness.report.document import case_document, check_name
from mergecheck.harness.report.json import (
    num_by_spark,
    num_partly,
    reasons_of,
    rejection_classes,
    replay_json,
    work_of_reports,
)
from mergecheck.harness.report.mismatch import difference_lines, mismatch_report
from mergecheck.harness.report.render import printable
from mergecheck.harness.search.session import reference_for, rerun_on
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import ExitCode, Expressions, Oracle, UserInputError, Verdict
from mergecheck.model.formatting import LINE_WIDTH, counted

if TYPE_CHECKING:
    from mergecheck.harness.findings.corpus import Corpus, SavedCase
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.harness.verdict import CaseReport

MAX_SHORT_LINES = 4
_CHECK_WIDTH = 11


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A saved case that was checked again.

    Attributes:
        compared: what became of the finding; None if the case's file carries no difference.
    """

    saved: SavedCase
    report: CaseReport
    hypotheses: tuple[str, ...]
    compared: FindingChange | None

    @property
    def document(self) -> CaseDocument:
        """The check as a value that text and HTML page are drawn from."""
        return case_document(self.report, where=self.saved.path, hypotheses=self.hypotheses)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@engine_option
@findings_option("Where ids of findings are looked up.")
@case_timeout_option
@check_option
@oracle_option
@expressions_option
@spark_options
@deviation_options
@trust_option
@click.option(
    "--baseline",
    "baseline_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A result of replay --json, with the known failures: fail on a regression and on a known failure that passes "
    "now (exit code 1), and if more work is in vain than there (4).",
)
@html_option
@json_option
def replay(
    *,
    paths: tuple[str, ...],
    engine_name: str,
    findings_directory: Path,
    case_seconds: float,
    check_names: tuple[str, ...],
    oracle_name: str,
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    trust: bool,
    baseline_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> int:
    """Check saved cases again: case files, folders of them, or ids of findings.

    Of a finding it says if it is FIXED, STILL FAILS, CHANGED or NOW ERRORS: its file tells how the engine differed.
    """
    baseline = None if baseline_file is None else read_saved_run(baseline_file, engine=engine_name)
    corpus = load_corpus(paths, trust=trust, findings=FindingsDirectory(findings_directory))
    notice_unreadable(corpus.unreadable)
    if not corpus.cases:
        raise UserInputError("no case could be read; the messages above say why")
    deviations = known_deviations(deviation_files, none=no_deviations)
    engine = engine_of_command(engine_name, TimeLimit(seconds=case_seconds))
    confirm(deviations, engine, notice)
    checker = Checker(
        engine=engine,
        deviations=deviations,
        oracle=Oracle(oracle_name),
        reference=reference_for(engine, Expressions(expressions_name), starts_spark=True).evaluate,
        limit=TimeLimit(seconds=case_seconds),
        checks=checks_named(check_names),
        rerun=rerun_on(
            engine_name,
            expressions=Expressions(expressions_name),
            checks=checks_named(check_names),
            deviations=deviations,
        ),
    )
    reports, refused, interrupted = _check_all(corpus, checker, explaining=html_file is not None)
    for message in refused:
        notice(f"not run: {message}")
    unreadable = (*corpus.unreadable, *refused)
    num_left = len(corpus.cases) - len(reports) - len(refused)
    worse = () if baseline is None else baseline.more_in_vain(one.report for one in reports)
    if as_json:
        replayed = [(one.report, one.compared, one.saved.path) for one in reports]
        compared = {} if baseline is None else {"worse": list(worse)}
        found = replay_json(replayed, unreadable, num_left=num_left, baseline=baseline)
        emit_json({"engine": engine_name, **found, **compared})
    else:
        _print_result(reports, corpus)
        for line in () if baseline is None else baseline.lines(one.report for one in reports):
            show(printable(line))
        for sentence in worse:
            show(sentence)
    # a known deviation does not fail a run
    verdicts = [_judged(one.report, None if baseline is None else baseline.word(one.report)) for one in reports]
    not_checked = sum(one.compared is not None and one.compared.status is FindingStatus.NOT_CHECKED for one in reports)
    code = (
        ExitCode.INTERRUPTED
        if interrupted
        else exit_code(verdicts, num_unreadable=len(unreadable), num_inconclusive=not_checked + len(worse))
    )
    if html_file is not None:
        page = replay_page(
            list(map(_for_page, reports)),
            engine=engine_name,
            not_read=unreadable,
            num_left=num_left,
            deviations=deviations,
            code=code,
        )
        write_html(html_file, page)
    return code


def _judged(report: CaseReport, word: Word | None) -> Verdict:
    """Give the verdict that decides the exit code: of a known failure, and of one that passes now, another one."""
    if word is not None:
        return Verdict.MISMATCH if word in FAILING else Verdict.AGREE
    return Verdict.AGREE if report.deviations else report.verdict


def exit_code(verdicts: list[Verdict], *, num_unreadable: int, num_inconclusive: int = 0) -> ExitCode:
    """Return the exit code of a replay.

    Args:
        verdicts: of the cases.
        num_unreadable: cases that could not be read; with one it is never 0.
        num_inconclusive: findings that were not checked again, and work that is more than before; the same.
    """
    if Verdict.MISMATCH in verdicts:
        return ExitCode.MISMATCH
    if num_unreadable:
        return ExitCode.USAGE
    if Verdict.ENGINE_ERROR in verdicts:
        return ExitCode.ENGINE
    if num_inconclusive or (Verdict.AGREE not in verdicts and Verdict.BOTH_REJECTED not in verdicts):
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def _for_page(one: _Replayed) -> ShownCase:
    status = "" if one.compared is None else one.compared.status.words.upper()
    return ShownCase(document=one.document, status=status)


def _check_all(corpus: Corpus, checker: Checker, *, explaining: bool) -> tuple[list[_Replayed], list[str], bool]:
    """Check all cases; also return the refused cases, and whether Ctrl+C ended the run.

    Args:
        corpus: the cases.
        checker: checks them.
        explaining: add to every mismatch the hypotheses that it implies; otherwise only for a single case.
    """
    reports: list[_Replayed] = []
    refused: list[str] = []
    try:
        for saved in corpus.cases:
            try:
                report = check_saved(saved.case, checker)
            except UserInputError as error:  # a value of a setting
                refused.append(f"{saved.path}: case {saved.case.id}: {error}")
                continue
            hypotheses = checker.hypotheses(report) if explaining or len(corpus.cases) == 1 else ()
            # no comprehension: reports before Ctrl+C are kept
            reports.append(_Replayed(saved, report, hypotheses, _compared(saved, report)))
    except KeyboardInterrupt:
        return reports, refused, True
    return reports, refused, False


def _compared(saved: SavedCase, report: CaseReport) -> FindingChange | None:
    if saved.origin is None or not saved.origin.difference:
        return None
    return compare(report, saved.origin)


def _print_result(reports: list[_Replayed], corpus: Corpus) -> None:
    if len(reports) == 1 and len(corpus.cases) == 1 and reports[0].report.verdict is Verdict.MISMATCH:
        one = reports[0]
        if one.compared is not None:
            show("\n".join([*_status_lines(one), ""]))
        show(mismatch_report(one.document) + "\n")
    else:
        for one in reports:
            lines = _short(one)
            if lines:
                show("\n".join(lines))
    _print_counts(reports, corpus)
    findings = Counter(one.compared.status for one in reports if one.compared is not None)
    if findings:
        counts = [f"{status.words} {findings[status]}" for status in FindingStatus if findings[status]]
        show(f"findings: {', '.join(counts)}")


def _short(one: _Replayed) -> list[str]:
    """Return the short text on a case among several: for a finding always, for others if they differ."""
    report, place = one.report, f"{printable(one.report.case.id)}  {one.saved.path}"
    head = _status_lines(one) if one.compared is not None else []
    if report.deviations:
        return [*head, f"DEVIATES  {place}", f"  {', '.join(report.deviations)}"]
    if report.verdict is Verdict.MISMATCH:
        lines = difference_lines(one.document.differences)
        more = [f"  ... {counted(len(lines) - MAX_SHORT_LINES, 'more line')}"] if len(lines) > MAX_SHORT_LINES else []
        return [*(head or [f"MISMATCH  {place}"]), *(f"  {line}" for line in lines[:MAX_SHORT_LINES]), *more]
    if report.verdict is Verdict.ENGINE_ERROR:
        return [*(head or [f"ENGINE ERROR  {place}"]), f"  {printable(report.reason)}"]
    return head


def _status_lines(one: _Replayed) -> list[str]:
    """Return the new status of a finding; if it changed, or was not compared in full, check by check."""
    if one.compared is None:
        return []
    status = one.compared.status
    lines = [f"{status.words.upper()}  {printable(one.report.case.id)}  {one.saved.path}"]
    listed = status in (FindingStatus.CHANGED, FindingStatus.NOW_ERRORS, FindingStatus.NOT_CHECKED)
    if listed or one.compared.reasons:
        for check, now in one.compared.checks.items():
            reason = one.compared.reasons.get(check)
            text = f"  {check_name(check):<{_CHECK_WIDTH}}{now.value}{f': {printable(reason)}' if reason else ''}"
            lines += textwrap.wrap(text, LINE_WIDTH, subsequent_indent=" " * (_CHECK_WIDTH + 2))
    return lines


def _is_unchecked(one: _Replayed) -> bool:
    """Return whether the checks made agree, but did not cover the finding's difference."""
    agrees = one.report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED)
    return agrees and one.compared is not None and one.compared.status is FindingStatus.NOT_CHECKED


def _counts_as(one: _Replayed, verdict: Verdict) -> bool:
    return one.report.verdict is verdict and not one.report.deviations and not _is_unchecked(one)


def _print_counts(replayed: list[_Replayed], corpus: Corpus) -> None:
    reports = [one.report for one in replayed]
    counts = [(verdict.value, sum(_counts_as(one, verdict) for one in replayed)) for verdict in Verdict]
    counts.append(("deviates", sum(bool(report.deviations) for report in reports)))
    counts.append((FindingStatus.NOT_CHECKED.value, sum(map(_is_unchecked, replayed))))
    counts += [("not run", len(corpus.cases) - len(reports)), ("not read", len(corpus.unreadable))]
    details = {
        Verdict.BOTH_REJECTED.value: rejection_classes(reports),
        Verdict.JUDGED_IN_PART.value: reasons_of(reports, Verdict.JUDGED_IN_PART),
        Verdict.UNSUPPORTED.value: reasons_of(reports, Verdict.UNSUPPORTED),
        "deviates": Counter(name for report in reports for name in report.deviations),
    }
    for name, count in counts:
        if count or name == Verdict.AGREE.value:
            show(f"{name.replace('_', ' '):<14}{count:>6}")
        for reason, number in details.get(name, Counter()).most_common():
            show(f"    {number:>4}  {reason}")
    work = work_of_reports(reports)
    for line in work.lines() if work.counts.merges else ():
        show(line)
    if num_asked := num_by_spark(reports):
        show(f"expressions by Spark in {num_asked}")
    if partly := num_partly(reports):
        show(f"partly judged {partly}: they store values that nobody can know")
