"""Candidates for a case without structs of one field: the field's value is the column's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import without_field
from mergecheck.model.types.data_types import Schema, StructType, limits_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import Field


def without_structs(case: Case) -> Iterator[Case]:
    """Yield cases in which the columns of one name lost the struct around their only field, in both tables at once."""
    source = case.source.schema.columns if case.source is not None else ()
    lone = {
        (column.name.lower(), column.type.fields[0].name)
        for column in (*case.target.schema.columns, *source)
        if _is_lone(column) and isinstance(column.type, StructType)
    }
    for name, field in sorted(lone):
        yield _unwrapped(case, name, field)


def _unwrapped(case: Case, name: str, field: str) -> Case:
    schema = case.target.schema
    files = tuple(_unwrapped_rows(rows, schema, name) for rows in case.target.files)
    target = replace(case.target, schema=_unwrapped_schema(schema, name), files=files)
    source = case.source
    if source is not None:
        rows = _unwrapped_rows(source.rows, source.schema, name)
        source = replace(source, schema=_unwrapped_schema(source.schema, name), rows=rows)
    return replace(case, target=target, source=source, sql=without_field(case.sql, name, field))


def _unwrapped_schema(schema: Schema, name: str) -> Schema:
    return Schema(
        tuple(
            _unwrapped_column(column, column.type.fields[0])
            if column.name.lower() == name and isinstance(column.type, StructType) and _is_lone(column)
            else column
            for column in schema.columns
        )
    )


def _unwrapped_column(column: Field, only: Field) -> Field:
    return replace(column, type=only.type, limits=limits_below(column.limits, only.name))


def _unwrapped_rows(rows: tuple[Row, ...], schema: Schema, name: str) -> tuple[Row, ...]:
    places = {i for i, column in enumerate(schema.columns) if column.name.lower() == name and _is_lone(column)}
    return tuple(tuple(_inside(cell) if i in places else cell for i, cell in enumerate(row)) for row in rows)


def _inside(cell: Value) -> Value:
    return None if cell is None else cell[0]


def _is_lone(column: Field) -> bool:
    """Return whether a column is a struct of one field, with no value that contradicts this."""
    is_plain = column.default is None and column.generated is None
    return is_plain and isinstance(column.type, StructType) and len(column.type.fields) == 1
