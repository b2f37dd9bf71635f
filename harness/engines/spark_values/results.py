"""What Spark answers, as a case has it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import NullType, StructType

from mergecheck.model.arrow import table_to_rows
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.schema_json import schema_from_json
from mergecheck.model.types.data_types import VOID, Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""Exceptions of a query that Spark refuses or that fails on some row."""


def case_schema(schema: StructType) -> Schema:
    """Read the schema of a result.

    Raises:
        UnsupportedByReferenceError: if a case has no such type.
    """
    return Schema(tuple(Field(field.name, case_type(field)) for field in schema.fields))


def case_type(field: StructField) -> DataType:
    """Read the type of a column of a result; see ``case_schema``."""
    if isinstance(field.dataType, NullType):
        return VOID
    try:
        (column,) = schema_from_json(json.dumps(StructType([field]).jsonValue())).columns
    except ValueError:
        word = field.dataType.simpleString().split("<")[0].split("(")[0]
        raise UnsupportedByReferenceError(f"a value of type {word}, which cases do not have") from None
    return column.type


def rows_of(frame: DataFrame, schema: Schema) -> tuple[Row, ...]:
    """Read the rows of a result.

    Raises:
        UnsupportedByReferenceError: if a case cannot hold a value, such as a date of the year 10000.
    """
    try:
        return table_to_rows(frame.toArrow(), schema)
    except SPARK_ERRORS:  # some are a ValueError, too
        raise
    except (OverflowError, ValueError):
        raise UnsupportedByReferenceError("a value that a case cannot hold") from None


def evaluated(frame: DataFrame, num_rows: int) -> list[tuple[Value, ...]]:
    """Evaluate a SELECT of ``relations.select``, and give the values of each expression in the order of the rows.

    Raises:
        UnsupportedByReferenceError: if an expression has not one value for each row, as a generator has, or if a case
            cannot hold a value.
    """
    schema = case_schema(frame.schema)
    rows = sorted(rows_of(frame, schema), key=lambda row: row[0])
    if [number for number, *_ in rows] != list(range(num_rows)):
        raise UnsupportedByReferenceError("an expression that changes the number of rows")
    return list(zip(*rows, strict=True))[1:] if rows else [()] * (len(schema.columns) - 1)
