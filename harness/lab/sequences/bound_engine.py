"""An engine bound to one table, so that a check of a case merges into that table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engine import InterruptibleEngine

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engine import ExistingTableEngine
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class BoundEngine:
    """An engine bound to one table."""

    def __init__(self, engine: ExistingTableEngine, path: Path) -> None:
        self.name, self.version, self.capabilities = engine.name, engine.version, engine.capabilities
        self._engine = engine
        self._path = path
        if isinstance(engine, InterruptibleEngine):
            self.interrupt = engine.interrupt

    def run(self, case: Case) -> EngineResult:
        """Merge into the table."""
        return self._engine.run_on(case, self._path)

    def close(self) -> None:
        """Leave the engine open: the next step needs it."""
