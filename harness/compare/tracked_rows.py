"""The rows of a table with row tracking, by their ids (R-705), and the log's entries of its files (R-724)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.model.case import Row


@dataclass(frozen=True, slots=True)
class TrackedRow:
    """A live row: its id, the version that wrote it last, and its values; None if the table does not show them."""

    row_id: int | None
    commit_version: int | None
    values: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFile:
    """A file of the log.

    Attributes:
        base_row_id: the id of its first row, unless the file holds others; None if the action has none.
        commit_version: the version in which its rows came, in the same way.
        num_rows: how many rows it has, deleted ones included.
    """

    path: str
    base_row_id: int | None
    commit_version: int | None
    num_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedTable:
    """A table whose protocol has the feature ``rowTracking``, at one version.

    Attributes:
        is_enabled: whether rows keep their ids.
        is_suspended: whether files that are added get no ids.
        high_water_mark: the greatest id that was given, by the log; None if the log has none.
        rows: all live rows, if rows keep their ids.
    """

    version: int
    is_enabled: bool
    is_suspended: bool
    high_water_mark: int | None
    files: tuple[TrackedFile, ...]
    rows: tuple[TrackedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedMerge:
    """A table before and after a merge.

    Attributes:
        removed: the files of the commit's ``remove`` actions; their rows are not counted.
    """

    before: TrackedTable
    after: TrackedTable
    removed: tuple[TrackedFile, ...] = ()
