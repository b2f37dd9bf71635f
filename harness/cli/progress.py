"""Progress of a fuzz run on stderr, see ``StatusLine``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from harness import events
from harness.cli.status_line import StatusLine

if TYPE_CHECKING:
    from types import TracebackType

    from harness.statistics import Summary


class Progress:
    """Listens to a run's events and shows where it stands; use as a context manager."""

    def __init__(self) -> None:
        self._status = StatusLine(self._line)
        self._started: events.RunStarted | None = None
        self._summary: Summary | None = None
        self._doing = ""

    def __enter__(self) -> Self:
        """Take the terminal's last line, where there is a terminal."""
        self._status.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal's last line back."""
        self._status.__exit__(kind, error, trace)

    def starting(self, what: str) -> None:
        """Say what the run waits for before its clock starts."""
        self._doing = f"starting {what}"
        if not self._status.is_live:
            self._status.print(f"starting {what} ...")

    def __call__(self, event: events.Event) -> None:
        """Take note of an event; what a person should not miss is printed above the line."""
        if isinstance(event, events.RunStarted):
            self._started, self._doing = event, ""
            self._status.wait_anew()
            self._status.print(f"engine {event.engine} {event.engine_version}  seed {event.seed}")
        elif isinstance(event, events.CaseChecked):
            self._summary, self._doing = event.summary, ""
        elif isinstance(event, events.ShrinkingStarted):
            self._doing = f"shrinking {event.fingerprint}"
            self._status.print(f"mismatch, confirmed: {event.fingerprint}")
        elif isinstance(event, events.ShrinkingStep):
            rows = f"{event.num_target_rows} + {event.num_source_rows} rows"
            self._doing = f"shrinking: {rows}, {event.num_runs} runs, {event.seconds:.0f} s"
        elif isinstance(event, events.CaseSetAside):
            self._status.print(f"{event.kind.replace('_', ' ')}: {event.reason}\n  kept in {event.path}")
        elif isinstance(event, events.FindingSaved):
            self._doing = ""
            self._status.print(f"finding {event.finding.id} saved to {event.path}")
        elif isinstance(event, events.FindingRepeated):
            self._doing = ""
            self._status.print(f"it is finding {event.finding_id} again")
        if self._summary is not None:
            self._status.print_now_and_then()

    def _line(self) -> str:
        if self._summary is None:
            return self._doing or "drawing the first case"
        summary = self._summary
        speed = summary.num_cases / summary.seconds if summary.seconds else 0.0
        parts = [
            f"{summary.num_cases} cases",
            f"{speed:.1f}/s",
            f"verified {summary.verified_share:.0%}",
            f"findings {len(summary.findings)}",
            *([f"deviates {summary.num_deviating}"] if summary.num_deviating else []),
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
            left.append((self._started.max_cases - summary.num_cases) / speed)
        if not left:
            return ""
        seconds = max(0, round(min(left)))
        return f"{seconds // 60}:{seconds % 60:02d} left"
