"""Random cases as one test of pytest. The plugin imports this when the test runs, not before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.configuration.pytest_options import PREFIX
from mergecheck.harness.properties.limits import Limits
from mergecheck.harness.properties.statistics import Stop, denominator_line, size_line
from mergecheck.harness.report import events
from mergecheck.harness.report.baseline import Comparison, is_saved_run, read_baseline
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.event_log import LogFiles
from mergecheck.harness.report.fuzz_figures import figures_of
from mergecheck.harness.report.json import summary_json
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.search.changed_files import changed_focus
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import FuzzOptions, run_fuzz
from mergecheck.harness.verdict import Expressions, UserInputError, Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.report.fuzz_figures import RunFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzTest:
    """How the test ends.

    Attributes:
        line: what became of all cases.
        notices: what else the user should know.
        was_interrupted: Ctrl+C ended it.
        failure: why it fails; empty if it does not.
        engine_failure: the same, if the engine failed and nothing is known of the merge.
    """

    line: str
    notices: tuple[str, ...] = ()
    was_interrupted: bool = False
    failure: str = ""
    engine_failure: str = ""


def fuzz_test(checker: Checker, values: Mapping[str, Any], *, seed: int, num_cases: int) -> FuzzTest:
    """Run random cases.

    Args:
        checker: has the engine.
        values: of the options, by key.
        seed: of the cases.
        num_cases: how many.

    Raises:
        UserInputError: an option is wrong, or a file of the run cannot be read or written.
        EngineDownError: the engine does not take its first case.
    """
    options = _options(values, seed=seed, num_cases=num_cases)
    baseline = _baseline(values)
    reports: list[str] = []

    def keep(event: events.Event) -> None:
        if isinstance(event, events.FindingSaved):
            reports.append(
                mismatch_report(case_document(event.finding.report, finding=event.finding, where=event.path))
            )

    files = LogFiles(events=_path(values["events"]), observations=_path(values["observations"]))
    with files.open(f"mergecheck fuzz{checker.rerun.flags()}", prefix=PREFIX) as log:
        summary = run_fuzz(checker, options, listener=events.broadcast(log, keep))
    size = f"  {size_line(summary)}" if summary.counts.num_batches else ""
    line = f"{denominator_line(summary)}{size}  seed {summary.seed}"
    compared = None if baseline is None else _compared(baseline, summary)
    worse = () if compared is None else compared.worse()
    notices = () if compared is None else (compared.line(), *worse)
    if summary.stop is Stop.INTERRUPTED:
        return FuzzTest(line=line, notices=notices, was_interrupted=True)
    if reports:
        return FuzzTest(line=line, notices=notices, failure="\n\n".join([*reports, line]))
    if failed := _engine_failure(summary):
        return FuzzTest(line=line, notices=notices, engine_failure=f"{failed}: {line}")
    limits = Limits(floor=values["floor"], max_deviating=values["max-deviating"])
    missed = limits.missed(summary.counts, prefix=PREFIX) + (worse if values["fail-if-worse"] else ())
    failure = f"inconclusive: {'; '.join(missed)}: {line}" if missed else ""
    return FuzzTest(line=line, notices=notices, failure=failure)


def _options(values: Mapping[str, Any], *, seed: int, num_cases: int) -> FuzzOptions:
    if values["steer"] and values["jobs"] > 1:
        raise UserInputError(f"give either {PREFIX}steer or {PREFIX}jobs")
    focus = frozenset(values["focus"])
    if values["focus-changed"] is not None:
        focus |= changed_focus(values["focus-changed"], values["focus-paths"], folder=Path.cwd()).features
    return FuzzOptions(
        seed=seed,
        budget=Budget(max_cases=num_cases, max_seconds=values["max-time"], max_findings=values["max-findings"]),
        findings=Path(values["findings"]),
        steer=values["steer"],
        batch_size=values["batch"],
        num_jobs=values["jobs"],
        features_off=frozenset(values["features-off"]),
        focus=focus,
        boundary=values["boundary"],
        expressions=Expressions(values["expressions"]),
    )


def _baseline(values: Mapping[str, Any]) -> RunFigures | None:
    if values["baseline"] is not None and not is_saved_run(Path(values["baseline"])):
        return read_baseline(Path(values["baseline"]), engine=values["engine"])
    if values["fail-if-worse"]:
        raise UserInputError(f"{PREFIX}fail-if-worse needs {PREFIX}baseline FILE")
    return None


def _compared(baseline: RunFigures, summary: Summary) -> Comparison:
    document = {"engine": baseline.engine, "findings": list(summary.counts.findings), **summary_json(summary)}
    return Comparison(baseline=baseline, now=figures_of(document, name="this run"))


def _engine_failure(summary: Summary) -> str:
    if summary.stop is Stop.ENGINE_DOWN:
        return "the engine failed on several cases in a row"
    failed = summary.counts.verdicts[Verdict.ENGINE_ERROR]
    return f"the engine failed on {counted(failed, 'case')}, which .mergecheck/findings keeps" if failed else ""


def _path(value: str | None) -> Path | None:
    return None if value is None else Path(value)
