"""The repair of partition values that Delta Lake reads back from the names of folders that Spark's writer made."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import row_text
from mergecheck.model.layout import partition_indexes
from mergecheck.model.outcome import MergePath, Outcome, Prediction
from mergecheck.model.types.data_types import STRING, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

    Folds = Mapping[int, Callable[[Value], Value]]

_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def _read_back(now: Judged) -> Judged | None:
    """Undo what a folder's name loses from a partition value, in rows that the merge wrote and in the change feed."""
    wanted, found = now.reference.answer, now.result
    if (
        not isinstance(wanted, Prediction)
        or not isinstance(found, Outcome)
        or wanted.schema.names != found.schema.names
    ):
        return None
    folds = _folds(now)
    rows = _restored(found.rows, wanted.rows, _written(now, wanted), wanted.schema, folds)
    feed = found.cdf
    if feed is not None and wanted.cdf is not None:
        feed = _restored(feed, wanted.cdf, wanted.cdf, change_schema(wanted.schema), folds)
    if rows == found.rows and feed == found.cdf:
        return None
    if isinstance(found, TableOutcome):
        found = replace(found, commit_faults=_without_readers(found, rows))
    return replace(now, result=replace(found, rows=rows, cdf=feed))


def _without_readers(found: TableOutcome, rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    """Leave out that another reader sees the values before: the columns in the files have them (R-719)."""
    pairs = [
        f": {row_text(right, found.schema)} for DuckDB, {row_text(own, found.schema)} for Arrow and the log"
        for right, own in zip(rows, found.rows, strict=True)
        if right is not own
    ]
    return tuple((rule, text) for rule, text in found.commit_faults if not text.endswith(tuple(pairs)))


def _folds(now: Judged) -> Folds:
    """Return by partition column how a value changes if it is written as a folder's name and read again."""
    try:
        zone = ZoneInfo(now.case.conf.get("spark.sql.session.timeZone", "UTC"))
    except (ZoneInfoNotFoundError, ValueError):  # an offset, such as +02:00, repeats no hour
        zone = ZoneInfo("UTC")

    def moment(value: Value) -> Value:
        """Take the local time for the one before the clocks go back, if they show it twice."""
        return None if value is None else value.astimezone(zone).replace(fold=0).astimezone(dt.UTC)

    types: dict[DataType, Callable[[Value], Value]] = {
        TIMESTAMP: moment,
        STRING: lambda value: None if value == _NULL_FOLDER else value,
    }
    columns = now.case.target.schema.columns
    return {
        place: types[columns[place].type]
        for place in partition_indexes(now.case.target)
        if columns[place].type in types
    }


def _written(now: Judged, wanted: Prediction) -> Sequence[Row]:
    """List the rows of the new files."""
    trace = now.reference.trace
    effects, touched = trace.effects, trace.touched
    if effects is None or touched is None:
        return ()
    copied = [row for rid, row in effects.unchanged.items() if trace.files[rid] in touched]
    return (*effects.updated.values(), *effects.inserted.values(), *(copied if wanted.path is MergePath.D else ()))


def _restored(
    found: tuple[Row, ...], wanted: Sequence[Row], written: Sequence[Row], schema: Schema, folds: Folds
) -> tuple[Row, ...]:
    """Put each wanted row that is missing in the place of the row that it became."""

    def identities(rows: Sequence[Row]) -> Counter[Hashable]:
        return Counter(row_identity(row, schema) for row in rows)

    missing, extra = identities(wanted) - identities(found), identities(found) - identities(wanted)
    became: dict[Hashable, list[Row]] = defaultdict(list)
    for row in written:
        identity = row_identity(row, schema)
        if missing[identity]:
            missing[identity] -= 1
            folded = tuple(folds[place](cell) if place in folds else cell for place, cell in enumerate(row))
            became[row_identity(folded, schema)].append(row)

    def restored(row: Row) -> Row:
        identity = row_identity(row, schema)
        if not extra[identity] or not became[identity]:
            return row
        extra[identity] -= 1
        return became[identity].pop()

    return tuple(map(restored, found))


BUG_MODELS = (
    BugModel(name="values of partitions are read back from the names of folders", phase=Phase.REPAIR, apply=_read_back),
)
