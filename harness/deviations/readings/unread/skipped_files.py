"""Readings of files that are skipped by their bounds, though rows in them fulfil a condition.

Iceberg orders -0.0 before 0.0 (R-802). Delta Lake reads the bounds of a FLOAT that was widened as if they were those of
a DOUBLE (R-716).
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.delta.file_statistics import file_statistics
from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
from mergecheck.harness.deviations.readings.unread.comparisons import (
    comparisons,
    conditions,
    old_files,
    rows_of_files,
    without_rows,
)
from mergecheck.reference.case.layout import physical_rows
from mergecheck.reference.case.storage import Statistics
from mergecheck.reference.syntax.statement import Kind
from mergecheck.reference.types.data_types import DOUBLE, FLOAT, Field

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Value


def _other_zero(now: Judged) -> Judged | None:
    """Files are not read that hold the other zero, 0.0 or -0.0, than the constant of a conjunct of ON."""
    statement, target, rows = now.reference.trace.statement, now.case.target, physical_rows(now.case.target)
    if statement is None:
        return None
    compared = [
        one
        for one in comparisons(conditions(statement), statement, target.schema)
        if not one.constant and target.schema.columns[one.place].type in (DOUBLE, FLOAT)
        if one.operator in (exp.EQ, exp.LTE, exp.GTE)
    ]
    unread: set[int] = set()
    for rids in rows_of_files(now).values():
        for one in compared:
            values = [_in_order(rows[rid][one.place]) for rid in rids if not _has_no_order(rows[rid][one.place])]
            if values and one.excludes(min(values), max(values), _in_order(float(one.constant))):
                unread.update(rids)
    return without_rows(now, unread)


def _has_no_order(value: Value) -> bool:
    return value is None or math.isnan(value)


def _in_order(value: float) -> tuple[float, float]:
    return value, math.copysign(1, value)


def _bounds_of_floats(now: Judged) -> Judged | None:
    """Files of an older FLOAT are skipped by its bounds, whose few digits are another DOUBLE."""
    statement, target, rows = now.reference.trace.statement, now.given.target, physical_rows(now.given.target)
    if statement is None or target.layout.statistics is not Statistics.ALL:
        return None
    widened = {target.schema.names.index(name) for name, kind in target.layout.widened_columns.items() if kind == FLOAT}
    unread: set[int] = set()
    for one in comparisons(conditions(statement, Kind.MATCHED), statement, target.schema):
        for _, rids in old_files(now) if one.place in widened else ():
            bounds = json.loads(file_statistics([(rows[rid][one.place],) for rid in rids], [Field("x", FLOAT)]))
            low, high = (bounds[name].get("x") for name in ("minValues", "maxValues"))
            if low is not None and high is not None and one.excludes(low, high, float(one.constant)):
                unread.update(rids)
    return without_rows(now, unread)


READINGS = (
    Reading(
        name="files with the other zero than a constant of ON are not read",
        phase=Phase.REWRITE,
        apply=_other_zero,
    ),
    Reading(
        name="files of an older FLOAT are skipped by its bounds",
        phase=Phase.REWRITE,
        apply=_bounds_of_floats,
    ),
)
