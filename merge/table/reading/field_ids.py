"""Files of tables with column mapping by id: their columns must have the names that the table's ids stand for (R-709).

A reader by id finds a column whatever a file calls it. Spark reads by id only with a setting of the whole session. So
files are read by name, and a file that calls a column otherwise, as converted Iceberg tables have, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from mergecheck.merge.errors import UnsupportedTableError
from mergecheck.merge.table.log.column_mapping import COLUMN_ID
from mergecheck.merge.table.storage.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import types as t

    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

_FIELD_ID = b"PARQUET:field_id"


def check_field_ids(snapshot: Snapshot, files: Iterable[DataFile]) -> None:
    """Compare the names and ids of columns between files and table, at every depth of structs.

    Raises:
        UnsupportedTableError: a column of a file has an id of the table and another name, or no id.
    """
    storage = open_storage(snapshot.location, snapshot.access)
    for file in files:
        with storage.local_copy(file.location) as path:
            stored = pq.read_schema(path)
        for name in _misnamed(stored, snapshot.stored_schema.fields):
            raise UnsupportedTableError(
                [f"column mapping by id with a file that has another name or id for {name} ({file.path})"],
                where=snapshot.location,
            )


def _misnamed(stored: Iterable[pa.Field], wanted: Iterable[t.StructField]) -> Iterator[str]:
    ids = {int((field.metadata or {}).get(COLUMN_ID, -1)): field for field in wanted}
    names = {field.name: field for field in ids.values()}
    for found in stored:
        given = int((found.metadata or {}).get(_FIELD_ID, b"-2"))
        by_id, by_name = ids.get(given), names.get(found.name)
        if by_id is not by_name:
            yield found.name
        elif by_name is not None and by_name.dataType.typeName() == "struct":
            yield from _misnamed(found.type, by_name.dataType.fields)  # type: ignore[attr-defined] # a struct
