"""The bug model of structs that are cast field by field, whether both sides have the field or not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.model.types.data_types import ArrayType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Source, Value
    from mergecheck.model.types.data_types import DataType


def _fields_fitted(now: Judged) -> Judged | None:
    """Give the structs of sources the fields of the target's columns of the same names, and no others."""
    case = now.case
    columns = {column.name.lower(): column.type for column in case.target.schema.columns}
    source = None if case.source is None else _fitted(case.source, columns)
    tables = {name: _fitted(table, columns) for name, table in case.tables.items()}
    after = replace(case, source=source, tables=tables)
    return None if after == case else now.with_case(after)


def _fitted(table: Source, columns: Mapping[str, DataType]) -> Source:
    given = table.schema.columns
    wanted = [columns.get(column.name.lower(), column.type) for column in given]
    types = [_type(column.type, other) for column, other in zip(given, wanted, strict=True)]
    schema = Schema(tuple(replace(column, type=new) for column, new in zip(given, types, strict=True)))
    rows = tuple(
        tuple(_value(cell, column.type, new) for cell, column, new in zip(row, given, types, strict=True))
        for row in table.rows
    )
    return replace(table, schema=schema, rows=rows)


def _type(given: DataType, wanted: DataType) -> DataType:
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        own = {field.name.lower(): field for field in given.fields}
        if not own.keys() & {field.name.lower() for field in wanted.fields}:
            return given  # nothing in common: such a cast is refused
        fields = [(field, own.get(field.name.lower())) for field in wanted.fields]
        return StructType(
            tuple(
                Field(field.name, field.type) if found is None else replace(found, type=_type(found.type, field.type))
                for field, found in fields
            )
        )
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return replace(given, element=_type(given.element, wanted.element))
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        return replace(given, key=_type(given.key, wanted.key), value=_type(given.value, wanted.value))
    return given


def _value(value: Value, given: DataType, new: DataType) -> Value:
    if value is None or given == new:
        return value
    if isinstance(given, StructType) and isinstance(new, StructType):
        cells = {field.name.lower(): (cell, field.type) for cell, field in zip(value, given.fields, strict=True)}
        return tuple(
            _value(*cells[field.name.lower()], field.type) if field.name.lower() in cells else None
            for field in new.fields
        )
    if isinstance(given, ArrayType) and isinstance(new, ArrayType):
        return tuple(_value(item, given.element, new.element) for item in value)
    if isinstance(given, MapType) and isinstance(new, MapType):
        return tuple((_value(k, given.key, new.key), _value(v, given.value, new.value)) for k, v in value)
    return value


BUG_MODELS = (
    BugModel(
        name="structs take the fields that their columns have, by name", phase=Phase.REWRITE, apply=_fields_fitted
    ),
)
