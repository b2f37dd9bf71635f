"""Rows split by partition, in Spark's Python workers: plain pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mergecheck.merge.table.log.partition_values import serialize

if TYPE_CHECKING:
    from collections.abc import Iterator

PartitionKey = tuple[str | None, ...]  # serialised values, in partitioning order


def split_by_partition(rows: pa.Table, partition_columns: tuple[str, ...]) -> Iterator[tuple[PartitionKey, pa.Table]]:
    """Split rows by serialised partition values and leave the partition columns out, as Delta's files do."""
    if rows.num_rows == 0:
        return
    if not partition_columns:
        yield (), rows
        return
    stored = rows.drop_columns(list(partition_columns))
    texts = [_serialized(rows.column(name)) for name in partition_columns]
    keys = pa.table({f"key_{i}": text for i, text in enumerate(texts)})
    keys = keys.append_column("row", pa.array(np.arange(rows.num_rows)))
    names = keys.column_names[:-1]
    groups = keys.group_by(names).aggregate([("row", "list")])
    numbers = groups.column("row_list").combine_chunks()
    for group, key in enumerate(groups.select(names).to_pylist()):
        part = stored if groups.num_rows == 1 else stored.take(numbers[group].values)  # take copies every column
        yield tuple(key.values()), part


def _serialized(column: pa.ChunkedArray) -> pa.Array:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    if pa.types.is_float32(column.type):
        values = [serialize(_shortest(v)) for v in encoded.dictionary]
    else:
        values = [serialize(v) for v in encoded.dictionary.to_pylist()]
    return pc.take(pa.array(values, pa.string()), encoded.indices)


def _shortest(value: pa.Scalar) -> float | None:
    return None if not value.is_valid else float(value.cast(pa.string()).as_py())
