"""The bug model of files that Delta Lake skips by the bounds of a FLOAT that was widened (R-716).

It reads them as if they were bounds of a DOUBLE.
"""

from __future__ import annotations

import json

from mergecheck.harness.delta.file_statistics import file_statistics
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.unread.comparisons import (
    comparisons,
    conditions,
    old_files,
    without_rows,
)
from mergecheck.model.layout import physical_rows
from mergecheck.model.storage import Statistics
from mergecheck.model.types.data_types import FLOAT, Field
from mergecheck.reference.syntax.statement import Kind


def _bounds_of_floats(now: Judged) -> Judged | None:
    """Files of an older FLOAT are skipped by its bounds, whose few digits are another DOUBLE."""
    statement, target, rows = now.reference.trace.statement, now.given.target, physical_rows(now.given.target)
    if statement is None or target.layout.statistics is not Statistics.ALL:
        return None
    widened = {(name,) for name, kind in target.layout.widened_columns.items() if kind == FLOAT}
    unread: set[int] = set()
    for one in comparisons(conditions(statement, Kind.MATCHED), statement, target.schema):
        for _, rids in old_files(now) if one.leaf.names in widened else ():
            bounds = json.loads(file_statistics([(one.leaf.of(rows[rid]),) for rid in rids], [Field("x", FLOAT)]))
            low, high = (bounds[name].get("x") for name in ("minValues", "maxValues"))
            if low is not None and high is not None and one.excludes(low, high, float(one.constant)):
                unread.update(rids)
    return without_rows(now, unread)


BUG_MODELS = (
    BugModel(
        name="files of an older FLOAT are skipped by its bounds",
        phase=Phase.REWRITE,
        apply=_bounds_of_floats,
    ),
)
