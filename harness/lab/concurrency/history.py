"""A history: every writer's steps, points and ending, and the table at each version."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.delta.change_feed import change_rows
from mergecheck.harness.delta.read import newest_version, table_at
from mergecheck.harness.lab.sequences.turns import misread

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.delta.read import TableState
    from mergecheck.harness.engine import ReadingEngine
    from mergecheck.model.case import Row


class EndingKind(Enum):
    """How a writer ended."""

    COMMITTED = "committed"
    NOTHING = "had nothing to commit"
    CONFLICT = "lost against another commit"
    REJECTED = "was rejected"
    KILLED = "was killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a writer ended.

    Attributes:
        version: the version that it reports as committed.
        error: class of its error.
        row: affected, updated, deleted and inserted rows, if it reports them (R-110).
        read: the version that it read.
        newest: the newest version when it ended.
    """

    kind: EndingKind
    version: int | None = None
    error: str = ""
    row: Mapping[str, int] | None = None
    read: int = 0
    newest: int = 0

    def said(self) -> str:
        """Describe the ending in a few words."""
        if self.kind is EndingKind.COMMITTED:
            return f"committed version {self.version}"
        return f"{self.kind.value} ({self.error})" if self.error else self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The result of writers that started together.

    Attributes:
        events: what happened, in this order; empty if the order was not decided.
        endings: by name of the writer.
        states: the table at each version, from the version at the start on.
        changes: the change rows of each later version whose table records them.
        misread: how the engine's own reading of the last version differs from the table's files; empty if it does not,
            or if no engine has read it.
    """

    events: tuple[str, ...] = ()
    endings: Mapping[str, Ending]
    states: tuple[TableState, ...]
    changes: Mapping[int, tuple[Row, ...]] = field(default_factory=dict)
    misread: str = ""

    @property
    def order(self) -> tuple[str, ...]:
        """Who has committed, in the order of the versions."""
        found = [(e.version, name) for name, e in self.endings.items() if e.version is not None]
        return tuple(name for _, name in sorted(found))

    def state(self, version: int) -> TableState:
        """Return the table at a version."""
        return self.states[version - self.states[0].version]


@dataclass(slots=True)
class Diary:
    """Takes down what happens."""

    events: list[str] = field(default_factory=list)

    def note(self, name: str, text: str) -> None:
        """Append an event."""
        self.events.append(f"{name} {text}")


def read_history(
    path: Path,
    since: int,
    endings: Mapping[str, Ending],
    *,
    events: tuple[str, ...] = (),
    reader: ReadingEngine | None = None,
) -> History:
    """Read what writers left: the table at the version at which they started, and at all that follow it.

    Args:
        path: the table.
        since: the version at which the writers started.
        endings: how they ended.
        events: what happened.
        reader: reads the last version, too.
    """
    states = tuple(table_at(path, number) for number in range(since, newest_version(path) + 1))
    changes = {
        state.version: change_rows(path, version=state.version, state=state)
        for state in states[1:]
        if state.change_data_feed
    }
    last = states[-1]
    found = () if reader is None else misread(reader, path, last.schema, last.rows)
    return History(
        events=events,
        endings=endings,
        states=states,
        changes=changes,
        misread="; ".join(line for one in found for line in one.lines),
    )
