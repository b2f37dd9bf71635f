"""Keep predicates on floating-point columns away from Spark's Parquet reader.

The reader skips row groups by their minimum and maximum, from which pyarrow omits NaN. So ``x > 5`` and ``x = NaN``
lose rows with NaN, which is greater than every number and equal to itself (R-801). A column inside a function that
changes nothing is not pushed down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import DoubleType, FloatType, StructType

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def not_pushed_down(column: str, data_type: DataType) -> str:
    """Write a column so that predicates on it stay in Spark if the Parquet reader could miss NaN.

    Args:
        column: SQL text of the column.
        data_type: its type; arrays and maps are never pushed down.
    """
    if isinstance(data_type, FloatType | DoubleType):
        return f"nanvl({column}, {column})"
    if _holds_floats(data_type):
        return f"element_at(array({column}), 1)"
    return column


def _holds_floats(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_holds_floats(field.dataType) for field in data_type.fields)
    return isinstance(data_type, FloatType | DoubleType)
