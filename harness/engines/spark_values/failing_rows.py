"""Which rows an expression fails on, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

Values = tuple[pa.ChunkedArray, pa.Array]


def evaluate_rows(evaluate: Callable[[pa.Table], pa.ChunkedArray | str], rows: pa.Table) -> Values:
    """Evaluate an expression on rows, and on halves of them if it fails on some.

    Args:
        evaluate: gives the values, or the error class if the expression fails on some row.
        rows: the rows.

    Returns:
        The values, NULL where the expression fails, and the error class there, NULL elsewhere.
    """
    parts = _parts(evaluate, rows)
    types = [values.type for values, _ in parts if not isinstance(values, str)]
    data_type = types[0] if types else pa.null()
    values = [
        chunk
        for part, size in parts
        for chunk in ([pa.nulls(size, data_type)] if isinstance(part, str) else part.chunks)
    ]
    errors = [part if isinstance(part, str) else None for part, size in parts for _ in range(size)]
    return pa.chunked_array(values, type=data_type), pa.array(errors, type=pa.string())


def _parts(
    evaluate: Callable[[pa.Table], pa.ChunkedArray | str], rows: pa.Table
) -> list[tuple[pa.ChunkedArray | str, int]]:
    if not rows.num_rows:
        return []
    found = evaluate(rows)
    if rows.num_rows == 1 or not isinstance(found, str):
        return [(found, rows.num_rows)]
    half = rows.num_rows // 2
    return [*_parts(evaluate, rows.slice(0, half)), *_parts(evaluate, rows.slice(half))]
