"""The optimisations of ``merge/`` for large tables: all of them on small ones, and each of them left out."""

from __future__ import annotations

from mergecheck.harness.variants.axes.axis import WRITTEN, Axis, AxisValue, Exemption
from mergecheck.merge import conf

_LARGE = ((Axis.LARGE_TABLES, "all"),)
_WRITTEN_APART = Exemption(rules=("R-542",), metrics=WRITTEN)  # changed rows and copied rows are written by two queries

LARGE_TABLES: tuple[AxisValue, ...] = (
    AxisValue(
        axis=Axis.LARGE_TABLES,
        name="all",
        sentence="every table counts as large, so that the optimisations for large tables are used",
        settings={conf.LARGE_TABLE_BYTES: "0"},
        exemptions=(_WRITTEN_APART,),
    ),
    AxisValue(
        axis=Axis.SOURCE_KEYS,
        name="off",
        sentence="files without a key of the source are read too",
        settings={conf.PRUNE_BY_SOURCE_KEYS: "false"},
        needs=_LARGE,
    ),
    AxisValue(
        axis=Axis.BROADCAST_SOURCE,
        name="off",
        sentence="Spark decides whether a small source is broadcast",
        settings={conf.BROADCAST_SOURCE: "false"},
        needs=_LARGE,
    ),
    AxisValue(
        axis=Axis.LOW_SHUFFLE,
        name="off",
        sentence="rows that are left alone go through the join with the others",
        settings={conf.LOW_SHUFFLE: "false"},
        needs=_LARGE,
    ),
)
