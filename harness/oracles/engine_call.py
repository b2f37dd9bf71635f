"""The call of an engine: within a limit of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engine import InterruptibleEngine

if TYPE_CHECKING:
    from mergecheck.harness.core.time_limit import TimeLimit
    from mergecheck.harness.engine import Engine
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import EngineResult


def run_limited(engine: Engine, case: Case, limit: TimeLimit) -> EngineResult:
    """Run one case on an engine.

    Raises:
        EngineLateError: if it takes longer than the limit. Whatever else the engine raises goes through.
    """
    with limit.over(engine.interrupt if isinstance(engine, InterruptibleEngine) else None):
        return engine.run(case)
