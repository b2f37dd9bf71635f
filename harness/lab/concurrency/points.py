"""The points at which one writer learns of the others: what happens between them concerns that writer alone.

Data files are written once and never changed. So only the log connects writers: which version is the newest, and who
creates the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PointKind(Enum):
    """The step that a writer is about to take at a point."""

    SNAPSHOT = "snapshot"
    """ask for the newest version"""
    CREATE = "create"
    """create a version unless it exists"""
    READ = "read"
    """read the actions of a version"""
    WRITE = "write"
    """do all of a write by delta-rs, which cannot be stopped inside"""


@dataclass(frozen=True, slots=True)
class Point:
    """A writer's next step; ``version`` is the version to create or to read."""

    kind: PointKind
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """How a point touches the log as it is now."""

    reads: bool = False
    writes: bool = False

    @property
    def is_neutral(self) -> bool:
        """Whether its result is fixed and changes nothing for others."""
        return not (self.reads or self.writes)


def footprint(point: Point, *, newest: int) -> Footprint:
    """Return how a point touches a log whose newest version is ``newest``.

    A version that exists is never changed. Creating or reading it gives the same result now and later.
    """
    if point.kind is PointKind.SNAPSHOT:
        return Footprint(reads=True)
    if point.kind is PointKind.WRITE:
        return Footprint(reads=True, writes=True)
    if point.version is not None and point.version <= newest:
        return Footprint()
    return Footprint(writes=True) if point.kind is PointKind.CREATE else Footprint(reads=True)


def are_dependent(one: Footprint, other: Footprint) -> bool:
    """Return whether the order of two points can matter."""
    return (one.writes and not other.is_neutral) or (other.writes and not one.is_neutral)
