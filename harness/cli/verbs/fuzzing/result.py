"""The result of ``mergecheck fuzz``: exit code, text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.cli.output.terminal import show, show_wrapped
from mergecheck.harness.cli.verbs.fuzzing.summary import summary_lines
from mergecheck.harness.properties.statistics import Stop
from mergecheck.harness.report.event_json import finding_json
from mergecheck.harness.report.fuzz_figures import figures_of
from mergecheck.harness.report.json import summary_json
from mergecheck.harness.verdict import ExitCode, Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    import datetime as dt

    from mergecheck.harness.cli.verbs.fuzzing.earlier import EarlierRuns
    from mergecheck.harness.properties.limits import Limits
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.report.events import FindingRepeated, FindingSaved
    from mergecheck.harness.report.fuzz_figures import RunFigures

MOST_FINDINGS = 7
"""Lines for findings at the end of a run, so that it fits twelve; each was shown in full when it was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzResult:
    """A run that has ended.

    Attributes:
        engine: the value of ``--engine``.
        engine_name: the engine's own name. engine_version: its version.
        started: when it began.
        summary: the counts.
        saved: the findings.
        examples: other forms of them, each with a case of its own.
        limits: the limits that the run must keep.
        earlier: the runs to compare it with.
        again: the command that checks the same cases.
        numbers: the cases of the seed that were asked for; None for all from 0.
    """

    engine: str
    engine_name: str
    engine_version: str
    started: dt.datetime
    summary: Summary
    saved: tuple[FindingSaved, ...]
    examples: tuple[FindingRepeated, ...]
    limits: Limits
    earlier: EarlierRuns
    again: str
    numbers: range | None = None

    @property
    def figures(self) -> RunFigures:
        """The run in numbers, as earlier ones are read."""
        return figures_of(self._run(), name="this run")

    @property
    def missed(self) -> tuple[str, ...]:
        """Why the run is inconclusive, a sentence each; nothing if it is not."""
        return (*self.limits.missed(self.summary.counts), *self.earlier.missed(self.figures))

    @property
    def code(self) -> ExitCode:
        """The exit code; a finding outweighs everything but an interrupt."""
        if self.summary.stop is Stop.INTERRUPTED:
            return ExitCode.INTERRUPTED
        if self.summary.counts.findings:
            return ExitCode.MISMATCH
        if self.summary.counts.verdicts[Verdict.ENGINE_ERROR]:
            return ExitCode.ENGINE
        return ExitCode.INCONCLUSIVE if self.missed else ExitCode.AGREE

    def document(self) -> dict[str, Any]:
        """Write the result as ``--json`` prints it."""
        compared = self.earlier.compared(self.figures)
        return {
            **self._run(),
            "inconclusive": list(self.missed),
            "worse": [] if compared is None else list(compared.worse()),
            "exit_code": int(self.code),
        }

    def _run(self) -> dict[str, Any]:
        num_cases = self.summary.counts.findings
        findings = [
            {
                **finding_json(event),
                "num_cases": num_cases[event.finding.id],
                "examples": [str(one.example) for one in self.examples if one.finding_id == event.finding.id],
            }
            for event in self.saved
        ]
        return {
            "engine": self.engine,
            "engine_name": self.engine_name,
            "engine_version": self.engine_version,
            "started": self.started.isoformat(timespec="seconds"),
            "range": None if self.numbers is None else [self.numbers.start, self.numbers.stop],
            **summary_json(self.summary),
            "findings": findings,
        }

    def show(self, *, verbose: bool) -> None:
        """Print the summary, the command that checks the same cases again, and last the findings in a line each."""
        summary = self.summary
        show_wrapped(summary_lines(summary, verbose=verbose))
        if summary.stop not in {Stop.BUDGET, Stop.END}:
            show(f"stopped: {summary.stop.value}")
        compared = self.earlier.compared(self.figures)
        if compared is not None:
            show(compared.line())
            for sentence in () if self.earlier.fail_if_worse else compared.worse():
                show(sentence)
        if not summary.counts.findings:
            for sentence in self.missed:
                show(f"inconclusive: {sentence}")
        show(f"seed {summary.seed}  same cases again: {self.again}")
        most = len(self.saved) if verbose or len(self.saved) <= MOST_FINDINGS else MOST_FINDINGS - 1
        for event in self.saved[:most]:
            show(self._finding_line(event))
        if len(self.saved) > most:
            folder = self.saved[0].path.parent
            show(f"and {counted(len(self.saved) - most, 'more finding')} in {folder}")

    def _finding_line(self, event: FindingSaved) -> str:
        finding = event.finding
        what = f"acts {finding.hypotheses[0]}" if finding.hypotheses else str(finding.fingerprint)
        number = counted(self.summary.counts.findings[finding.id], "case")
        examples = sum(one.finding_id == finding.id for one in self.examples)
        others = f", {counted(examples, 'example')} beside it" if examples else ""
        return f"finding {finding.id}  {what}  in {number}{others}  {event.path}"
