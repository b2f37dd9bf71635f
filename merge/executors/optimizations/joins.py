"""Joins of the source with large parts of the target, arranged so that the target is not shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows
from pyspark.sql import types as t

from mergecheck.merge.executors.run import source_for
from mergecheck.merge.expressions.resolved import source_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.run import MergeRun
    from mergecheck.merge.table.log.snapshot import DataFile

MAX_BROADCAST_ROWS = 500_000
"""Rows of a source that every task may hold in memory, given that no column of the join is of variable length."""

_FIXED_LENGTH = (t.NumericType, t.BooleanType, t.DateType, t.TimestampType, t.TimestampNTZType)


def joined_source(run: MergeRun, files: Sequence[DataFile], columns: Iterable[int]) -> DataFrame:
    """Return the source for an inner join with files, marked for broadcasting where that spares a shuffle of them.

    Spark estimates a source by its files, all columns included, and shuffles both sides where the estimate is above
    ``spark.sql.autoBroadcastJoinThreshold``. Here the number of rows is known, and which columns the join needs.

    Args:
        run: the merge under way.
        files: the files to join with.
        columns: positions of the source columns that the query needs.
    """
    source = source_for(run, files)
    return F.broadcast(source) if may_broadcast(run, files, columns) else source


def may_broadcast(run: MergeRun, files: Sequence[DataFile], columns: Iterable[int]) -> bool:
    """Tell whether sending some columns of the source to every task is cheap, and the files are worth it."""
    num_rows = run.source.num_rows
    fields = run.merge.source_schema.fields
    return (
        run.conf.broadcast_source
        and num_rows is not None
        and num_rows <= MAX_BROADCAST_ROWS
        and run.is_large(files)
        and all(isinstance(fields[i].dataType, _FIXED_LENGTH) for i in columns)
    )


def matched_rows(run: MergeRun, target: DataFrame, files: Sequence[DataFile]) -> DataFrame:
    """Leave out target rows that match no source row before they are joined in a way that shuffles them.

    Args:
        run: the merge under way.
        target: rows of the files.
        files: where they come from.
    """
    columns = run.merge.condition.source_columns
    if not (run.source.is_stable and may_broadcast(run, files, columns)):
        return target
    keys = run.source.frame.select(*(source_column(i) for i in sorted(columns)))
    return target.join(F.broadcast(keys), F.expr(run.merge.condition.sql), "left_semi")
