"""The target's rows as the executors that write join them with the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.merge.executors.output import TARGET_ROW_PRESENT
from mergecheck.merge.table.reading.scan import scan_files
from mergecheck.merge.types.text_limits import padded_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.table.snapshot.data_files import DataFile


def scan_target(run: MergeRun, files: Sequence[DataFile], *, with_row_identity: bool = True) -> DataFrame:
    """Read all columns of files' live rows, the mark of a target row, and what rows keep if they are tracked (R-705).

    Args:
        run: the merge under way.
        files: which files.
        with_row_identity: give file name and row index, too.
    """
    return scan_files(
        run.spark,
        run.snapshot,
        files,
        with_row_identity=with_row_identity,
        with_row_ids=run.snapshot.tracks_rows,
        constants=(f"TRUE AS {TARGET_ROW_PRESENT}",),
        padded=padded_columns(run.snapshot.schema, padding=run.conf.read_side_char_padding),
    )
