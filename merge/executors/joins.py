"""How the source is joined with rows of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mergecheck.merge.expressions.resolved import ResolvedExpression
    from mergecheck.merge.table.snapshot.data_files import DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A join of rows of the source, on the left, with rows of some files of the target.

    Attributes:
        type: Spark's name of the join.
        source_columns: positions of the source columns that the query needs.
    """

    source: DataFrame
    target: DataFrame
    type: str
    files: Sequence[DataFile]
    source_columns: Iterable[int]


Arrangement: TypeAlias = Callable[[Join], Join]
"""An optimisation: it changes how both sides are read, but not the rows of the join."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joins:
    """Joins both tables by ON.

    Attributes:
        condition: ON.
        arrangements: optimisations, in the order in which they are applied.
        one_task_writes: decides, by the files that are read and by |S|, if it is known, whether one task writes
            their rows. Without it Spark decides.
    """

    condition: ResolvedExpression
    arrangements: tuple[Arrangement, ...] = ()
    one_task_writes: Callable[[Sequence[DataFile], int | None], bool] | None = None

    def join(
        self,
        source: DataFrame,
        target: DataFrame,
        join_type: str,
        *,
        files: Sequence[DataFile],
        source_columns: Iterable[int],
    ) -> DataFrame:
        """Join rows of the source with rows of the target (R-404); see ``Join``."""
        join = Join(source=source, target=target, type=join_type, files=files, source_columns=source_columns)
        for arrange in self.arrangements:
            join = arrange(join)
        return join.source.join(join.target, F.expr(self.condition.sql), join_type)

    def writes_in_one_task(self, files: Sequence[DataFile], *, num_source_rows: int | None) -> bool:
        """Return whether one task writes the result of the source and the rows of the files."""
        return self.one_task_writes is not None and self.one_task_writes(files, num_source_rows)
