"""Row tracking in the tables of cases: ids and commit versions of rows, in the log and in files (R-705, R-724, R-725).

Columns of files that hold ids are not columns of the table, so nothing else in the harness sees them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.model.storage import RowIds
from mergecheck.model.table_properties import FEATURE_PREFIX, ROW_TRACKING, is_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mergecheck.model.case import Target

FEATURE = "rowTracking"
DOMAIN = "delta.rowTracking"
BASE, VERSION = "baseRowId", "defaultRowCommitVersion"
_MARK = "rowIdHighWaterMark"
_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
_VERSION_COLUMN = "delta.rowTracking.materializedRowCommitVersionColumnName"
_NAMES = {
    _ID_COLUMN: "_row-id-col-6d657267-6563-4865-836b-000000000001",
    _VERSION_COLUMN: "_row-commit-version-col-6d657267-6563-4865-836b-000000000002",
}
_EARLIER_COMMITS = 3
"""How many commits a table has before the one with its files, if rows have ids from earlier ones."""
_GAP, _BEFORE_FIRST, _AFTER_LAST = 3, 5, 4
"""Ids that no row has: between the files, between the oldest rows and the files, and after all."""

Stored = tuple[int | None, int | None]
"""Id and commit version that a file holds for a row."""


@dataclass(frozen=True, slots=True)
class FileNumbers:
    """The ids of one file: those in its action, and those that it holds row by row, if it holds any."""

    base: int
    version: int
    stored: tuple[Stored, ...] | None = None

    @property
    def entries(self) -> dict[str, int]:
        """The entries of the file's action."""
        return {BASE: self.base, VERSION: self.version}


def has_row_tracking(properties: Mapping[str, str]) -> bool:
    """Return whether a table's protocol has the feature."""
    enabled = is_on(properties, ROW_TRACKING)
    return enabled or f"{FEATURE_PREFIX}{FEATURE}" in properties


def tracking_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Name the columns that hold ids, if the table has the feature."""
    return dict(_NAMES) if has_row_tracking(properties) else {}


def num_earlier_commits(target: Target) -> int:
    """Return how many commits the table has before the one with its files."""
    return _EARLIER_COMMITS if has_row_tracking(target.properties) and target.layout.row_ids is RowIds.STORED else 0


def number_rows(target: Target, num_rows: Sequence[int]) -> list[FileNumbers]:
    """Give ids to the rows of each file, of which the numbers are given; none if the table has no row tracking."""
    if not has_row_tracking(target.properties):
        return []
    if target.layout.row_ids is RowIds.BY_FILES:
        return [FileNumbers(sum(num_rows[:place]), 0) for place in range(len(num_rows))]
    found: list[FileNumbers] = []
    oldest, base = sum(num_rows), sum(num_rows) + _BEFORE_FIRST
    for place in reversed(range(len(num_rows))):
        count = num_rows[place]
        stored = tuple(_stored(place, row, oldest - row - 1) for row in range(count)) if place % 3 != 1 else None
        found.append(FileNumbers(base, 1 + place % _EARLIER_COMMITS, stored))
        oldest, base = oldest - count, base + count + _GAP
    return found[::-1]


def _stored(place: int, row: int, number: int) -> Stored:
    """Let a row have been copied, or updated, or inserted, in turn; its number is one that no other row has."""
    match (place + row) % 3:
        case 0:
            return number, row % 2
        case 1:
            return number, None
    return None, None


def domain_of(files: Sequence[FileNumbers], num_rows: Sequence[int], row_ids: RowIds) -> list[dict[str, Any]]:
    """Give the action with the greatest id; none if no file has ids."""
    if not files:
        return []
    last = max(file.base + count - 1 for file, count in zip(files, num_rows, strict=True))
    mark = last if row_ids is RowIds.BY_FILES else last + _AFTER_LAST
    configuration = json.dumps({_MARK: mark, "domainName": DOMAIN})
    return [{"domainMetadata": {"domain": DOMAIN, "configuration": configuration, "removed": False}}]


def with_stored_ids(table: pa.Table, numbers: FileNumbers | None) -> pa.Table:
    """Append the columns that hold ids to the rows of a file, if it holds any."""
    if numbers is None or numbers.stored is None:
        return table
    for name, values in zip(_NAMES.values(), zip(*numbers.stored, strict=True), strict=True):
        table = table.append_column(name, pa.array(values, pa.int64()))
    return table


def stored_id_columns(configuration: Mapping[str, str]) -> frozenset[str]:
    """Name the columns that hold ids in files, by a table's properties."""
    return frozenset(configuration[name] for name in (_ID_COLUMN, _VERSION_COLUMN) if name in configuration)


def stored_ids(file: Path, configuration: Mapping[str, str]) -> list[Stored]:
    """Read a data file's stored ids and versions of each row, under the names in the table's properties.

    Raises:
        ValueError: the ids are no whole numbers.
    """
    parquet = pq.ParquetFile(file)
    columns: list[list[int | None]] = []
    for name in (_ID_COLUMN, _VERSION_COLUMN):
        column = configuration.get(name)
        if column is None or column not in parquet.schema_arrow.names:
            columns.append([None] * parquet.metadata.num_rows)
        else:
            values = parquet.read(columns=[column], use_threads=False).column(0)
            if not pa.types.is_integer(values.type):
                raise ValueError(f"{file.name} has ids of rows that are {values.type}")
            columns.append(values.to_pylist())
    return list(zip(*columns, strict=True))


def high_water_mark(configuration: str | None) -> int | None:
    """Read the greatest id of the domain's configuration; None without one.

    Raises:
        ValueError: it is no whole number.
    """
    if configuration is None:
        return None
    try:
        return int(json.loads(configuration)[_MARK])
    except (LookupError, TypeError) as error:
        raise ValueError(f"the domain {DOMAIN} is {configuration}, without a whole number {_MARK}") from error
