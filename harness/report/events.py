"""The events of a run, as values: progress lines, reports and JSON only consume these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.verdict import CaseReport


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The engine is up and the budget's clock starts.

    Attributes:
        max_cases: None if only time limits the run.
        max_seconds: None if only cases limit the run.
    """

    engine: str
    engine_version: str
    seed: int
    max_cases: int | None
    max_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChecked:
    """One random case was checked; cases run while shrinking are not counted here.

    Attributes:
        report: of the case as it was drawn, or of a part of a batch that the engine refused as a whole.
        drawn: id of the case as it was drawn.
        num_pairs: pairs of tables in the report's case.
        refusal: why the engine refused the batch; empty unless the report is of a part.
    """

    report: CaseReport
    summary: Summary
    drawn: str
    num_pairs: int
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkingStarted:
    """A confirmed mismatch is being made smaller."""

    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkingStep:
    """A smaller case with the same fingerprint was found."""

    num_target_rows: int
    num_source_rows: int
    num_runs: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSaved:
    """A mismatch is confirmed, minimal and on disk."""

    finding: Finding
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRepeated:
    """A mismatch that looked new turned out, while it was made smaller, to be a finding that is there.

    Attributes:
        example: the file of its small case, if that is of another form than the finding's; None if it is of the same.
    """

    finding_id: str
    fingerprint: Fingerprint
    example: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSetAside:
    """A case that is no finding but is worth keeping: ``crashed``, ``flaky``, ``engine_error`` or ``harness_bug``."""

    kind: str
    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The budget is spent, or the run was stopped; ``summary.stop`` has the reason."""

    summary: Summary


Event: TypeAlias = (
    RunStarted
    | CaseChecked
    | ShrinkingStarted
    | ShrinkingStep
    | FindingSaved
    | FindingRepeated
    | CaseSetAside
    | RunEnded
)
Listener: TypeAlias = Callable[[Event], None]


def broadcast(*listeners: Listener) -> Listener:
    """Return a listener that hands every event to all of the given ones, in order."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return listen
