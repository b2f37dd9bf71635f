"""Running a function of Arrow batches in Spark's Python workers."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

# Filters of warnings are the process's: a thread that puts back its own must not meet another that does the same.
_WARNINGS = threading.Lock()

_PANDAS_NOTICE = "PySpark does not yet fully support pandas"


def run_in_workers(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], ddl: str
) -> DataFrame:
    """Map the batches of each partition of a frame to batches with the columns of ``ddl``.

    The function gets all batches of one partition. It is sent to the workers, so it must be made of plain values and of
    functions at the top of modules.
    """
    with _WARNINGS, warnings.catch_warnings():
        # mapInArrow checks the installed pandas on the way, although it does not use it here.
        warnings.filterwarnings("ignore", message=_PANDAS_NOTICE, category=FutureWarning)
        return frame.mapInArrow(function, ddl)
