"""Spark SQL with the tables and settings of one case."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.harness.engines.spark_values.error_classes import error_class_of, error_message
from mergecheck.harness.engines.spark_values.failing_rows import evaluate_rows
from mergecheck.harness.engines.spark_values.relations import ROWS_VIEW, select, show_rows
from mergecheck.harness.engines.spark_values.results import SPARK_ERRORS, case_schema, case_type, evaluated, rows_of
from mergecheck.model.arrow import rows_to_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import INT, VOID, Field, Schema
from mergecheck.reference.asked.evaluator import Answers
from mergecheck.reference.queries.source_query import SourceRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.expressions.names import Relation

_SQL_SETTINGS = "spark.sql."


@dataclass(slots=True, kw_only=True)
class SparkCaseEvaluator:
    """Evaluates Spark SQL for one case, see ``mergecheck.reference.asked.evaluator``.

    Everything is evaluated twice, the second time with all rows in reverse, and must give the same result.

    Attributes:
        tables: the tables that queries may read.
        conf: the settings of the case; Spark SQL's settings are set.
        take: gives a session for the time until ``close``.
    """

    tables: Mapping[str, tuple[Schema, tuple[Row, ...]]]
    conf: Mapping[str, str]
    take: Callable[[], SparkSession]
    _session: SparkSession | None = field(init=False, default=None)
    _settings: ExitStack = field(init=False, default_factory=ExitStack)

    def close(self) -> SparkSession | None:
        """Give the session back, as it was; None if none was taken."""
        session, self._session = self._session, None
        if session is not None:
            for name in (*self.tables, ROWS_VIEW):
                session.catalog.dropTempView(name)
            self._settings.close()
        return session

    def query(self, text: str) -> SourceRelation:
        """Give the rows of a query."""
        frame = self._analysed(text)
        schema = case_schema(frame.schema)
        rows = _rows(frame, schema)
        self._show_tables(backwards=True)
        again = _rows(self._analysed(text), schema)
        self._show_tables(backwards=False)
        if sorted(map(repr, rows)) != sorted(map(repr, again)):
            raise UnsupportedByReferenceError("a source query whose rows are not the same each time")
        return SourceRelation(schema=schema, rows=rows)

    def type_of(self, text: str, relations: Sequence[Relation]) -> DataType:
        """Give the type of an expression over the columns of relations."""
        show_rows(self._opened(), relations, ())
        return case_type(self._analysed(select([text], relations)).schema.fields[-1])

    def values(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> list[Answers]:
        """Evaluate expressions on rows."""
        found = self._evaluated(texts, relations, rows)
        self._show_tables(backwards=True)
        turned = self._evaluated(texts, relations, rows[::-1])
        again = [Answers(answers.values[::-1], answers.errors[::-1]) for answers in turned]
        self._show_tables(backwards=False)
        if repr(found) != repr(again):
            raise UnsupportedByReferenceError("a value that is not the same each time")
        return found

    def _evaluated(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> list[Answers]:
        """Evaluate all expressions at once, and each alone if any of them fails on some row."""

        def evaluate(some: Sequence[str], part: Sequence[Row]) -> list[tuple[Value, ...]] | str:
            show_rows(self._opened(), relations, part)
            try:
                return evaluated(self._opened().sql(select(some, relations)), len(part))
            except SPARK_ERRORS as error:
                return error_class_of(error)

        def evaluate_one(text: str, part: Sequence[Row]) -> tuple[Value, ...] | str:
            found = evaluate([text], part)
            return found if isinstance(found, str) else found[0]

        if len(texts) > 1 and rows:
            together = evaluate(texts, rows)
            if not isinstance(together, str):
                return [Answers(values, (None,) * len(rows)) for values in together]
        return [evaluate_rows(lambda part, text=text: evaluate_one(text, part), rows) for text in texts]  # type: ignore[misc] # mypy reads no defaults of lambdas

    def _analysed(self, text: str) -> DataFrame:
        """Have a query analysed.

        Raises:
            RejectedError: if Spark refuses it.
        """
        session = self._opened()
        try:
            frame = session.sql(text)
            frame.schema  # noqa: B018 - Spark Connect analyses no sooner
        except (AnalysisException, ParseException) as error:
            raise RejectedError(error_class_of(error), error_message(error).splitlines()[0]) from error
        return frame

    def _opened(self) -> SparkSession:
        """Give the session with the case's settings and tables."""
        if self._session is None:
            self._session = self.take()
            settings = {name: value for name, value in self.conf.items() if name.startswith(_SQL_SETTINGS)}
            self._settings.enter_context(settings_of(self._session, settings))
            self._show_tables(backwards=False)
        return self._session

    def _show_tables(self, *, backwards: bool) -> None:
        session = self._opened()
        for name, (schema, rows) in self.tables.items():
            data = rows_to_table(rows[::-1] if backwards else rows, schema)
            plain = Schema(tuple(Field(c.name, c.type, nullable=c.nullable) for c in schema.columns))
            if schema.columns:
                session.createDataFrame(data, schema=plain.ddl()).createOrReplaceTempView(name)


def _rows(frame: DataFrame, schema: Schema) -> tuple[Row, ...]:
    readable = Schema(tuple(Field(c.name, INT if c.type == VOID else c.type) for c in schema.columns))
    try:
        return rows_of(frame, readable)
    except SPARK_ERRORS:
        raise UnsupportedByReferenceError("a source query that fails on some row") from None
