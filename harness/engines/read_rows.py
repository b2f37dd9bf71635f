"""The rows of a table as an engine in another process has read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mergecheck.harness.engine import UnreadableByEngineError
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema


def arrow_rows(answer: dict[str, Any] | Rejection, out: Path, schema: Schema) -> tuple[Row, ...]:
    """Take rows out of the Arrow file that a worker has written.

    Args:
        answer: the worker's.
        out: the file.
        schema: the columns of the table.

    Raises:
        UnreadableByEngineError: the worker, or the engine in it, failed, or gave other columns.
    """
    if isinstance(answer, Rejection):
        raise UnreadableByEngineError(answer.message)
    if "error" in answer:
        raise UnreadableByEngineError(f"{answer['error']['class']}: {answer['error']['message']}")
    with pa.OSFile(str(out)) as file:
        return rows_in(pa.ipc.open_stream(file).read_all(), schema)


def rows_in(table: pa.Table, schema: Schema) -> tuple[Row, ...]:
    """Read the rows of a table whose columns are those of a schema, in any order.

    Raises:
        UnreadableByEngineError: it has other columns, or values that are none of their types.
    """
    if sorted(table.schema.names) != sorted(schema.names):
        raise UnreadableByEngineError(f"the columns {', '.join(table.schema.names)} instead of {schema.ddl()}")
    try:
        return table_to_rows(table.select(list(schema.names)), schema)
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise UnreadableByEngineError(f"{type(error).__name__}: {error}") from error
