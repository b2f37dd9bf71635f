"""The key of a source row, around the target's keys (techniques T23)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chosen
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.tables.domains import FRESH, domain, neighbour, small_values

if TYPE_CHECKING:
    from collections.abc import Sized

    from mergecheck.reference.case.model import Row
    from mergecheck.strategies.syntax.columns import Column


class KeyOrigin(Enum):
    """Where the key of a source row comes from."""

    PRESENT = "present"
    NEAR = "near"
    FRESH = "fresh"
    ANY = "any"
    NULL = "null"
    FIRST = "first"


_ORIGINS = (*[KeyOrigin.PRESENT] * 5, KeyOrigin.NEAR, *[KeyOrigin.FRESH] * 3, KeyOrigin.ANY)


def origins(features: frozenset[Feature]) -> tuple[KeyOrigin, ...]:
    """Return where keys come from within the features, weighted by repetition."""
    nulls: tuple[KeyOrigin, ...] = ()
    if Feature.NULL_KEYS in features:
        # NULL lies in no range
        nulls = (KeyOrigin.NULL,) * (5 if Feature.KEY_RANGES in features else 1)
    repeated = (KeyOrigin.FIRST,) * 3 if Feature.DUPLICATE_SOURCE_KEYS in features else ()
    return (*_ORIGINS, *nulls, *repeated)


def num_key_faces(columns: Sized) -> int:
    """Return how many numbers of ``throws`` a key of these columns takes."""
    return 1 + max(3, len(columns))


def source_key(
    faces: bytes,
    *,
    present: tuple[Row, ...],
    columns: tuple[Column, ...],
    span: int,
    origins: tuple[KeyOrigin, ...],
) -> Row:
    """Return the key values of one source row; ``present`` are the target's keys, ``faces`` ``num_key_faces`` many."""
    origin, faces = chosen(origins, faces[0]), faces[1:]
    if origin is KeyOrigin.FRESH or (not present and origin is not KeyOrigin.ANY):
        return tuple(chosen(domain(column.type)[-FRESH:], face) for column, face in zip(columns, faces, strict=False))
    if origin is KeyOrigin.ANY:
        values = (small_values(column.type, span=span) for column in columns)
        return tuple(chosen(some, face) for some, face in zip(values, faces, strict=False))
    key = present[0] if origin is KeyOrigin.FIRST else chosen(present, faces[0])
    if origin in (KeyOrigin.PRESENT, KeyOrigin.FIRST):
        return key
    place = chosen(range(len(columns)), faces[1])
    if origin is KeyOrigin.NULL:
        return (*key[:place], None, *key[place + 1 :])
    step = chosen((1, -1), faces[2])
    return (*key[:place], neighbour(key[place], columns[place].type, step=step), *key[place + 1 :])
