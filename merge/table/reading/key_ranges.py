"""Files that may contain a key of the source, by their minima and maxima; in Spark's Python workers.

Plain pyarrow and numpy. Keys are whole numbers (dates are days), or doubles if the source's are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

POSITION_DDL = "position INT"
_POSITION_SCHEMA = pa.schema([pa.field("position", pa.int32())])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRanges:
    """The inclusive range of one key column in each file; a file whose low is above its high has no key.

    If ``is_double``, both ends have been rounded to doubles, as the comparison rounds.
    """

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    is_double: bool = False


def hit_positions(keys: Sequence[KeyRanges], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the positions of the files whose ranges contain a key of this partition, for every key column.

    NULL and NaN equal no whole number. No other file contains a row whose keys all equal the keys of a row of this
    partition. The batches have a BIGINT or DOUBLE column per key.
    """
    found: list[list[np.ndarray]] = [[] for _ in keys]
    for batch in batches:
        for values, column in zip(found, batch.columns, strict=True):
            values.append(np.unique(column.drop_null().to_numpy(zero_copy_only=False)))
    if not found[0]:
        return
    hits = np.logical_and.reduce([_hits(ranges, values) for ranges, values in zip(keys, found, strict=True)])
    yield pa.RecordBatch.from_arrays([pa.array(np.flatnonzero(hits), pa.int32())], schema=_POSITION_SCHEMA)


def _hits(ranges: KeyRanges, pieces: list[np.ndarray]) -> np.ndarray:
    keys = np.unique(np.concatenate(pieces))
    if ranges.is_double:
        keys = keys[~np.isnan(keys)]
    lows, highs = (np.array(ends, keys.dtype) for ends in (ranges.lows, ranges.highs))
    first = np.searchsorted(keys, lows, side="left")  # the least key that is not below the file's
    reachable = first < len(keys)
    hits = np.zeros(len(lows), dtype=bool)
    hits[reachable] = keys[first[reachable]] <= highs[reachable]
    return hits
