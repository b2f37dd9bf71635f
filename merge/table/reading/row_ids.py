"""Ids and commit versions of the rows of files (R-705): as a file stores them, else by the file's own ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.merge.syntax.dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.merge.table.row_ids.tracking import TrackingColumns
    from mergecheck.merge.table.snapshot.data_files import DataFile

ROW_ID: Final = "_row_id_"
COMMIT_VERSION: Final = "_row_commit_version_"
STORED_ROW_ID: Final = "_stored_row_id_"
STORED_COMMIT_VERSION: Final = "_stored_row_commit_version_"
BASE_ROW_ID: Final = "_base_row_id_"
FILE_COMMIT_VERSION: Final = "_file_commit_version_"


def stored_ids(columns: TrackingColumns) -> tuple[str, str]:
    """Name the stored value; NULL for a row or a file without."""
    return (
        f"{quote_name(columns.row_id)} AS {STORED_ROW_ID}",
        f"{quote_name(columns.commit_version)} AS {STORED_COMMIT_VERSION}",
    )


def ids_of_file(file: DataFile) -> dict[str, str]:
    """Write the ids of a file as literals, by the names of columns."""
    if file.ids is None:
        raise ValueError(f"{file.path} has no row ids")
    ids = file.ids
    return {BASE_ROW_ID: f"{ids.base_row_id}L", FILE_COMMIT_VERSION: f"{ids.commit_version}L"}


def row_ids(of_file: Mapping[str, str], row: str) -> tuple[str, str]:
    """Write id and commit version of a row.

    Args:
        of_file: expressions for the ids of the row's file, by the names of ``ids_of_file``.
        row: an expression for its position in the file.
    """
    return (
        f"coalesce({STORED_ROW_ID}, {of_file[BASE_ROW_ID]} + {row}) AS {ROW_ID}",
        f"coalesce({STORED_COMMIT_VERSION}, {of_file[FILE_COMMIT_VERSION]}) AS {COMMIT_VERSION}",
    )
