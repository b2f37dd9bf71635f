"""The seam between the harness and a system under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from reference.case import Case
    from reference.outcome import EngineResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can be held against; a check it lacks is reported as unsupported, never as passed.

    Attributes:
        exact_metric_names: whether a commit must report exactly the 22 metrics of R-510 (R-501).
    """

    rows: bool = True
    metrics: bool = True
    cdf: bool = True
    error_class: bool = True
    exact_metric_names: bool = False


@runtime_checkable
class Engine(Protocol):
    """A MERGE implementation that the harness can drive.

    ``run`` sets the case's target table up from scratch, merges, and reports what it sees afterwards. It
    answers ``Unsupported`` for a case it cannot express and ``Rejection`` for a merge that failed as a
    merge may fail. Anything else that goes wrong (a lost process, a bug in the adapter) raises
    ``harness.errors.EngineDownError``.
    """

    name: str
    version: str
    capabilities: Capabilities

    def run(self, case: Case) -> EngineResult:
        """Run one case in a fresh table."""

    def close(self) -> None:
        """Release what the engine holds; called once."""
