"""The live rows of a table from another writer, file by file, with deletion vectors and column mapping."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from mergecheck.harness.delta.tables.column_names import maps_columns, stored_schema
from mergecheck.harness.delta.tables.stored_rows import file_rows
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltalake import DeltaTable

    from mergecheck.model.case import Row

_FEATURES = frozenset({"columnMapping", "deletionVectors", "typeWidening"})


def is_beyond_arrow(table: DeltaTable) -> bool:
    """Return whether delta-rs gives no Arrow dataset of a table, because its files need more than to be read."""
    return bool(_FEATURES & {*(table.protocol().reader_features or ())}) or maps_columns(table.metadata().configuration)


def live_files(table: DeltaTable, path: Path, schema: Schema) -> tuple[tuple[Row, ...], ...]:
    """Read the rows of each file that its deletion vector keeps.

    Files, partition values and vectors come from delta-rs, which reads checkpoints, too.

    Args:
        table: as delta-rs opened it.
        path: its folder.
        schema: its columns, by the names that they have now.

    Raises:
        ValueError: a column's type in a file is not one that evolves to the table's.
        OSError: a file cannot be read.
    """
    partition_by = table.metadata().partition_columns
    stored = stored_schema(schema, table.schema().to_json())
    named = zip(stored.columns, schema.names, strict=True)
    inside = Schema(tuple(column for column, name in named if name not in partition_by))
    kept = _kept_rows(table)
    files = []
    for add in pa.table(table.get_add_actions()).to_pylist():
        rows = file_rows(path, add, schema=inside, partition_by=())
        mask = kept.get(_name(unquote(add["path"])), ())
        values = [add["partition"][column.name] for column in schema.columns if column.name in partition_by]
        live = (row for place, row in enumerate(rows) if place >= len(mask) or mask[place])
        files.append(tuple(_whole(row, values, schema, partition_by) for row in live))
    return tuple(files)


def _kept_rows(table: DeltaTable) -> dict[str, Sequence[bool]]:
    """Return for each file with a deletion vector which rows it keeps; a vector may end before the file does."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}  # delta-rs gives no vectors for a table with a feature that it does not read, such as typeWidening
    found = [row for batch in table.deletion_vectors() for row in pa.record_batch(batch).to_pylist()]
    return {_name(unquote(urlsplit(row["filepath"]).path)): row["selection_vector"] for row in found}


def _name(path: str) -> str:
    """Give the name of a file, which no other file of the table has."""
    return PurePosixPath(path).name


def _whole(row: Row, values: Sequence[object], schema: Schema, partition_by: Sequence[str]) -> Row:
    """Put partition values between the values that the file has."""
    of_file, of_log = iter(row), iter(values)
    return tuple(next(of_log if column.name in partition_by else of_file) for column in schema.columns)
