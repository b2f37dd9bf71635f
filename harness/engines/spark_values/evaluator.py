"""The reference's other evaluator: Spark, in sessions of its own."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.session import another_session, start_session
from mergecheck.harness.engines.spark_values.case_evaluator import SparkCaseEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema


class SparkEvaluator:
    """Evaluates Spark SQL for the reference, see ``mergecheck.reference.asked.evaluator``.

    A session is taken with the first question about a case, and used again for another case later. So several threads
    may ask at the same time. A pickled evaluator starts Spark in its own process.

    Args:
        start: gives a session of the Spark to use.
    """

    def __init__(self, start: Callable[[], SparkSession] = start_session) -> None:
        self._start = start
        self._starting = threading.Lock()
        self._idle: deque[SparkSession] = deque()

    def __reduce__(self) -> tuple[type[SparkEvaluator], tuple[Callable[[], SparkSession]]]:
        """Pickle what makes another one."""
        return SparkEvaluator, (self._start,)

    @contextmanager
    def opened(
        self, tables: Mapping[str, tuple[Schema, tuple[Row, ...]]], conf: Mapping[str, str]
    ) -> Iterator[SparkCaseEvaluator]:
        """Open it for one case; afterwards no view is left, and the session has its settings again."""
        case = SparkCaseEvaluator(tables=tables, conf=conf, take=self._take)
        try:
            yield case
        finally:
            session = case.close()
            if session is not None:
                self._idle.append(session)

    def _take(self) -> SparkSession:
        try:
            return self._idle.pop()
        except IndexError:
            with self._starting:
                return another_session(self._start())
