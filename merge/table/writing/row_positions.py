"""Positions of rows in their file, packed for the transport between Spark's workers and the driver."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


def pack(positions: np.ndarray) -> str:
    """Pack different positions as text: the steps between them compress well."""
    steps = np.diff(np.sort(positions.astype(np.int64)), prepend=0)
    return base64.b85encode(zlib.compress(steps.tobytes(), level=1)).decode("ascii")


def unpack(packed: Iterable[str]) -> np.ndarray:
    """Return the positions of several packs, in ascending order."""
    pieces = [np.cumsum(np.frombuffer(zlib.decompress(base64.b85decode(text)), np.int64)) for text in packed]
    return np.sort(np.concatenate(pieces)) if pieces else np.empty(0, np.int64)
