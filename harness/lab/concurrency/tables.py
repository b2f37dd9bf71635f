"""The tables of scenarios: Delta tables in a folder, or those that an engine keeps itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from mergecheck.harness.delta.read import LiveFile, TableState, newest_version
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.lab.concurrency.history import History, read_history
from mergecheck.harness.lab.concurrency.scenario import Isolation, do_other
from mergecheck.harness.lab.sequences.steps import Append, Delete
from mergecheck.harness.lab.sequences.turns import misread
from mergecheck.harness.report.sql_script import literal
from mergecheck.harness.verdict import EngineDownError, HarnessBugError
from mergecheck.model.types.data_types import quote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.engine import ReadingEngine, TableKeepingEngine
    from mergecheck.harness.lab.concurrency.history import Ending
    from mergecheck.harness.lab.concurrency.scenario import Action
    from mergecheck.model.case import Target
    from mergecheck.model.types.data_types import Schema

LEVEL = "delta.isolationLevel"
"""The property of a Delta table that names its isolation level."""


class RefusedError(EngineDownError):
    """An engine does not support the table or a merge of a scenario."""


class ScenarioTable(Protocol):
    """A new table of a scenario, which writers change."""

    def make(self) -> None:
        """Make it."""

    def newest(self) -> int:
        """Return its newest version."""

    def write(self, action: Action, schema: Schema) -> None:
        """Perform a write that is no merge."""

    def history(self, endings: Mapping[str, Ending], events: tuple[str, ...]) -> History:
        """Read what the writers left, from version 0 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaScenarioTable:
    """A Delta table.

    Attributes:
        reader: reads its last version, too, unless it cannot read what the harness wrote, either.
    """

    path: Path
    target: Target
    isolation: Isolation
    reader: ReadingEngine | None

    def make(self) -> None:
        """See ``ScenarioTable``."""
        self._write(self.path)

    def newest(self) -> int:
        """See ``ScenarioTable``."""
        return newest_version(self.path)

    def write(self, action: Action, schema: Schema) -> None:
        """See ``ScenarioTable``."""
        do_other(action, self.path, schema)

    def history(self, endings: Mapping[str, Ending], events: tuple[str, ...]) -> History:
        """See ``ScenarioTable``."""
        found = read_history(self.path, 0, endings, events=events, reader=self.reader)
        if not found.misread or self.reader is None:
            return found
        fresh = self.path.with_name("fresh")
        self._write(fresh)
        cannot_read = misread(self.reader, fresh, self.target.schema, self.target.rows)
        return replace(found, misread="") if cannot_read else found

    def _write(self, path: Path) -> None:
        level = {} if self.isolation is Isolation.SERIALIZABLE else {LEVEL: self.isolation.value}
        write_target(replace(self.target, properties={**self.target.properties, **level}), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTable:
    """A table that an engine keeps; it records no change rows."""

    engine: TableKeepingEngine
    target: Target
    isolation: Isolation

    def make(self) -> None:
        """See ``ScenarioTable``.

        Raises:
            RefusedError: the engine has no such table.
        """
        if (refusal := self.engine.make_table(self.target, self.isolation.value)) is not None:
            raise RefusedError(f"{self.engine.name} does not support the table: {refusal.reason}")

    def newest(self) -> int:
        """See ``ScenarioTable``."""
        return self.engine.newest_version()

    def write(self, action: Action, schema: Schema) -> None:
        """See ``ScenarioTable``."""
        self.engine.execute(_statement(action, schema))

    def history(self, endings: Mapping[str, Ending], events: tuple[str, ...]) -> History:
        """See ``ScenarioTable``."""
        states = []
        for version in range(self.engine.newest_version() + 1):
            schema, rows = self.engine.table_at(version)
            states.append(
                TableState(
                    version=version,
                    schema=schema,
                    members_not_null=(),
                    partition_by=(),
                    change_data_feed=False,
                    schema_json="",
                    files=(LiveFile(add={}, rows=rows),),
                )
            )
        return History(events=events, endings=endings, states=tuple(states))


def _statement(action: Action, schema: Schema) -> str:
    """Write a write that is no merge as SQL."""
    if isinstance(action, Append):
        types = [column.type for column in schema.columns]
        rows = (", ".join(literal(value, kind) for value, kind in zip(row, types, strict=True)) for row in action.rows)
        return f"INSERT INTO target VALUES {', '.join(f'({row})' for row in rows)}"
    if isinstance(action, Delete):
        column = quote(action.column)
        return f"DELETE FROM target WHERE {column} {'IS NULL' if action.value is None else f'= {action.value}'}"
    raise HarnessBugError(f"a write that has no statement: {action}")
