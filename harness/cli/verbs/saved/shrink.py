"""``mergecheck cases shrink``: make a failing case smaller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import (
    FiniteRange,
    case_id_option,
    case_timeout_option,
    deviation_options,
    engine_option,
    expressions_option,
    findings_option,
    json_option,
    known_deviations,
    oracle_option,
    quiet_option,
    spark_options,
    trust_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.cli.verbs.saved.one_saved import one_saved, write_case
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.engines.registry import engine_name as name_of_engine
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import case_text, origin_of
from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, num_rows
from mergecheck.harness.findings.shrink.shrinker import shrink as shrunk
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.report.render import printable
from mergecheck.harness.search.session import reference_for, rerun_on
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import EXIT_CODES, ExitCode, Expressions, Oracle, Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.harness.findings.corpus import SavedCase
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

_DEFAULTS = ShrinkLimits()


@click.command()
@click.argument("case", metavar="CASE")
@engine_option
@case_id_option
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the smaller case; among the findings if left out.",
)
@click.option(
    "--shrink-time",
    "max_seconds",
    type=FiniteRange(min=0, min_open=True),
    default=_DEFAULTS.max_seconds,
    show_default=True,
    metavar="S",
    help="Stop after S seconds, with the smallest case so far.",
)
@click.option(
    "--shrink-runs",
    "max_runs",
    type=click.IntRange(min=1),
    default=_DEFAULTS.max_runs,
    show_default=True,
    metavar="N",
    help="Stop after N runs.",
)
@findings_option("Where ids of findings are looked up, and the smaller case is saved.")
@case_timeout_option
@oracle_option
@expressions_option
@spark_options
@deviation_options
@quiet_option
@trust_option
@json_option
def shrink(
    *,
    case: str,
    engine_name: str,
    case_id: str | None,
    output: Path | None,
    max_seconds: float,
    max_runs: int,
    findings_directory: Path,
    case_seconds: float,
    oracle_name: str,
    expressions_name: str,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    quiet: bool,
    trust: bool,
    as_json: bool,
) -> int:
    """Make a failing case smaller, as long as the engine differs in the same way.

    CASE is the id of a finding or a case file. The given file stays as it is.
    """
    store = FindingsDirectory(findings_directory)
    saved = one_saved(case, case_id, findings=store, verb="shrink")
    if not trust:
        require_harmless(saved.case, str(saved.path))
    deviations = known_deviations(deviation_files, none=no_deviations)
    engine = engine_of_command(engine_name, TimeLimit(seconds=case_seconds))
    checker = Checker(
        engine=engine,
        deviations=deviations,
        oracle=Oracle(oracle_name),
        reference=reference_for(engine, Expressions(expressions_name), starts_spark=True).evaluate,
        limit=TimeLimit(seconds=case_seconds),
        rerun=rerun_on(engine_name, expressions=Expressions(expressions_name), deviations=deviations),
    )
    report = check_saved(saved.case, checker)
    if report.verdict is not Verdict.MISMATCH:
        _say_nothing_to_shrink(report, as_json=as_json)
        return EXIT_CODES[report.verdict]
    limits = ShrinkLimits(max_seconds=max_seconds, max_runs=max_runs)
    result = _Shrinking(checker, report, limits).run(quiet=quiet)
    hypotheses = checker.hypotheses(result.report)
    path = _keep(result, saved, store, output, engine=name_of_engine(engine), hypotheses=hypotheses)
    if as_json:
        emit_json(result.document(path))
    else:
        show(mismatch_report(case_document(result.report, where=path, hypotheses=hypotheses)) + "\n")
        show("\n".join(result.lines(path)))
    return ExitCode.AGREE if report.deviations else ExitCode.MISMATCH


def _say_nothing_to_shrink(report: CaseReport, *, as_json: bool) -> None:
    verdict = report.verdict.value
    if as_json:
        document = {"id": report.case.id, "verdict": verdict, "path": None}
        emit_json(document | ({"reason": report.reason} if report.reason else {}))
        return
    reason = f": {printable(report.reason)}" if report.reason else ""
    show(f"{verdict.replace('_', ' ').upper()}  {printable(report.case.id)}{reason}\nnothing to shrink: no mismatch")


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """The smallest case, and how it was come to."""

    report: CaseReport
    before: Case
    num_runs: int
    seconds: float
    cut_short: bool

    def lines(self, path: Path) -> list[str]:
        """Return the result as text."""
        before, after = (" + ".join(map(str, num_rows(case))) for case in (self.before, self.report.case))
        cut = ", cut short by its limit" if self.cut_short else ""
        how = f"in {counted(self.num_runs, 'run')}, {self.seconds:.0f} s{cut}"
        return [f"shrunk from {before} to {after} rows (target + source) {how}", f"wrote {path}"]

    def document(self, path: Path) -> dict[str, object]:
        """Return the result as JSON."""
        return {
            "id": self.report.case.id,
            "verdict": self.report.verdict.value,
            "path": str(path),
            "rows_before": list(num_rows(self.before)),
            "rows": list(num_rows(self.report.case)),
            "num_runs": self.num_runs,
            "cut_short": self.cut_short,
            "mismatches": mismatches_json(self.report.mismatches),
        }


class _Shrinking:
    """Shrinks on one engine; known deviations that explain the difference must also explain every smaller case's."""

    def __init__(self, checker: Checker, report: CaseReport, limits: ShrinkLimits) -> None:
        self._checker = replace(checker, about=fingerprint(replace(report, deviations=())))
        self._given = report
        self._limits = limits

    def run(self, *, quiet: bool) -> _Shrunk:
        """Shrink within the limits."""
        given = replace(self._given, deviations=())
        attempts = Attempts(given, check=self._check, limits=self._limits)
        if not quiet:
            rows = " + ".join(map(str, num_rows(given.case)))
            notice(f"shrinking {rows} rows: {attempts.fingerprint}")
        best = shrunk(attempts)
        return _Shrunk(
            report=best,
            before=given.case,
            num_runs=attempts.num_runs,
            seconds=attempts.seconds,
            cut_short=attempts.is_cut_short,
        )

    def _check(self, case: Case) -> CaseReport:
        found = check_saved(case, self._checker)
        if set(found.deviations) != set(self._given.deviations):
            return replace(found, verdict=Verdict.AGREE, mismatches=())
        return replace(found, deviations=())


def _keep(
    result: _Shrunk,
    saved: SavedCase,
    store: FindingsDirectory,
    output: Path | None,
    *,
    engine: str,
    hypotheses: tuple[str, ...],
) -> Path:
    found_by = saved.origin.found_by if saved.origin is not None else "shrink"
    seed, number = (None, None) if saved.origin is None else (saved.origin.seed, saved.origin.number)
    origin = origin_of(result.report, found_by=found_by, engine=engine, seed=seed, number=number)
    if output is not None:
        write_case(output, case_text(result.report.case, origin))
        return output
    path = store.path_of(result.report.case.id)
    return store.save(
        result.report.case, mismatch_report(case_document(result.report, where=path, hypotheses=hypotheses)), origin
    )
