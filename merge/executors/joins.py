"""How the source is joined with rows of the target: plainly here, or as an optimisation arranges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.expressions.resolved import ResolvedExpression
    from mergecheck.merge.table.log.snapshot import DataFile


class JoinStrategy(Protocol):
    """Joins both tables by ON. Strategies differ in speed only: the rows of a join are the same for all."""

    def join(
        self,
        source: DataFrame,
        target: DataFrame,
        join_type: str,
        *,
        files: Sequence[DataFile],
        source_columns: Iterable[int],
    ) -> DataFrame:
        """Join rows of the source, on the left, with rows of the target (R-404).

        Args:
            source: rows of the source.
            target: rows of the files.
            join_type: Spark's name of the join.
            files: the files that the target's rows come from.
            source_columns: positions of the source columns that the query needs.
        """
        ...

    def writes_in_one_task(self, files: Sequence[DataFile], *, num_source_rows: int | None) -> bool:
        """Tell whether one task writes what becomes of the source and the rows of the files.

        Args:
            files: the files that are read.
            num_source_rows: |S|, if it is known.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlainJoins:
    """Leaves the arrangement of joins and of the output to Spark.

    Attributes:
        condition: ON.
    """

    condition: ResolvedExpression

    def join(
        self,
        source: DataFrame,
        target: DataFrame,
        join_type: str,
        *,
        files: Sequence[DataFile],  # noqa: ARG002 - of the protocol
        source_columns: Iterable[int],  # noqa: ARG002 - of the protocol
    ) -> DataFrame:
        """See the protocol."""
        return source.join(target, F.expr(self.condition.sql), join_type)

    def writes_in_one_task(self, files: Sequence[DataFile], *, num_source_rows: int | None) -> bool:  # noqa: ARG002 - of the protocol
        """See the protocol."""
        return False
