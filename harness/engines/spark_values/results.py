"""What Spark answers, as a case has it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import NullType, StructType

from mergecheck.harness.engines.spark_values.relations import ROW_NUMBER
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.schema_json import schema_from_json
from mergecheck.model.types.data_types import VOID, Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

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


def evaluated(frame: DataFrame, num_rows: int) -> list[pa.ChunkedArray]:
    """Evaluate a SELECT of ``relations.select``, and give its values in the order of the rows.

    Raises:
        UnsupportedByReferenceError: if an expression has not one value for each row, as a generator has.
    """
    table = frame.toArrow().sort_by(ROW_NUMBER)
    if table.column(0).to_pylist() != list(range(num_rows)):
        raise UnsupportedByReferenceError("an expression that changes the number of rows")
    return list(table.columns[1:])
