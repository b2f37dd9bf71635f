"""The SELECT that evaluates expressions on given rows, and the view that holds these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.arrow import rows_to_table
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import BIGINT, ArrayType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Row, Value
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


def show_rows(session: SparkSession, relations: Sequence[Relation], rows: Sequence[Row]) -> None:
    """Make the view of rows, each with the cells of all relations."""
    given = [column for relation in relations for column in relation.schema.columns]
    fields = [Field(_column(i), column.type, nullable=column.nullable) for i, column in enumerate(given)]
    fields = [_fitting(field, [row[i] for row in rows]) for i, field in enumerate(fields)]
    schema = Schema((*fields, Field(ROW_NUMBER, BIGINT)))
    data = rows_to_table([(*row, number) for number, row in enumerate(rows)], schema)
    session.createDataFrame(data, schema=schema.ddl()).createOrReplaceTempView(ROWS_VIEW)


def _fitting(field: Field, values: Sequence[Value]) -> Field:
    """Let a column be NULL where its rows are: a new row may break NOT NULL, and its other values are asked for.

    The same for a NULL struct with a field that is NOT NULL: PyArrow takes the field for NULL as well.
    """
    (nullable,) = as_nullable(Schema((field,))).columns
    return nullable if field != nullable and any(_breaks(value, field) for value in values) else field


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
