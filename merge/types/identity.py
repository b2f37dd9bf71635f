"""Identity columns: their metadata, and where the high-water mark moves (R-226)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "delta.identity."
_START, _STEP = f"{PREFIX}start", f"{PREFIX}step"
_BY_DEFAULT, _MARK = f"{PREFIX}allowExplicitInsert", f"{PREFIX}highWaterMark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The sequence of an identity column.

    Attributes:
        step: from one value to the next; not 0.
        by_default: whether an INSERT may give values.
        mark: the furthest value that was generated; None before the first one.
    """

    start: int
    step: int
    by_default: bool
    mark: int | None = None

    @property
    def first(self) -> int:
        """The next value."""
        return self.start if self.mark is None else self.mark + self.step

    def moved_by(self, furthest: int) -> int | None:
        """Return the mark after values were written, given the furthest of them in the step's direction.

        The furthest is rounded up to the sequence, because an explicit value need not be a member of it. A value before
        the start does not move the mark, unless the mark is before it as well.
        """
        was_wrong = self.mark is not None and self._is_beyond(self.start, self.mark)
        if self._is_beyond(self.start, furthest) and not was_wrong:
            return self.mark
        rounded = furthest + (self.start - furthest) % self.step
        return rounded if self.mark is None or self._is_beyond(rounded, self.mark) else self.mark

    def _is_beyond(self, left: int, right: int) -> bool:
        return left > right if self.step > 0 else left < right


def identity_of(metadata: Mapping[str, Any] | None) -> Identity | None:
    """Read the metadata of a column; None if it is no identity column."""
    if not metadata or not has_whole_identity(metadata):
        return None
    return Identity(
        start=metadata[_START], step=metadata[_STEP], by_default=metadata[_BY_DEFAULT], mark=metadata.get(_MARK)
    )


def has_whole_identity(metadata: Mapping[str, Any]) -> bool:
    """Return whether the metadata have all that a sequence needs."""
    return {_START, _STEP, _BY_DEFAULT} <= metadata.keys() and metadata[_STEP] != 0


def identities(schema: StructType) -> dict[int, Identity]:
    """Return the identity columns of a table, by position."""
    found = ((position, identity_of(field.metadata)) for position, field in enumerate(schema.fields))
    return {position: identity for position, identity in found if identity is not None}


def with_marks(schema: StructType, furthest: Mapping[int, int]) -> StructType:
    """Move the marks of some columns, given the furthest value of each that was written."""
    fields = list(schema.fields)
    for position, identity in identities(schema).items():
        mark = identity.moved_by(furthest[position]) if position in furthest else None
        if mark is not None:
            field = fields[position]
            metadata = {**field.metadata, _MARK: mark}
            fields[position] = StructField(field.name, field.dataType, field.nullable, metadata)
    return StructType(fields)
