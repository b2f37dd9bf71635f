"""Do small merges in one task, which spares shuffles and leaves few files (``oneTask.enabled``)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.merge.executors.merge_run import shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.executors.joins import Join
    from mergecheck.merge.executors.source import PreparedSource
    from mergecheck.merge.table.snapshot.data_files import DataFile

SMALL_SOURCE_ROWS = 100_000
SMALL_BYTES = 16 * 2**20

# How Spark packs files into scan tasks: so many bytes each; opening a file counts like reading some.
SPLIT_SETTING = "spark.sql.files.maxPartitionBytes"
DEFAULT_SPLIT_BYTES = 128 * 2**20
OPEN_COST_BYTES = 4 * 2**20

_BYTE_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_BYTES = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTaskJoins:
    """Joins in one task if both sides are small and the session sends every shuffle to one task anyway.

    One scan task reads at most ``split_bytes``.
    """

    source: PreparedSource
    shuffles_to_one_task: bool
    split_bytes: int
    ways: Counter[str] = field(default_factory=Counter)

    def arrange(self, join: Join) -> Join:
        """Change the sides of a join."""
        if not self._joins_in_one_task(join.files):
            return join
        self.ways["one_task"] += 1
        source, target = join.source.coalesce(1), join.target.coalesce(1)
        if join.type == "left_anti":
            # Spark moves an anti join below the source's coalesce, and would shuffle then; not below a filter.
            source = source.where("spark_partition_id() >= 0")
        return replace(join, source=source, target=target)

    def writes(self, files: Sequence[DataFile], num_source_rows: int | None) -> bool:
        """See ``Joins``; few rows and few bytes are written by one task whatever the session's settings are."""
        return self._joins_in_one_task(files) or (
            num_source_rows is not None
            and num_source_rows <= SMALL_SOURCE_ROWS
            and sum(file.size for file in files) <= SMALL_BYTES
        )

    def _joins_in_one_task(self, files: Sequence[DataFile]) -> bool:
        return self.shuffles_to_one_task and has_few_rows(self.source) and fit_in_one_task(files, self.split_bytes)


def shuffles_to_one_task(spark: SparkSession) -> bool:
    """Return whether the session sends every shuffle to one task."""
    return shuffle_partitions(spark) == 1


def has_few_rows(source: PreparedSource) -> bool:
    """Return whether the source is known to have few rows."""
    return source.num_rows is not None and source.num_rows <= SMALL_SOURCE_ROWS


def fit_in_one_task(files: Sequence[DataFile], split_bytes: int) -> bool:
    """Return whether one task reads all of the files, as Spark would distribute them."""
    return sum(file.size + OPEN_COST_BYTES for file in files) <= split_bytes


def split_bytes(spark: SparkSession) -> int:
    """Read how many bytes one scan task takes; the default if the setting is in a form not known here."""
    text = spark.conf.get(SPLIT_SETTING, None) or ""
    found = _BYTES.fullmatch(text.strip())
    return int(found[1]) * _BYTE_UNITS[found[2].lower()] if found else DEFAULT_SPLIT_BYTES
