"""A case with the facts known before the engine runs it: a value that goes from drawing to checking."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.engine import PrecheckingEngine
from mergecheck.harness.oracles.engine_call import unsupported_limited
from mergecheck.harness.oracles.unknown_values import UnknownValues
from mergecheck.harness.verdict import BadSettingError, EngineDownError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Unsupported
    from mergecheck.reference.answer import Reference


@dataclass(frozen=True, slots=True)
class PreparedCase:
    """A case, and the expectation for the engine.

    Attributes:
        case: the case that the engine runs.
        reference: the reference's evaluation of the case.
        refusal: why the engine does not support the case, if it reports so beforehand; then it is not run.
        phase_seconds: the time that this took, by phase.
        defect: the error that the reference failed with, a defect of mergecheck; then the engine is not run.
        unknown: cells that cannot be predicted; the reference has stand-ins there.
    """

    case: Case
    reference: Reference
    refusal: Unsupported | None = None
    phase_seconds: Mapping[str, float] = field(default_factory=dict)
    defect: str = ""
    unknown: UnknownValues = field(default_factory=UnknownValues)


@dataclass(slots=True)
class PhaseTimer:
    """Seconds by phase (``reference``, ``engine``, ``compare``)."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Add the time of the block to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start


def unsupported_reason(case: Case, engine: Engine, limit: TimeLimit) -> Unsupported | None:
    """Return why an engine rejects a case, if it can decide without running it (``PrecheckingEngine``)."""
    if isinstance(engine, PrecheckingEngine):
        with suppress(EngineDownError, BadSettingError):  # fails again in ``run``, which reports it
            return unsupported_limited(engine, case, limit)
    return None
