"""Running a function of Arrow batches in Spark's Python workers."""

from __future__ import annotations

import functools
import gc
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
    """Map the batches of each partition of a frame.

    Args:
        frame: what the function gets.
        function: gets all batches of one partition; it is sent to the workers, so it must be made of plain values and
            of functions at the top of modules.
        ddl: the columns of what it yields.
    """
    with _WARNINGS, warnings.catch_warnings():
        # mapInArrow checks the installed pandas on the way, although it does not use it here.
        warnings.filterwarnings("ignore", message=_PANDAS_NOTICE, category=FutureWarning)
        return frame.mapInArrow(functools.partial(_with_modules_frozen, function), ddl)


def _with_modules_frozen(
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a function in a worker, and keep what the worker has imported out of its garbage collections.

    Spark's worker collects garbage after every task. That takes some 20 ms where pyarrow and pandas are loaded, which
    never are garbage, and the next task waits for it.
    """
    if not gc.get_freeze_count():
        gc.freeze()
    yield from function(batches)
