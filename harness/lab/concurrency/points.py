"""How the points of a writer touch the log: what happens between them concerns that writer alone.

Data files are written once and never changed. So only the log connects writers: which version is the newest, and who
creates the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.harness.engine import Point, PointKind

WHOLE_WRITE = None
"""The point of a writer that cannot be stopped inside: it does all of its write there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """How a point touches the log as it is now."""

    reads: bool = False
    writes: bool = False

    @property
    def is_neutral(self) -> bool:
        """Whether its result is fixed and changes nothing for others."""
        return not (self.reads or self.writes)


def footprint(point: Point | None, *, newest: int) -> Footprint:
    """Return how a point touches a log whose newest version is ``newest``.

    A version that exists is never changed. Creating or reading it gives the same result now and later.

    Args:
        point: the point; None for a whole write.
        newest: the newest version of the log.
    """
    if point is WHOLE_WRITE:
        return Footprint(reads=True, writes=True)
    if point.kind in (PointKind.AFTER_READ, PointKind.AFTER_COMMIT):
        return Footprint()
    if point.kind is PointKind.BEFORE_SNAPSHOT:
        return Footprint(reads=True)
    if point.version is None:
        return Footprint(reads=True, writes=point.kind is PointKind.BEFORE_COMMIT)
    if point.version <= newest:
        return Footprint()
    return Footprint(writes=True) if point.kind is PointKind.BEFORE_COMMIT else Footprint(reads=True)


def are_dependent(one: Footprint, other: Footprint) -> bool:
    """Return whether the order of two points can matter."""
    return (one.writes and not other.is_neutral) or (other.writes and not one.is_neutral)
