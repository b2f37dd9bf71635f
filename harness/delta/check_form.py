"""The form of data files: a column has the name, the id and the Parquet type that other readers look for (R-719)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.tables.column_names import COLUMN_ID, PHYSICAL_NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mergecheck.harness.delta.parquet_schema import Element

Spelled = Any
"""A type or a struct of the log's schema: JSON."""

CHANGE_TYPE = "_change_type"
_IS_CHANGE = "__is_cdc"
"""A column by which Delta Lake splits its output into data files and change files; it writes it into both."""

WRITES_PARTITIONS = "delta.writePartitionColumnsToParquet"
_MICROS = "TIMESTAMP(MICROS, UTC)"
_FORMS: Mapping[str, frozenset[tuple[str, str]]] = {
    "boolean": frozenset({("BOOLEAN", "")}),
    "byte": frozenset({("INT32", "INT_8")}),
    "short": frozenset({("INT32", "INT_16")}),
    "integer": frozenset({("INT32", ""), ("INT32", "INT_32")}),
    "long": frozenset({("INT64", ""), ("INT64", "INT_64")}),
    "float": frozenset({("FLOAT", "")}),
    "double": frozenset({("DOUBLE", "")}),
    "string": frozenset({("BYTE_ARRAY", "STRING")}),
    "binary": frozenset({("BYTE_ARRAY", "")}),
    "date": frozenset({("INT32", "DATE")}),
    "timestamp": frozenset({("INT96", ""), ("INT64", _MICROS)}),
    "timestamp_ntz": frozenset({("INT96", ""), ("INT64", "TIMESTAMP(MICROS, LOCAL)")}),
}
"""The section "Delta Data Type to Parquet Type Mappings" of Delta's protocol: physical type and annotation."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_VOID, _VARIANT = "void", "variant"
_MAX_DIGITS = {"INT32": 9, "INT64": 18}


def form_faults(
    columns: Sequence[Element],
    schema_json: str,
    *,
    without: Collection[str] = (),
    maps_columns: bool,
    ids_of_rows: Collection[str] = (),
    has_changes: bool = False,
    may_have_changes: bool = False,
) -> Iterator[str]:
    """List differences of a new file from the form in which Delta's protocol stores the rows of a table.

    A column that the file lacks is NULL in all its rows, and columns may be in any order, so neither is a fault.

    Args:
        columns: of the file.
        schema_json: the columns of the table in the log's notation.
        without: columns that the file must not have, by the names that files have for them.
        maps_columns: whether files have physical names and ids for columns (R-709).
        ids_of_rows: names of the columns that hold ids and versions of rows (R-725).
        has_changes: whether it is a change file, which has a column with the types of changes (R-603).
        may_have_changes: whether it may have that column.
    """
    fields = {_name(field, maps_columns): field for field in json.loads(schema_json)["fields"]}
    beside = dict.fromkeys(ids_of_rows, "long")
    if has_changes or may_have_changes:
        beside |= {CHANGE_TYPE: "string", _IS_CHANGE: "boolean"}
    for name, count in Counter(column.name for column in columns).items():
        if count > 1:
            yield f"a file has {count} columns {name}"
    for column in columns:
        if column.name in without:
            yield f"a file has the partition column {column.name}, but {WRITES_PARTITIONS} is false"
        elif column.name in fields:
            yield from _field_faults(column, fields[column.name], maps_columns=maps_columns, above="")
        elif column.name in beside:
            yield from _type_faults(column, beside[column.name], maps_columns=False, path=column.name)
            if maps_columns and column.field_id is not None:
                yield f"{column.name} has the field id {column.field_id}, but is no column of the table"
        else:
            yield f"a file has the column {column.name}, which the table has not"
    if has_changes and CHANGE_TYPE not in {column.name for column in columns}:
        yield f"a change file has no column {CHANGE_TYPE}"


def _name(field: Spelled, maps_columns: bool) -> str:  # noqa: FBT001 - of one function
    return str((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]) if maps_columns else field["name"])


def _field_faults(found: Element, field: Spelled, *, maps_columns: bool, above: str) -> Iterator[str]:
    path = f"{above}{field['name']}"
    if maps_columns and found.field_id != (wanted := field["metadata"][COLUMN_ID]):
        yield f"field id {'none' if found.field_id is None else found.field_id} of {path}, whose column id is {wanted}"
    yield from _type_faults(found, field["type"], maps_columns=maps_columns, path=path)


def _type_faults(found: Element, spelled: Spelled, *, maps_columns: bool, path: str) -> Iterator[str]:
    if found.repetition == "REPEATED":
        yield f"{path} is repeated"
    elif isinstance(spelled, str):
        if not _is_stored_as(found, spelled):
            yield f"{path} is stored as {found.form}, which no file has for {spelled}"
    elif spelled["type"] == "struct":
        yield from _struct_faults(found, spelled, maps_columns=maps_columns, path=path)
    elif spelled["type"] == "array":
        element = _members(found, "LIST", ("list", "element"))
        if element is None:
            yield f"{path} is stored as {_layout(found)}, but a list is LIST(list(element))"
        else:
            (member,) = element
            yield from _type_faults(member, spelled["elementType"], maps_columns=maps_columns, path=f"{path}.element")
    else:
        pair = _members(found, "MAP", ("key_value", "key", "value"))
        if pair is None or pair[0].repetition != "REQUIRED":
            yield f"{path} is stored as {_layout(found)}, but a map is MAP(key_value(required key, value))"
        else:
            for member, key in zip(pair, ("key", "value"), strict=True):
                yield from _type_faults(member, spelled[f"{key}Type"], maps_columns=maps_columns, path=f"{path}.{key}")


def _struct_faults(found: Element, spelled: Spelled, *, maps_columns: bool, path: str) -> Iterator[str]:
    if found.physical or found.annotation:
        yield f"{path} is stored as {found.form}, but a struct is a group"
        return
    fields = {_name(field, maps_columns): field for field in spelled["fields"]}
    for name, count in Counter(member.name for member in found.children).items():
        if count > 1:
            yield f"{path} has {count} fields {name}"
    for member in found.children:
        if member.name in fields:
            yield from _field_faults(member, fields[member.name], maps_columns=maps_columns, above=f"{path}.")
        else:
            yield f"{path} has the field {member.name}, which the table has not"


def _is_stored_as(found: Element, word: str) -> bool:
    """Return whether a type other than a struct, list or map is stored in an allowed form."""
    if word == _VOID:
        return False  # such columns are in no file
    if word == _VARIANT:
        values = {member.name: member.physical for member in found.children}
        return values == {"value": "BYTE_ARRAY", "metadata": "BYTE_ARRAY"}
    if (decimal := _DECIMAL.fullmatch(word)) is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        return found.annotation == f"DECIMAL({precision}, {scale})" and precision <= _digits(found)
    forms = _FORMS.get(word)
    return forms is None or (found.physical, found.annotation) in forms


def _digits(found: Element) -> int:
    """Give the most digits that every number of a decimal column has room for."""
    if found.physical == "FIXED_LEN_BYTE_ARRAY":
        return len(str(2 ** (8 * found.length - 1) - 1)) - 1 if found.length else 0
    return _MAX_DIGITS.get(found.physical, 0)


def _members(found: Element, annotation: str, names: tuple[str, ...]) -> tuple[Element, ...] | None:
    """Return the members of a list or a map, if it has the standard's three levels and names."""
    middle = found.children[0] if len(found.children) == 1 else None
    if found.annotation != annotation or middle is None or middle.repetition != "REPEATED" or middle.physical:
        return None
    is_standard = (middle.name, *(member.name for member in middle.children)) == names
    return middle.children if is_standard else None


def _layout(found: Element) -> str:
    inside = ", ".join(_layout(member) for member in found.children)
    return f"{found.annotation or found.physical or 'group'} {found.name}{inside and f'({inside})'}"
