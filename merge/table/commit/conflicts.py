"""Conflicts with a commit that took the version first (R-750, R-751)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t
from sqlglot import exp  # noqa: TC002 - dataclass fields are read at run time by tools

from mergecheck.merge.errors import ConcurrentModificationError, ConflictKind
from mergecheck.merge.table.reading.data_skipping import file_may_match
from mergecheck.merge.table.snapshot.data_files import DataFile
from mergecheck.merge.table.snapshot.snapshot import Snapshot  # noqa: TC001 - the same
from mergecheck.merge.table.storage.paths import file_location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.merge.table.storage.log_store import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """The files that a merge read and the ones that it removes.

    Rows of a file that cannot satisfy the predicate, over target columns, were not read. The application is the one of
    this commit's ``txn`` action, if any.
    """

    snapshot: Snapshot
    predicate: exp.Expr
    files: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]
    app_id: str | None = None


def check_conflicts(read: ReadSet, version: int, winning: Iterable[Action]) -> None:
    """Raise if a commit that came first changes files that this merge has read; otherwise the merge may come after it.

    Raises:
        ConcurrentModificationError: the conflict by R-750, with the version of the commit that won.
    """
    actions = tuple(winning)
    for kind, detail in _conflicts(read, actions):
        raise ConcurrentModificationError(
            kind,
            f"Version {version} was committed while this MERGE, which read version {read.snapshot.version}, was "
            f"running: {detail} Nothing of this MERGE was committed. Run the statement again.",
        )


def _conflicts(read: ReadSet, actions: tuple[Action, ...]) -> Iterable[tuple[ConflictKind, str]]:
    if any("protocol" in action for action in actions):
        yield ConflictKind.PROTOCOL_CHANGED, "it changes the protocol of the table."
    if any("metaData" in action for action in actions):
        yield ConflictKind.METADATA_CHANGED, "it changes the schema or the properties of the table."
    added = [action["add"] for action in actions if action.get("add", {}).get("dataChange")]
    for add in added:
        if _was_read(read, add):
            yield ConflictKind.CONCURRENT_APPEND, f"it adds {add['path']}, which may hold rows that the MERGE reads."
    removed = {action["remove"]["path"] for action in actions if "remove" in action}
    locations = {file_location(read.snapshot.location, path) for path in removed}
    for file in read.files:
        if file.location in locations:
            yield ConflictKind.CONCURRENT_DELETE_READ, f"it removes {file.path}, which the MERGE has read."
    for file in read.removed:
        if file.location in locations:
            yield ConflictKind.CONCURRENT_DELETE_DELETE, f"it removes {file.path}, which the MERGE removes too."
    if read.app_id is not None and any(a.get("txn", {}).get("appId") == read.app_id for a in actions):
        yield ConflictKind.CONCURRENT_TRANSACTION, f"it belongs to the same application {read.app_id!r}."


def _was_read(read: ReadSet, add: Mapping[str, Any]) -> bool:
    """Return whether an added file falls in the read predicate; only partition values distinguish appends."""
    values = add.get("partitionValues") or {}
    snapshot = read.snapshot
    stored = [snapshot.stored_schema.fields[position] for position in snapshot.partition_positions]
    try:
        typed = {
            name: _parsed(values.get(by_file.name), by_file.dataType)
            for name, by_file in zip(snapshot.partition_columns, stored, strict=True)
        }
    except (ValueError, InvalidOperation):
        return True  # a value in a form that is not known here: assume the worst
    file = DataFile(path=add["path"], location=add["path"], size=0, partition_values=typed)
    return file_may_match(read.snapshot, file, read.predicate)


def _parsed(text: str | None, data_type: t.DataType) -> object:
    """Read a serialised partition value.

    Raises:
        ValueError: the text is not of the type.
        InvalidOperation: the same for a decimal.
    """
    if text is None or text == "":
        return None
    for types, parse in _PARSERS:
        if isinstance(data_type, types):
            return parse(text)
    return text


def _timestamp(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)  # it depends on the session's zone, and is left to the caller's worst case
    return moment


def _float(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError(text)  # left to the caller's worst case
    return value


_PARSERS: tuple[tuple[tuple[type[t.DataType], ...], Callable[[str], object]], ...] = (
    ((t.BooleanType,), lambda text: text == "true"),
    ((t.ByteType, t.ShortType, t.IntegerType, t.LongType), int),
    ((t.FloatType, t.DoubleType), _float),
    ((t.DecimalType,), Decimal),
    ((t.DateType,), dt.date.fromisoformat),
    ((t.TimestampType,), _timestamp),
    ((t.TimestampNTZType,), dt.datetime.fromisoformat),
)
