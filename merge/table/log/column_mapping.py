"""Column mapping: the names that files and statistics have for columns, and the ids of new columns (R-709)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as t

from mergecheck.merge.errors import DamagedLogError
from mergecheck.merge.types.fields import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.merge.table.log.protocol import Protocol

MODE: Final = "delta.columnMapping.mode"
MAX_COLUMN_ID: Final = "delta.columnMapping.maxColumnId"
COLUMN_ID: Final = "delta.columnMapping.id"
PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
_FEATURE: Final = "columnMapping"
# The versions that imply the feature, below those that name features.
_READER_VERSION, _WRITER_VERSIONS = 2, (5, 6)


class MappingMode(Enum):
    """How a table's columns are found in its files; the value is the property's."""

    NONE = "none"
    NAME = "name"
    ID = "id"


def mapping_mode(properties: Mapping[str, str], protocol: Protocol) -> MappingMode:
    """Read the mode; a table whose protocol lacks the feature has none, whatever its property is.

    Raises:
        ValueError: the property has another value.
    """
    implied = protocol.min_reader_version == _READER_VERSION and protocol.min_writer_version in _WRITER_VERSIONS
    if _FEATURE not in protocol.features and not implied:
        return MappingMode.NONE
    return MappingMode(properties.get(MODE, MappingMode.NONE.value).lower())


def stored_schema(schema: t.StructType, mode: MappingMode, *, where: str) -> t.StructType:
    """Give the columns by the names that files have for them; the positions and the metadata are the same.

    Args:
        schema: a schema of the table.
        mode: the table's.
        where: the table, for messages.

    Raises:
        DamagedLogError: a column has no physical name or no id.
    """
    if mode is MappingMode.NONE:
        return schema
    for part in parts_of(schema):
        if part.field is not None and not {COLUMN_ID, PHYSICAL_NAME} <= (part.field.metadata or {}).keys():
            reason = f"column mapping is on, but the column {'.'.join(part.path)} has no id or no physical name"
            raise DamagedLogError(reason, where=where)
    return _stored_struct(schema)


def _stored_struct(struct: t.StructType) -> t.StructType:
    return t.StructType(
        [
            t.StructField(f.metadata[PHYSICAL_NAME], _stored_type(f.dataType), f.nullable, f.metadata)
            for f in struct.fields
        ]
    )


def _stored_type(data_type: t.DataType) -> t.DataType:
    if isinstance(data_type, t.StructType):
        return _stored_struct(data_type)
    if isinstance(data_type, t.ArrayType):
        return t.ArrayType(_stored_type(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, t.MapType):
        key, value = _stored_type(data_type.keyType), _stored_type(data_type.valueType)
        return t.MapType(key, value, data_type.valueContainsNull)
    return data_type


def logical_statistics(tree: Mapping[str, Any], schema: t.StructType, stored: t.StructType) -> dict[str, Any]:
    """Name the columns and fields of statistics as the table does; a column that the table has no more is left out."""
    found = {}
    for field, by_file in zip(schema.fields, stored.fields, strict=True):
        value = tree.get(by_file.name)
        if isinstance(value, dict) and isinstance(field.dataType, t.StructType):
            value = logical_statistics(value, field.dataType, by_file.dataType)  # type: ignore[arg-type] # alike
        found[field.name] = value
    return found


def stored_path(path: tuple[str, ...], schema: t.StructType, stored: t.StructType) -> tuple[str, ...]:
    """Return the name of a column or a struct's field in files, whatever the case; an unknown one keeps its name."""
    if not path:
        return path
    for field, by_file in zip(schema.fields, stored.fields, strict=True):
        if field.name.lower() == path[0].lower():
            if isinstance(field.dataType, t.StructType) and isinstance(by_file.dataType, t.StructType):
                return (by_file.name, *stored_path(path[1:], field.dataType, by_file.dataType))
            return (by_file.name, *path[1:])
    return path


@dataclass(slots=True)
class _Ids:
    """The ids that columns get: each greater than all before."""

    last: int

    def next(self) -> int:
        self.last += 1
        return self.last


def max_column_id(schema: t.StructType, properties: Mapping[str, str]) -> int:
    """Return the greatest id that a column has or, by the table's properties, ever had."""
    known = [int((part.field.metadata or {}).get(COLUMN_ID, 0)) for part in parts_of(schema) if part.field is not None]
    return max([int(properties.get(MAX_COLUMN_ID, "0")), *known])


def with_new_ids(schema: t.StructType, old: t.StructType, properties: Mapping[str, str]) -> t.StructType:
    """Give each new column and field of an evolved schema an id and a physical name that no column ever had.

    Args:
        schema: the table's columns after the merge.
        old: those before.
        properties: of the table before.
    """
    return _numbered_struct(schema, old, _Ids(max_column_id(old, properties)))


def _numbered_struct(struct: t.StructType, old: t.DataType | None, ids: _Ids) -> t.StructType:
    before = {f.name: f for f in old.fields} if isinstance(old, t.StructType) else {}
    fields = []
    for field in struct.fields:
        known = before.get(field.name)
        metadata = dict(field.metadata or {})
        if known is None:
            metadata |= {COLUMN_ID: ids.next(), PHYSICAL_NAME: f"col-{uuid.uuid4()}"}
        kind = _numbered_type(field.dataType, None if known is None else known.dataType, ids)
        fields.append(t.StructField(field.name, kind, field.nullable, metadata))
    return t.StructType(fields)


def _numbered_type(data_type: t.DataType, old: t.DataType | None, ids: _Ids) -> t.DataType:
    if isinstance(data_type, t.StructType):
        return _numbered_struct(data_type, old, ids)
    if isinstance(data_type, t.ArrayType):
        element = old.elementType if isinstance(old, t.ArrayType) else None
        return t.ArrayType(_numbered_type(data_type.elementType, element, ids), data_type.containsNull)
    if isinstance(data_type, t.MapType):
        key, value = (old.keyType, old.valueType) if isinstance(old, t.MapType) else (None, None)
        keys = _numbered_type(data_type.keyType, key, ids)
        return t.MapType(keys, _numbered_type(data_type.valueType, value, ids), data_type.valueContainsNull)
    return data_type
