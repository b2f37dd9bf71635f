"""The cases: sixteen of Delta Lake's own benchmark, in its order, and those that it lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MATCHING_KEYS = "t.wr_order_number = s.wr_order_number AND t.wr_item_sk = s.wr_item_sk"
"""What every case of Delta Lake's benchmark joins by."""

UPDATE_ALL = "WHEN MATCHED THEN UPDATE SET *"
INSERT_ALL = "WHEN NOT MATCHED THEN INSERT *"
DELETE_ALL = "WHEN MATCHED THEN DELETE"
INSERT_EVEN = "WHEN NOT MATCHED AND s.wr_item_sk % 2 = 0 THEN INSERT *"


class Keys(Enum):
    """How rows of the source get keys that match nothing.

    ``CLEAN`` gives fresh integers above the target's. ``FAITHFUL`` gives fractions between 0 and 1, as Delta Lake's
    benchmark does, whose source so has keys of type DOUBLE.
    """

    CLEAN = "clean"
    FAITHFUL = "faithful"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShape:
    """Which rows a source has.

    Attributes:
        files_matched: fraction of the target's files that rows are taken from, ``f``.
        rows_matched: fraction of these files' rows that are in the source as they are, ``m``.
        rows_not_matched: fraction of these files' rows that are in the source under keys that match nothing, ``n``.
    """

    files_matched: float
    rows_matched: float
    rows_not_matched: float

    @property
    def name(self) -> str:
        """Name the shape in directories."""
        return f"f{self.files_matched:g}_m{self.rows_matched:g}_n{self.rows_not_matched:g}"


class TargetKind(Enum):
    """Variants of the target."""

    PLAIN = "plain"
    PARTITIONED = "partitioned"
    WIDE = "wide"
    SKEWED = "skewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkCase:
    """One MERGE to be timed.

    Attributes:
        clauses: the WHEN clauses.
        updated, deleted, inserted: the right operation metrics, as SQL over ``t`` and ``s``, the files of target
            and source, that gives one number.
        condition: ON.
        properties: table properties of the target.
        is_addition: the case is none of Delta Lake's sixteen.
    """

    name: str
    shape: SourceShape
    clauses: tuple[str, ...]
    updated: str = "0"
    deleted: str = "0"
    inserted: str = "0"
    condition: str = MATCHING_KEYS
    target: TargetKind = TargetKind.PLAIN
    properties: Mapping[str, str] = field(default_factory=dict)
    is_addition: bool = False

    def statement(self, target: str, source: str) -> str:
        """Write the MERGE for names of the two tables."""
        return f"MERGE INTO {target} AS t USING {source} AS s ON {self.condition} {' '.join(self.clauses)}"


_MATCHED = "SELECT count(*) FROM s WHERE is_matched"
_NOT_MATCHED = "SELECT count(*) FROM s WHERE NOT is_matched"


def _shape(f: float, m: float, n: float) -> SourceShape:
    return SourceShape(files_matched=f, rows_matched=m, rows_not_matched=n)


def _insert_only(n: float, *, several: bool) -> BenchmarkCase:
    kind = "multiple" if several else "single"
    return BenchmarkCase(
        name=f"{kind}_insert_only_f0.05_m0_n{n:g}",
        shape=_shape(0.05, 0, n),
        clauses=(INSERT_EVEN, INSERT_ALL) if several else (INSERT_ALL,),
        inserted=_NOT_MATCHED,
    )


def _upsert(f: float, m: float, n: float) -> BenchmarkCase:
    return BenchmarkCase(
        name=f"upsert_f{f:g}_m{m:g}_n{n:g}",
        shape=_shape(f, m, n),
        clauses=(UPDATE_ALL, INSERT_ALL),
        updated=_MATCHED,
        inserted=_NOT_MATCHED,
    )


CASES: tuple[BenchmarkCase, ...] = (
    *(_insert_only(n, several=several) for n in (0.05, 0.5, 1.0) for several in (False, True)),
    BenchmarkCase(
        name="delete_only_f0.05_m0.05_n0",
        shape=_shape(0.05, 0.05, 0),
        clauses=(DELETE_ALL,),
        deleted=_MATCHED,
    ),
    *(_upsert(0.05, m, 0.1) for m in (0.0, 0.01, 0.1)),
    *(_upsert(0.05, m, 0.001) for m in (0.5, 0.99, 1.0)),
    _upsert(0.05, 0.1, 0.0),
    _upsert(0.5, 0.01, 0.001),
    _upsert(1.0, 0.01, 0.001),
)
"""The cases of Delta Lake's benchmark."""
