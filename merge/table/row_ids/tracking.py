"""Row tracking in a table's log: whether rows have ids, and the greatest id that was ever given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mergecheck.merge.errors import DamagedLogError

if TYPE_CHECKING:
    from collections.abc import Mapping

FEATURE: Final = "rowTracking"
ENABLED: Final = "delta.enableRowTracking"
SUSPENDED: Final = "delta.rowTrackingSuspended"
ROW_ID_COLUMN: Final = "delta.rowTracking.materializedRowIdColumnName"
COMMIT_VERSION_COLUMN: Final = "delta.rowTracking.materializedRowCommitVersionColumnName"
DOMAIN: Final = "delta.rowTracking"
HIGH_WATER_MARK: Final = "rowIdHighWaterMark"
PRESERVED: Final = "delta.rowTracking.preserved"
"""The tag of a commit that kept ids and commit versions."""
NO_ID: Final = -1
"""The high-water mark of a table that never gave an id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIds:
    """The ids of the rows of a data file, unless the file holds others (R-705).

    Attributes:
        base_row_id: the id of its first row; the others follow by their positions.
        commit_version: the version of the table in which the file was added.
    """

    base_row_id: int
    commit_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingColumns:
    """The columns of data files that hold ids and commit versions of rows which had them before."""

    row_id: str
    commit_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTracking:
    """Row tracking of a table whose protocol has the feature.

    Attributes:
        high_water_mark: the greatest id that was ever given.
        columns: None if the property is off: files get ids then, but rows do not keep theirs.
        is_suspended: no file gets ids.
    """

    high_water_mark: int = NO_ID
    columns: TrackingColumns | None = None
    is_suspended: bool = False


def read_row_tracking(
    properties: Mapping[str, str], domain: str | None, *, is_enabled: bool, is_suspended: bool, where: str
) -> RowTracking:
    """Read the state of row tracking from a log.

    Args:
        properties: of the table.
        domain: the configuration of the metadata domain ``delta.rowTracking``; None if there is none.
        is_enabled: whether rows keep their ids.
        is_suspended: whether files get none.
        where: the table, for messages.

    Raises:
        DamagedLogError: the domain has no number, or a column has no name although rows keep their ids.
    """
    mark = NO_ID
    if domain is not None:
        try:
            mark = high_water_mark_of(domain)
        except (ValueError, LookupError, TypeError) as error:
            raise DamagedLogError(f"the domain {DOMAIN} is {domain:.100}, without a number", where=where) from error
    if not is_enabled:
        return RowTracking(high_water_mark=mark, is_suspended=is_suspended)
    for name in (ROW_ID_COLUMN, COMMIT_VERSION_COLUMN):
        if not properties.get(name):
            raise DamagedLogError(f"{ENABLED} is true, but the property {name} is not set", where=where)
    columns = TrackingColumns(row_id=properties[ROW_ID_COLUMN], commit_version=properties[COMMIT_VERSION_COLUMN])
    return RowTracking(high_water_mark=mark, columns=columns, is_suspended=is_suspended)


def high_water_mark_of(domain: str) -> int:
    """Read the number of the domain's configuration.

    Raises:
        ValueError, LookupError, TypeError: there is none.
    """
    return int(json.loads(domain)[HIGH_WATER_MARK])
