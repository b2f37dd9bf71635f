"""NOT NULL (R-741), the one constraint of the tables that this package writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def first_violation(rows: pa.Table, paths: Mapping[tuple[str, ...], str]) -> str | None:
    """Name the first path that contains a forbidden NULL, as messages call it; None if there is none.

    The fields of a NULL struct are NULL, as they are in Delta's own check (R-741).
    """
    return next((name for path, name in paths.items() if _violates(rows, path)), None)


def _violates(rows: pa.Table, path: tuple[str, ...]) -> bool:
    values = rows.column(path[0])
    for name in path[1:]:
        values = pc.struct_field(values, [name])  # NULL if the struct is
    return bool(pc.any(pc.is_null(values)).as_py())
