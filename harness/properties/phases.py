"""Where the time of a run goes: seconds by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PHASES = {
    "draw": "drawing cases, repeated ones included",
    "reference": "the reference's answers",
    "engine": "the engine",
    "compare": "the comparison",
    "shrink": "running mismatches again and making them smaller",
}
OVERLAP = "The next cases are drawn and evaluated while the engine works, so that the sum may exceed the run's time."


def phases_json(seconds: Mapping[str, float]) -> dict[str, float]:
    """Write the seconds of every phase, zero included."""
    return {phase: round(seconds.get(phase, 0.0), 3) for phase in PHASES}


def phase_line(seconds: Mapping[str, float]) -> str:
    """Format on one line how long each phase took."""
    parts = ", ".join(f"{phase} {seconds.get(phase, 0.0):.1f} s" for phase in PHASES)
    return f"time by phase: {parts} (phases overlap)"
