"""The seam to another evaluator of Spark SQL: it knows expressions and queries, and nothing of MERGE.

The reference asks it for what its own translation to DuckDB does not know. Matching, clause order, store assignment,
constraints, the change feed and metrics remain the reference's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.expressions.names import Relation
    from mergecheck.reference.queries.source_query import SourceRelation


@dataclass(frozen=True, slots=True)
class Answers:
    """What an expression is on rows, in their order.

    Attributes:
        values: NULL where it fails.
        errors: the error class where it fails, None elsewhere.
    """

    values: tuple[Value, ...]
    errors: tuple[str | None, ...]


class Evaluator(Protocol):
    """Evaluates Spark SQL; several threads may use it at the same time."""

    def opened(
        self, tables: Mapping[str, tuple[Schema, tuple[Row, ...]]], conf: Mapping[str, str]
    ) -> AbstractContextManager[CaseEvaluator]:
        """Open it for one case.

        Args:
            tables: the tables that queries may read, by lower-case name, with their rows before the merge (R-810).
            conf: the settings of the case.
        """


class CaseEvaluator(Protocol):
    """Evaluates Spark SQL with the tables and settings of one case."""

    def query(self, text: str) -> SourceRelation:
        """Give the rows of a query.

        Raises:
            RejectedError: if Spark's analysis refuses it.
            UnsupportedByReferenceError: if it fails on some row, if its rows are not the same each time, or if a case
                cannot hold them.
        """

    def type_of(self, text: str, relations: Sequence[Relation]) -> DataType:
        """Give the type of an expression over the columns of relations.

        Raises:
            RejectedError: if Spark's analysis refuses it.
            UnsupportedByReferenceError: if a case cannot hold values of the type.
        """

    def values(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> Sequence[Answers]:
        """Evaluate expressions on rows.

        Args:
            texts: the expressions.
            relations: what names in the expressions may mean.
            rows: each has a cell for each column of the relations, in their order.

        Returns:
            The answers for each text.

        Raises:
            UnsupportedByReferenceError: if the values are not the same each time, or if a case cannot hold one.
        """
