"""Entries for values that cannot occur together, and sets of values that several entries name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """Combinations that cannot be: one value of each part together, whatever else a case has.

    Attributes:
        parts: two or three sets of values, each of one dimension, as ``dimension=value``.
        reason: why they exclude each other.
    """

    parts: tuple[frozenset[str], ...]
    reason: str


def never(reason: str, *parts: tuple[str, tuple[str, ...]]) -> Impossible:
    """Name what never occurs together: each part is a dimension with some of its values."""
    return Impossible(
        parts=tuple(frozenset(f"{name}={value}" for value in values) for name, values in parts), reason=reason
    )


def never_with(
    reason: str, part: tuple[str, tuple[str, ...]], *others: tuple[str, tuple[str, ...]]
) -> Iterator[Impossible]:
    """Name what never occurs together with one part: each of the others."""
    return (never(reason, part, other) for other in others)


# Sets of values that several entries name.
TRUTHS = ("TRUE", "FALSE", "NULL")
ANY = ("no condition", *TRUTHS)
PATHS = ("path A", "path B", "path C", "path D", "path E")
CHANGES = ("updates", "deletes", "inserts", "copies", "nothing")
CHANGED_TARGET = ("updates", "deletes", "copies")
MATCHED = ("matched update", "matched delete")
INSERT = ("not matched insert",)
BY_SOURCE = ("not matched by source update", "not matched by source delete")
UPDATES = ("matched update", "not matched by source update")
WITHOUT_MATCHED = ("insert", "by source", "insert, by source")
WITHOUT_INSERT = ("matched", "by source", "matched, by source")
WITHOUT_BY_SOURCE = ("matched", "insert", "matched, insert")
SPECIAL = ("partition", "NOT NULL", "default", "generated")
INSERTED = (*(f"{sort}=inserted" for sort in SPECIAL), *(f"{sort}=left out" for sort in SPECIAL))
UPDATED = tuple(f"{sort}=updated" for sort in SPECIAL)
VIOLATED = ("NOT NULL=violated", "CHECK=violated")
PAIRS_OF_ROWS = (
    *("one to one", "source row with several targets", "ambiguous, refused", "ambiguous, allowed", "NULL in ON"),
    *("none", "all"),
)
TYPES = (
    *("integer", "decimal", "floating point", "string", "boolean", "binary", "date", "timestamp"),
    *("struct", "array", "map", "boolean or binary", "other number", "text or truth", "time"),
)
EVOLVED = ("number", "other scalar", "nested", "field", "wider", "scalar")
