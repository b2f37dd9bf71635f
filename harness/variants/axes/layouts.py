"""The places on the axes of layouts: the same tables, stored in other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.oracles.relations.relation import AMBIGUOUS
from mergecheck.harness.variants.axes import domains
from mergecheck.harness.variants.axes.axis import REWRITTEN, SIZES, WRITTEN, Axis, AxisValue, Exemption
from mergecheck.model.storage import Statistics

if TYPE_CHECKING:
    from mergecheck.model.case import Row

_OTHER_FILES = Exemption(rules=("R-541", "R-550"), metrics=WRITTEN | REWRITTEN)
_OTHER_SKIPPING = Exemption(rules=("R-322",), errors=frozenset({AMBIGUOUS}))


def _each_alone(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], ...]:
    return tuple((row,) for row in rows)


def _pairs(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], ...]:
    return tuple(rows[start : start + 2] for start in range(0, len(rows), 2))


LAYOUTS: tuple[AxisValue, ...] = (
    *(
        AxisValue(
            axis=Axis.FILES,
            name=name,
            sentence=sentence,
            rewrite=domains.relaid(files),
            exemptions=(_OTHER_FILES, _OTHER_SKIPPING),
        )
        for name, sentence, files in (
            ("one", "all rows in one file, in the opposite order", lambda rows: (rows[::-1],)),
            ("pairs", "two rows in each file", _pairs),
            ("per-row", "a file for each row", _each_alone),
        )
    ),
    *(
        AxisValue(
            axis=Axis.ROW_GROUPS, name=str(size), sentence=f"row groups of {size} rows", rewrite=domains.grouped(size)
        )
        for size in SIZES
    ),
    *(
        AxisValue(
            axis=Axis.STATISTICS,
            name=statistics.value,
            sentence=f"statistics in the log: {statistics.value}",
            rewrite=domains.with_statistics(statistics),
            exemptions=(_OTHER_SKIPPING,),
        )
        for statistics in (Statistics.COUNTS, Statistics.ALTERNATE, Statistics.NONE)
    ),
    *(
        AxisValue(
            axis=Axis.SOURCE_BATCH,
            name=str(size),
            sentence=f"the source in batches, or row groups, of {size} rows",
            rewrite=domains.batched_source(size),
            domain="a source of its own",
            holds=domains.has_source_table,
        )
        for size in SIZES
    ),
    AxisValue(
        axis=Axis.PARTITIONED,
        name="no",
        sentence="the table has no partitions",
        rewrite=domains.unpartitioned,
        domain="partitioned; no empty text where a partition column is a string (R-744)",
        holds=domains.is_partitioned,
        exemptions=(_OTHER_FILES, _OTHER_SKIPPING),
    ),
    AxisValue(
        axis=Axis.PARTITIONED,
        name="by-column",
        sentence="the table is partitioned by its first whole number, date or boolean",
        rewrite=domains.partitioned,
        domain="not partitioned, with such a column and another one",
        holds=domains.can_be_partitioned,
        exemptions=(_OTHER_FILES, _OTHER_SKIPPING),
    ),
)
