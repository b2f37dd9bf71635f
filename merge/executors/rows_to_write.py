"""Joined rows become rows for the writer: conditions, the clause that fires, the output columns, change rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.merge.executors.cdc import generate_cdc_and_output_rows
from mergecheck.merge.executors.clauses import CLAUSE, describe_clauses, generate_precomputed_conditions_and_df
from mergecheck.merge.executors.output import generate_write_all_changes_output_cols
from mergecheck.merge.table.writing.rows import ACTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.run import MergeRun

_logger = logging.getLogger(__name__)


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
        joined: rows of source and target, with the columns that say which of the two a row has.
        kept: which rows reach the writer, by ``_clause_``; by default all but ignored source rows (R-A18).
        deduplicate_deletes: as for ``generate_cdc_and_output_rows``.
        further_columns: more output columns, as Spark SQL over those of the joined rows and of the conditions.
    """
    frame, clauses = generate_precomputed_conditions_and_df(joined, run.merge.clauses)
    cols = generate_write_all_changes_output_cols(
        run.merge, clauses, change_data=run.records_changes, string_partitions=run.string_partitions
    )
    frame = frame.selectExpr("*", f"{cols.clause} AS {CLAUSE}").where(kept)
    cols = replace(cols, columns=(*cols.columns, *further_columns))
    if run.records_changes:
        output = generate_cdc_and_output_rows(frame, cols, deduplicate_deletes=deduplicate_deletes)
    else:
        output = frame.selectExpr(f"{cols.action} AS {ACTION}", *cols.columns)
    if _logger.isEnabledFor(logging.DEBUG):  # plans cost round trips
        _logger.debug("writeAllChanges: expressions\n\t%s", "\n\t".join(describe_clauses(clauses)))
        _logger.debug("writeAllChanges: join output plan:\n%s\n%s", joined, output)
    return output
