"""Spark as the reference's other evaluator where the engine runs without it: started with the first question, or named.

Neither class imports PySpark before Spark is started.
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn

from mergecheck.harness.configuration.extras import is_installed, lacking
from mergecheck.harness.verdict import EngineDownError, MissingExtraError
from mergecheck.model.errors import UnsupportedByReferenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.asked.evaluator import Answers, CaseEvaluator
    from mergecheck.reference.expressions.names import Relation
    from mergecheck.reference.queries.source_query import SourceRelation

_MOST_TEXT = 60
_logger = logging.getLogger(__name__)


class SparkOnDemand:
    """Evaluates Spark SQL for the reference, see ``mergecheck.reference.asked.evaluator``.

    Spark starts with the first expression that needs it. If it does not start, such a case is unsupported, with the
    reason. Several threads may ask at the same time.
    """

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._spark: SparkEvaluator | None = None
        self._failure = ""

    def __reduce__(self) -> tuple[type[SparkOnDemand], tuple[()]]:
        """Pickle what makes another one."""
        return SparkOnDemand, ()

    @contextmanager
    def opened(
        self, tables: Mapping[str, tuple[Schema, tuple[Row, ...]]], conf: Mapping[str, str]
    ) -> Iterator[CaseEvaluator]:
        """Open it for one case."""
        with ExitStack() as held:
            yield _CaseOnDemand(lambda: held.enter_context(self._started().opened(tables, conf)))

    def _started(self) -> SparkEvaluator:
        with self._starting:
            if self._spark is None and not self._failure:
                try:
                    self._spark = _start()
                except (EngineDownError, MissingExtraError) as error:
                    reason = str(error).splitlines()[0]  # advice on how to install Java follows
                    self._failure = f"an expression that DuckDB does not evaluate, and Spark does not start: {reason}"
            if self._spark is None:
                raise UnsupportedByReferenceError(self._failure)
            return self._spark


def _start() -> SparkEvaluator:
    if not is_installed("pyspark"):
        raise lacking("Spark", "pyspark", "spark")
    _logger.warning("starting Spark to evaluate what DuckDB does not; --expressions duckdb leaves it out")
    from mergecheck.harness.engines.spark.session import start_session  # noqa: PLC0415 - it imports PySpark, which takes its time
    from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator  # noqa: PLC0415 - the same

    start_session()
    return SparkEvaluator()


class _CaseOnDemand:
    """The evaluator of one case, opened with its first question."""

    def __init__(self, opened: Callable[[], CaseEvaluator]) -> None:
        self._opened = opened
        self._case: CaseEvaluator | None = None

    def query(self, text: str) -> SourceRelation:
        return self._evaluator().query(text)

    def type_of(self, text: str, relations: Sequence[Relation]) -> DataType:
        return self._evaluator().type_of(text, relations)

    def values(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> Sequence[Answers]:
        return self._evaluator().values(texts, relations, rows)

    def _evaluator(self) -> CaseEvaluator:
        if self._case is None:
            self._case = self._opened()
        return self._case


class SparkNotStarted:
    """Answers no question: such a case is unsupported, and the reason names the option that has Spark evaluate it."""

    @contextmanager
    def opened(
        self, tables: Mapping[str, tuple[Schema, tuple[Row, ...]]], conf: Mapping[str, str]
    ) -> Iterator[CaseEvaluator]:
        """Open it for one case."""
        del tables, conf
        yield _NoAnswers()


class _NoAnswers:
    def query(self, text: str) -> NoReturn:
        _refuse(text)

    def type_of(self, text: str, relations: Sequence[Relation]) -> NoReturn:
        del relations
        _refuse(text)

    def values(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> NoReturn:
        del relations, rows
        _refuse(texts[0])


def _refuse(text: str) -> NoReturn:
    shown = " ".join(text.split())
    if len(shown) > _MOST_TEXT:
        shown = f"{shown[: _MOST_TEXT - 4]} ..."
    raise UnsupportedByReferenceError(f"DuckDB does not evaluate {shown}; --expressions spark has Spark evaluate it")
