"""Invariants about the record of changed types in the log's schema: complete, and old entries stay (R-716)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mergecheck.model.schema_json import type_to_json
from mergecheck.model.types.data_types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.model.types.data_types import DataType, Field, Schema

TYPE_CHANGES = "delta.typeChanges"
"""The metadata entry of a column or field that lists its former types."""


def widening_faults(before: Schema, after: Schema, record: CommitRecord) -> Iterator[str]:
    """List the faults of the record of changed types.

    Args:
        before: the table's columns before the merge.
        after: those after it.
        record: the log's record of them.
    """
    for path, old, new in _kept_fields(before.columns, after.columns, ""):
        name = f"{TYPE_CHANGES} of column {path}"
        said = [json.loads(one.get(name, "[]")) for one in (record.definition_before, record.definition)]
        wanted = [*said[0], *type_changes(old, new)]
        if said[1] != wanted:
            yield f"{name} is {json.dumps(said[1])}, but must be {json.dumps(wanted)}"
    for path in sorted(record.added_columns):
        if f"{TYPE_CHANGES} of column {path}" in record.definition:
            yield f"the new column {path} has {TYPE_CHANGES}"


def type_changes(old: DataType, new: DataType) -> list[dict[str, str]]:
    """List the entries that the log must have of a column or field whose type changed."""
    return list(_changes(old, new, ()))


def _kept_fields(
    before: tuple[Field, ...], after: tuple[Field, ...], start: str
) -> Iterator[tuple[str, DataType, DataType]]:
    """Pair the columns and fields that both schemas have, with the paths that the record gives them."""
    found = {field.name: field.type for field in after}
    for field in before:
        if field.name in found:
            path = f"{start}{field.name}"
            yield path, field.type, found[field.name]
            yield from _inside(field.type, found[field.name], path)


def _inside(old: DataType, new: DataType, path: str) -> Iterator[tuple[str, DataType, DataType]]:
    if isinstance(old, StructType) and isinstance(new, StructType):
        yield from _kept_fields(old.fields, new.fields, f"{path}.")
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _inside(old.element, new.element, f"{path}.element")
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _inside(old.key, new.key, f"{path}.key")
        yield from _inside(old.value, new.value, f"{path}.value")


def _changes(old: DataType, new: DataType, path: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """List the entries that a field owes to its own types: structs in it have fields with entries of their own."""
    if isinstance(old, StructType) or isinstance(new, StructType):
        return
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _changes(old.element, new.element, (*path, "element"))
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _changes(old.key, new.key, (*path, "key"))
        yield from _changes(old.value, new.value, (*path, "value"))
    elif old != new:
        place = {"fieldPath": ".".join(path)} if path else {}
        yield {"fromType": str(type_to_json(old)), "toType": str(type_to_json(new)), **place}
