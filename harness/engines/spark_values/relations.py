"""The SELECT that evaluates expressions on given rows, and the view that holds these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from mergecheck.model.arrow import arrow_type, rows_to_table, table_to_rows
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import ArrayType, Field, MapType, NestedType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.expressions.names import Relation

ROWS_VIEW = "mergecheck_rows"
ROW_NUMBER = "mergecheck_row"


def select(texts: Sequence[str], relations: Sequence[Relation]) -> str:
    """Write the SELECT that evaluates expressions on each row of the view.

    The columns of each relation have their own names and its qualifier; the view's columns are called otherwise, so
    that no name in an expression means them.
    """
    listed = ", ".join([ROW_NUMBER, *(f"(\n{text}\n) AS mergecheck_value_{i}" for i, text in enumerate(texts))])
    sources, place = [ROWS_VIEW], 0
    for number, relation in enumerate(relations):
        columns = []
        for column in relation.schema.columns:
            columns.append(f"{ROWS_VIEW}.{_column(place)} AS {_quoted(column.name)}")
            place += 1
        qualifier = _quoted(relation.qualifier or f"mergecheck_relation_{number}")
        if columns:
            sources.append(f"LATERAL (SELECT {', '.join(columns)}) AS {qualifier}")
    return f"SELECT {listed} FROM {', '.join(sources)}"


def show_rows(session: SparkSession, relations: Sequence[Relation], rows: pa.Table | None) -> None:
    """Make the view of rows; None stands for no rows."""
    given = [column for relation in relations for column in relation.schema.columns]
    fields = [Field(_column(i), column.type, nullable=column.nullable) for i, column in enumerate(given)]
    if rows is None:
        arrays = [pa.nulls(0, arrow_type(field.type)) for field in fields]
        numbers = pa.nulls(0, pa.int64())
    else:
        fields = [_fitting(field, rows.column(i)) for i, field in enumerate(fields)]
        arrays = [_as_type(rows.column(i), field.type) for i, field in enumerate(fields)]
        numbers = pa.array(range(rows.num_rows), type=pa.int64())
    names = [*(field.name for field in fields), ROW_NUMBER]
    ddl = Schema((*fields,)).ddl()
    columns = f"{ddl}, {ROW_NUMBER} BIGINT" if ddl else f"{ROW_NUMBER} BIGINT"
    session.createDataFrame(pa.table([*arrays, numbers], names=names), schema=columns).createOrReplaceTempView(
        ROWS_VIEW
    )


def _as_type(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    wanted = arrow_type(data_type)
    if pa.types.is_null(wanted) or pa.types.is_null(column.type):
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    if not isinstance(data_type, NestedType):
        return column.cast(wanted)
    schema = Schema((Field("c", data_type),))
    return rows_to_table(table_to_rows(pa.table([column], names=["c"]), schema), schema).column(0)


def _fitting(field: Field, column: pa.ChunkedArray) -> Field:
    """Let a column be NULL where its rows are: a new row may break NOT NULL, and its other values are asked for.

    The same for a NULL struct with a field that is NOT NULL: PyArrow takes the field for NULL as well.
    """
    (nullable,) = as_nullable(Schema((field,))).columns
    if field == nullable:
        return field
    rows = table_to_rows(pa.table([_as_type(column, nullable.type)], names=["c"]), Schema((nullable,)))
    return nullable if any(_breaks(value, field) for (value,) in rows) else field


def _breaks(value: Value, field: Field) -> bool:
    """Return whether a value is NULL, or has a NULL inside, although its field is NOT NULL."""
    if value is None:
        inner_fields = field.type.fields if isinstance(field.type, StructType) else ()
        return not field.nullable or any(_breaks(None, inner) for inner in inner_fields)
    if isinstance(field.type, StructType):
        return any(_breaks(part, inner) for part, inner in zip(value, field.type.fields, strict=True))
    if isinstance(field.type, ArrayType):
        return any(_breaks(part, Field("element", field.type.element)) for part in value)
    if isinstance(field.type, MapType):
        parts = ((Field("key", field.type.key), key) for key, _ in value)
        values = ((Field("value", field.type.value), part) for _, part in value)
        return any(_breaks(part, inner) for inner, part in (*parts, *values))
    return False


def _column(place: int) -> str:
    return f"mergecheck_{place}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
