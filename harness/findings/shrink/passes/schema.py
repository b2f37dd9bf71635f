"""Candidates for a case with less in its tables: without a column, a nested field, or a value that a column has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import words_of
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import ArrayType, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import DataType, Field

    Path = tuple[str, ...]
    Convert = Callable[[Value], Value]

# Steps into an array and into the values of a map. Keys are left alone: with fewer fields, two of them may be equal.
_ELEMENT, _VALUE = "<element>", "<value>"


def without_columns(case: Case) -> Iterator[Case]:
    """Yield cases without one column: in both tables, in the target only, in the source only."""
    mentioned = words_of(case.sql)
    source = case.source.schema.names if case.source is not None else ()
    for name in dict.fromkeys((*case.target.schema.names, *source)):
        if name.lower() in mentioned or name in case.target.partition_by:
            continue
        in_source = _without_source_column(case, name)
        yield _without_target_column(in_source, name)
        yield _without_target_column(case, name)
        yield in_source


def without_fields(case: Case) -> Iterator[Case]:
    """Yield cases without one nested field: in both tables, in the target only, in the source only."""
    mentioned = words_of(case.sql)
    source = case.source.schema if case.source is not None else Schema(())
    for path in dict.fromkeys(path for schema in (case.target.schema, source) for path in _paths_of(schema)):
        if path[-1].lower() in mentioned:
            continue
        in_source = _without_source_field(case, path)
        yield _without_target_field(in_source, path)
        yield _without_target_field(case, path)
        yield in_source


def without_own_values(case: Case) -> Iterator[Case]:
    """Yield cases in which one column of the target lost its default, its lengths, its NOT NULL or the like."""
    columns = case.target.schema.columns
    for i, column in enumerate(columns):
        bare = as_nullable(Schema((column,))).columns[0]
        for smaller in (
            replace(column, default=None),
            replace(column, generated=None),
            replace(column, limits=()),
            replace(column, nullable=True),
            replace(column, type=bare.type),
        ):
            if smaller != column:
                yield _with_target_schema(case, Schema((*columns[:i], smaller, *columns[i + 1 :])))


def _paths_of(schema: Schema) -> Iterator[Path]:
    for column in schema.columns:
        for path in _paths(column.type):
            yield (column.name, *path)


def _paths(data_type: DataType) -> Iterator[Path]:
    """Yield the way to every field of every struct inside a type, the deepest first."""
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            for path in _paths(field.type):
                yield (field.name, *path)
            yield (field.name,)
    elif isinstance(data_type, ArrayType):
        for path in _paths(data_type.element):
            yield (_ELEMENT, *path)
    elif isinstance(data_type, MapType):
        for path in _paths(data_type.value):
            yield (_VALUE, *path)


def _without_target_field(case: Case, path: Path) -> Case:
    dropped = _without_nested(case.target.schema, path)
    if dropped is None:
        return case
    schema, convert = dropped
    files = tuple(tuple(map(convert, rows)) for rows in case.target.files)
    return replace(case, target=replace(case.target, schema=schema, files=files))


def _without_source_field(case: Case, path: Path) -> Case:
    dropped = _without_nested(case.source.schema, path) if case.source is not None else None
    if case.source is None or dropped is None:
        return case
    schema, convert = dropped
    return replace(case, source=replace(case.source, schema=schema, rows=tuple(map(convert, case.source.rows))))


def _without_nested(schema: Schema, path: Path) -> tuple[Schema, Callable[[Row], Row]] | None:
    i = _place(schema.columns, path[0])
    dropped = None if i is None else _without_field(schema.columns[i].type, path[1:])
    if i is None or dropped is None:
        return None
    data_type, convert = dropped
    columns = (*schema.columns[:i], replace(schema.columns[i], type=data_type), *schema.columns[i + 1 :])
    return Schema(columns), lambda row: (*row[:i], convert(row[i]), *row[i + 1 :])


def _without_field(data_type: DataType, path: Path) -> tuple[DataType, Convert] | None:
    """Drop a field from a type and from its values; None if it is not there or is the only one."""
    step, rest = path[0], path[1:]
    if isinstance(data_type, StructType):
        return _without_member(data_type, step, rest)
    if isinstance(data_type, ArrayType) and step == _ELEMENT and (inner := _without_field(data_type.element, rest)):
        element, convert = inner
        return ArrayType(element), _unless_null(lambda value: tuple(map(convert, value)))
    if isinstance(data_type, MapType) and step == _VALUE and (inner := _without_field(data_type.value, rest)):
        item, convert = inner
        return MapType(data_type.key, item), _unless_null(lambda value: tuple((k, convert(v)) for k, v in value))
    return None


def _without_member(struct: StructType, name: str, rest: Path) -> tuple[DataType, Convert] | None:
    fields = struct.fields
    i = _place(fields, name)
    if i is None:
        return None
    if not rest:
        kept = fields[:i] + fields[i + 1 :]
        return (StructType(kept), _unless_null(lambda value: value[:i] + value[i + 1 :])) if kept else None
    inner = _without_field(fields[i].type, rest)
    if inner is None:
        return None
    data_type, convert = inner
    changed = StructType((*fields[:i], replace(fields[i], type=data_type), *fields[i + 1 :]))
    return changed, _unless_null(lambda value: (*value[:i], convert(value[i]), *value[i + 1 :]))


def _place(fields: tuple[Field, ...], name: str) -> int | None:
    return next((i for i, field in enumerate(fields) if field.name.casefold() == name.casefold()), None)


def _unless_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _without_target_column(case: Case, name: str) -> Case:
    schema = case.target.schema
    if name not in schema.names or len(schema.columns) == 1:
        return case
    i = schema.names.index(name)
    files = tuple(_without_cell(rows, i) for rows in case.target.files)
    layout = case.target.layout
    added, clusters = (
        tuple(other for other in names if other != name) for names in (layout.added_columns, layout.cluster_by)
    )
    target = replace(case.target, schema=_without_column(schema, i), files=files)
    widened = {other: kind for other, kind in layout.widened_columns.items() if other != name}
    layout = replace(layout, added_columns=added, cluster_by=clusters, widened_columns=widened)
    return replace(case, target=replace(target, layout=layout))


def _without_source_column(case: Case, name: str) -> Case:
    if case.source is None or name not in case.source.schema.names or len(case.source.schema.columns) == 1:
        return case
    i = case.source.schema.names.index(name)
    schema, rows = _without_column(case.source.schema, i), _without_cell(case.source.rows, i)
    return replace(case, source=replace(case.source, schema=schema, rows=rows))


def _with_target_schema(case: Case, schema: Schema) -> Case:
    return replace(case, target=replace(case.target, schema=schema))


def _without_column(schema: Schema, i: int) -> Schema:
    return Schema(schema.columns[:i] + schema.columns[i + 1 :])


def _without_cell(rows: tuple[Row, ...], i: int) -> tuple[Row, ...]:
    return tuple(row[:i] + row[i + 1 :] for row in rows)
