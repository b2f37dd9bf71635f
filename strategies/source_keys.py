"""The key of a source row, drawn around the target's keys (techniques T23)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from strategies.chance import pick
from strategies.domains import FRESH, domain, neighbour, small_values
from strategies.features import Feature

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from reference.case import Row
    from strategies.columns import Column


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


@st.composite
def source_key(
    draw: DrawFn,
    *,
    present: tuple[Row, ...],
    columns: tuple[Column, ...],
    span: int,
    origins: tuple[KeyOrigin, ...],
) -> Row:
    """Draw the key values of one source row; ``present`` are the target's keys."""
    origin = pick(draw, origins)
    if origin is KeyOrigin.FRESH or (not present and origin is not KeyOrigin.ANY):
        return tuple(pick(draw, domain(column.type)[-FRESH:]) for column in columns)
    if origin is KeyOrigin.ANY:
        return tuple(draw(small_values(column.type, span=span)) for column in columns)
    key = present[0] if origin is KeyOrigin.FIRST else pick(draw, present)
    if origin in (KeyOrigin.PRESENT, KeyOrigin.FIRST):
        return key
    place = pick(draw, range(len(columns)))
    if origin is KeyOrigin.NULL:
        return (*key[:place], None, *key[place + 1 :])
    step = pick(draw, (1, -1))
    return (*key[:place], neighbour(key[place], columns[place].type, step=step), *key[place + 1 :])
