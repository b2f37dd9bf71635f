"""Files that differ from the log: a damaged file must not count as a file of fewer rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.table.storage.paths import is_in_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.merge.table.snapshot.data_files import DataFile


def check_sizes(files: Iterable[DataFile]) -> None:
    """Compare the sizes of local files with those in the log. Spark reads an empty file as one without rows.

    Files in a store are not asked for their size, which would be a request each in every scan. An object is put whole
    or not at all, and Spark itself fails on one that is missing or ends too early; only an empty one has no rows.

    Raises:
        ExecutionError: a file is missing, or has another size.
    """
    for file in files:
        if is_in_store(file.location):
            continue
        try:
            size = os.stat(file.location).st_size  # noqa: PTH116 - a location is plain text
        except OSError as error:
            raise ExecutionError(
                "FAILED_READ_FILE.FILE_NOT_EXIST",
                f"The data file {file.location} cannot be read: {error.strerror}. The table's log names it. Restore "
                "the file, or an earlier version of the table.",
            ) from error
        if size != file.size:
            raise ExecutionError(
                "FAILED_READ_FILE.NO_HINT",
                f"The data file {file.location} is damaged: it has {size} bytes, but {file.size} by the table's log. "
                "Restore the file, or an earlier version of the table.",
            )
