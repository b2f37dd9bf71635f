"""NOT NULL (R-741), the one constraint of the tables that this package writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import types as t


def not_null_paths(schema: t.StructType, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """List the columns and fields of structs that must not be NULL; arrays and maps are not looked into."""
    for field in schema.fields:
        path = (*prefix, field.name)
        if not field.nullable:
            yield path
        if field.dataType.typeName() == "struct":
            yield from not_null_paths(field.dataType, path)  # type: ignore[arg-type] # a struct type, by its name


def first_violation(rows: pa.Table, paths: Iterable[tuple[str, ...]]) -> str | None:
    """Name the first path that holds a NULL where it must not; None if all is well.

    A field of a NULL struct is no violation: the struct itself would have to be NOT NULL.
    """
    for path in paths:
        if _violates(rows, path):
            return ".".join(path)
    return None


def _violates(rows: pa.Table, path: tuple[str, ...]) -> bool:
    values = rows.column(path[0])
    present = None
    for name in path[1:]:
        present = pc.is_valid(values)
        values = pc.struct_field(values, [name])
    missing = pc.is_null(values)
    if present is not None:
        missing = pc.and_(missing, present)
    return bool(pc.any(missing).as_py())
