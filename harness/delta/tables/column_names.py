"""Column mapping in the tables of cases: ids and physical names of columns, as the log's schema has them (R-709)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mergecheck.model.table_properties import COLUMN_MAPPING
from mergecheck.model.types.data_types import ArrayType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.types.data_types import DataType

MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
COLUMN_ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
FIELD_ID = b"PARQUET:field_id"

_OF_DROPPED = 7
"""The value of every row in a column that was dropped."""

Spelled = dict[str, Any]


def maps_columns(properties: Mapping[str, str]) -> bool:
    """Return whether the properties of a table switch column mapping on."""
    return properties.get(COLUMN_MAPPING, "none").lower() != "none"


def with_mapping(text: str, *, renamed: bool) -> tuple[str, int]:
    """Give every column and field of a log's schema an id and a physical name.

    Args:
        text: the schema in the log's notation.
        renamed: each field once had the name that the next one has now; otherwise no name resembles another.

    Returns:
        The schema, and the greatest id.
    """
    spelled = json.loads(text)
    last = 0
    for struct in _structs(spelled):
        names = [member["name"] for member in struct["fields"]]
        for place, member in enumerate(struct["fields"]):
            last += 1
            name = names[(place + 1) % len(names)] if renamed else f"col-{last:08x}"
            member["metadata"] = {**(member.get("metadata") or {}), COLUMN_ID: last, PHYSICAL_NAME: name}
    return json.dumps(spelled, ensure_ascii=False), last


def stored_schema(schema: Schema, text: str) -> Schema:
    """Return a table's columns with the names that its files have for them, in the same order.

    Args:
        schema: the columns.
        text: the same in the log's notation.
    """
    return Schema(_stored_fields(schema.columns, json.loads(text)))


def stored_names(names: tuple[str, ...], schema: Schema, stored: Schema) -> tuple[str, ...]:
    """Name some columns of a table as its files do."""
    return tuple(stored.names[schema.names.index(name)] for name in names)


def with_ids(table: pa.Table, text: str, *, dropped: tuple[str, ...]) -> pa.Table:
    """Give the columns of a file, and the fields of its structs, the ids that the log's schema has for them.

    Args:
        table: the rows of the file.
        text: the schema in the log's notation.
        dropped: names of further columns, which the table no longer has.
    """
    fields = _fields_with_ids(table.schema, json.loads(text))
    table = pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
    last = max(member["metadata"][COLUMN_ID] for struct in _structs(json.loads(text)) for member in struct["fields"])
    for number, name in enumerate(dropped, start=last + 1):
        field = pa.field(name, pa.int32(), metadata={FIELD_ID: str(number)})
        table = table.append_column(field, pa.array([_OF_DROPPED] * table.num_rows, pa.int32()))
    return table


def _structs(spelled: str | Spelled) -> Iterator[Spelled]:
    """Go through the structs of a schema, from the outside to the inside."""
    if isinstance(spelled, str):
        return
    if "fields" in spelled:
        yield spelled
        for member in spelled["fields"]:
            yield from _structs(member["type"])
    for key in ("elementType", "keyType", "valueType"):
        if key in spelled:
            yield from _structs(spelled[key])


def _stored_fields(fields: tuple[Field, ...], spelled: Spelled) -> tuple[Field, ...]:
    return tuple(
        Field(_stored_name(member), _stored_type(field.type, member["type"]), field.nullable)
        for field, member in zip(fields, spelled["fields"], strict=True)
    )


def _stored_type(data_type: DataType, spelled: Any) -> DataType:  # noqa: ANN401 - JSON
    match data_type:
        case StructType(fields):
            return StructType(_stored_fields(fields, spelled))
        case ArrayType(element):
            return ArrayType(_stored_type(element, spelled["elementType"]))
        case MapType(key, value):
            return MapType(_stored_type(key, spelled["keyType"]), _stored_type(value, spelled["valueType"]))
    return data_type


def _stored_name(member: Spelled) -> str:
    return str((member.get("metadata") or {}).get(PHYSICAL_NAME, member["name"]))


def _fields_with_ids(fields: Any, spelled: Spelled) -> list[pa.Field]:  # noqa: ANN401 - of a schema or a struct
    members = {_stored_name(member): member for member in spelled["fields"]}
    return [_field_with_id(field, members[field.name]) for field in fields]


def _field_with_id(field: pa.Field, member: Spelled) -> pa.Field:
    number = member["metadata"][COLUMN_ID]
    return pa.field(field.name, _type_with_ids(field.type, member["type"]), metadata={FIELD_ID: str(number)})


def _type_with_ids(data_type: pa.DataType, spelled: Any) -> pa.DataType:  # noqa: ANN401 - JSON
    if pa.types.is_struct(data_type):
        return pa.struct(_fields_with_ids(data_type, spelled))
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_type_with_ids(data_type.value_type, spelled["elementType"])))
    if pa.types.is_map(data_type):
        key = _type_with_ids(data_type.key_type, spelled["keyType"])
        return pa.map_(key, _type_with_ids(data_type.item_type, spelled["valueType"]))
    return data_type
