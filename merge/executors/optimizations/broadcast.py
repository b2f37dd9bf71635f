"""Broadcast a small source to large tables, so that the target is not shuffled (``broadcastSource.enabled``).

Spark estimates a source by its files, all columns included, and shuffles both sides if the estimate is above
``spark.sql.autoBroadcastJoinThreshold``. Here the number of rows is known, and which columns the join needs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows
from pyspark.sql import types as t

from mergecheck.merge.expressions.resolved import source_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.executors.joins import Join
    from mergecheck.merge.executors.source import PreparedSource
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile

MAX_BROADCAST_ROWS = 500_000
"""Limit of source rows, since every task holds them in memory; only for columns of fixed length."""

_FIXED_LENGTH = (t.NumericType, t.BooleanType, t.DateType, t.TimestampType, t.TimestampNTZType)
_SOURCE_IS_BROADCAST = ("inner", "right_outer")
_TARGET_IS_REDUCED = ("left_anti", "left_outer")


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastJoins:
    """Broadcasts the source of inner and right outer joins.

    Spark cannot broadcast the source of an anti join or a left outer join. In these, target rows that match nothing
    are left out by a broadcast semi join before the rest is shuffled.
    """

    conf: MergeConf
    merge: ResolvedMerge
    source: PreparedSource
    ways: Counter[str] = field(default_factory=Counter)

    def arrange(self, join: Join) -> Join:
        """Change the sides of a join."""
        if join.type in _SOURCE_IS_BROADCAST and self._may_broadcast(join.files, join.source_columns):
            self.ways["broadcast_source"] += 1
            return replace(join, source=F.broadcast(join.source))
        condition = self.merge.condition
        if (
            join.type in _TARGET_IS_REDUCED
            and self.source.is_stable
            and self._may_broadcast(join.files, condition.source_columns)
        ):
            self.ways["broadcast_source"] += 1
            keys = self.source.frame.select(*(source_column(i) for i in sorted(condition.source_columns)))
            return replace(join, target=join.target.join(F.broadcast(keys), F.expr(condition.sql), "left_semi"))
        return join

    def _may_broadcast(self, files: Sequence[DataFile], columns: Iterable[int]) -> bool:
        return may_broadcast(self.conf, self.merge, self.source, files, columns)


def may_broadcast(
    conf: MergeConf, merge: ResolvedMerge, source: PreparedSource, files: Sequence[DataFile], columns: Iterable[int]
) -> bool:
    """Return whether sending some columns of the source to every task is cheap, and the files are worth it."""
    fields = merge.source_schema.fields
    return (
        conf.broadcast_source
        and source.num_rows is not None
        and source.num_rows <= MAX_BROADCAST_ROWS
        and conf.is_large(sum(file.size for file in files))
        and all(isinstance(fields[i].dataType, _FIXED_LENGTH) for i in columns)
    )
