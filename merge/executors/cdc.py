"""MergeOutputGeneration: rows of the change feed and of the table (R-A16, R-A17).

The writer sends one row to the table, to the feed or to both, by its action. So its values are evaluated once (R-330),
and only an update, whose images differ, becomes two rows.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.merge.executors.clauses import CLAUSE, describe_clauses, generate_precomputed_conditions_and_df
from mergecheck.merge.executors.merge_run import is_sole_unconditional_delete
from mergecheck.merge.executors.output import (
    TARGET_ROW_PRESENT,
    generate_write_all_changes_output_cols,
    kept_row_ids,
)
from mergecheck.merge.table.writing.row_records import ACTION, UPDATES, RowAction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.executors.output import OutputCols
    from mergecheck.merge.expressions.resolved import ResolvedMerge

_logger = logging.getLogger(__name__)

TARGET_ROW_INDEX = "_target_row_index_"
SOURCE_ROW_INDEX = "_source_row_index"


def rows_to_write(
    run: MergeRun,
    joined: DataFrame,
    *,
    kept: str = f"{CLAUSE} IS NOT NULL",
    deduplicate_deletes: bool = False,
    further_columns: Sequence[str] = (),
) -> DataFrame:
    """Turn joined rows into ``_action_`` and the columns of the final schema, rows of the change feed included.

    Args:
        run: the merge under way.
        joined: rows of source and target, with the columns that mark which of the two a row has, and with the ids of
            target rows if the table tracks its rows.
        kept: which rows reach the writer, by ``_clause_``; by default all but ignored source rows (R-A18).
        deduplicate_deletes: as for ``generate_cdc_and_output_rows``.
        further_columns: more output columns, over the columns of the joined rows and the conditions.
    """
    frame, clauses = generate_precomputed_conditions_and_df(joined, run.merge.clauses)
    cols = generate_write_all_changes_output_cols(
        run.merge, clauses, change_data=run.records_changes, string_partitions=run.string_partitions
    )
    frame = frame.selectExpr("*", f"{cols.clause} AS {CLAUSE}").where(kept)
    ids = kept_row_ids() if run.snapshot.tracks_rows else ()
    cols = replace(cols, columns=(*cols.columns, *further_columns, *ids))
    if run.records_changes:
        output = generate_cdc_and_output_rows(frame, cols, deduplicate_deletes=deduplicate_deletes)
    else:
        output = frame.selectExpr(f"{cols.action} AS {ACTION}", *cols.columns)
    if _logger.isEnabledFor(logging.DEBUG):  # plans cost round trips
        _logger.debug("writeAllChanges: expressions\n\t%s", "\n\t".join(describe_clauses(clauses)))
        _logger.debug("writeAllChanges: join output plan:\n%s\n%s", joined, output)
    return output


def generate_cdc_and_output_rows(frame: DataFrame, output_cols: OutputCols, *, deduplicate_deletes: bool) -> DataFrame:
    """Turn rows with ``_clause_`` into ``_action_`` and the columns of the final schema, pre-images included (R-610).

    Deletes are de-duplicated if several joined rows of one deleted target row may reach the feed (R-A04). The frame
    then has both index columns.
    """
    frame = pack_and_explode_cdc_output(frame, output_cols.action)
    if deduplicate_deletes:
        frame = deduplicate_cdf_deletes(frame)
    return frame.selectExpr(ACTION, *output_cols.columns)


def pack_and_explode_cdc_output(frame: DataFrame, action: str) -> DataFrame:
    """Give every row its ``_action_``, and an updated row a second time as its pre-image (R-610, R-A16)."""
    return frame.selectExpr("*", f"{exploded_actions(action)} AS {ACTION}")


def exploded_actions(action: str) -> str:
    """Write the actions that a joined row becomes: two for an update, one for anything else."""
    updates = ", ".join(str(int(update)) for update in UPDATES)
    return (
        f"explode(CASE WHEN ({action}) IN ({updates}) "
        f"THEN array({action}, {int(RowAction.UPDATE_PREIMAGE)}) ELSE array({action}) END)"
    )


def needs_deduplication(merge: ResolvedMerge, *, multiple_matches: bool, change_data: bool) -> bool:
    """Return whether deleted rows could be in the feed several times (R-614, R-A04, R-A10)."""
    return multiple_matches and change_data and is_sole_unconditional_delete(merge)


def deduplicate_cdf_deletes(frame: DataFrame) -> DataFrame:
    """Keep one row per target row, or source row without target row, and action (R-614, R-A17).

    Joined rows with a target row have no source index, and the others have no target index. One index column for both
    sides could confuse a row of one side with a row of the other.
    """
    return frame.dropDuplicates([TARGET_ROW_INDEX, SOURCE_ROW_INDEX, ACTION])


def hide_source_index() -> str:
    """Write the source's row index as the de-duplication needs it: only on rows without a target row."""
    return f"CASE WHEN {TARGET_ROW_PRESENT} IS NULL THEN {SOURCE_ROW_INDEX} END AS {SOURCE_ROW_INDEX}"
