"""The progress of a fuzz run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.output.status_line import StatusLine
from mergecheck.harness.report import events
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.harness.properties.statistics import Summary


class Progress(StatusLine):
    """Listens to the events of a run and shows its progress; a context manager."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._started: events.RunStarted | None = None
        self._summary: Summary | None = None
        self._doing = ""

    def starting(self, what: str) -> None:
        """Show the step that the run waits for before its clock starts."""
        self._doing = f"starting {what}"
        if not self.is_live:
            self.print(f"starting {what} ...")

    def __call__(self, event: events.Event) -> None:
        """Take an event; messages that the user should not miss are printed above the status line."""
        if isinstance(event, events.RunStarted):
            self._started, self._doing = event, ""
            self.restart_wait()
            self.print(f"engine {event.engine} {event.engine_version}  seed {event.seed}")
        elif isinstance(event, events.CaseChecked):
            self._summary, self._doing = event.summary, ""
        elif isinstance(event, events.ShrinkingStarted):
            self._doing = f"shrinking {event.fingerprint}"
            self.print(f"mismatch, confirmed: {event.fingerprint}")
        elif isinstance(event, events.ShrinkingStep):
            rows = f"{event.num_target_rows} + {event.num_source_rows} rows"
            self._doing = f"shrinking: {rows}, {counted(event.num_runs, 'run')}, {event.seconds:.0f} s"
        elif isinstance(event, events.CaseSetAside):
            self.print(f"{event.kind.replace('_', ' ')}: {event.reason}\n  saved to {event.path}")
        elif isinstance(event, events.FindingSaved):
            self._doing = ""
            self.print(f"finding {event.finding.id} saved to {event.path}")
        elif isinstance(event, events.FindingRepeated):
            self._doing = ""
            self.print(f"the same as finding {event.finding_id}")
        if self._summary is not None:
            self.print_periodically()

    def line(self) -> str:
        """Return the progress of the run and its current step."""
        if self._summary is None:
            return self._doing or "drawing the first case"
        summary, counts = self._summary, self._summary.counts
        speed = counts.num_cases / summary.seconds if summary.seconds else 0.0
        parts = [
            counted(counts.num_cases, "case"),
            f"{speed:.1f}/s",
            f"verified {counts.verified_share:.0%}",
            f"findings {len(counts.findings)}",
            *([f"deviates {counts.num_deviating}"] if counts.num_deviating else []),
        ]
        left = self._time_left(summary, speed)
        if left:
            parts.append(left)
        if self._doing:
            parts.append(self._doing)
        return "  ".join(parts)

    def _time_left(self, summary: Summary, speed: float) -> str:
        if self._started is None:
            return ""
        left: list[float] = []
        if self._started.max_seconds is not None:
            left.append(self._started.max_seconds - summary.seconds)
        if self._started.max_cases is not None and speed:
            left.append((self._started.max_cases - summary.counts.num_cases) / speed)
        if not left:
            return ""
        seconds = max(0, round(min(left)))
        return f"{seconds // 60}:{seconds % 60:02d} left"
