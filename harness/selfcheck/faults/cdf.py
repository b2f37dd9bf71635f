"""Faults in the change data feed and in the operation metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge import command, metrics
from mergecheck.merge.executors import cdc, classic, clauses, output
from mergecheck.merge.executors.cdc import TARGET_ROW_INDEX
from mergecheck.merge.executors.run import MergeRun
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.table.writing import write as writing
from mergecheck.merge.table.writing.rows import ACTION, DELETES, UPDATES, Route, RowAction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.output import ClauseActions
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.metrics import PathResult


def _new_row(_right: Any) -> Callable[[ResolvedMerge, int], str]:
    def image(merge: ResolvedMerge, index: int) -> str:
        new = [
            f"WHEN {position} THEN {clause.values[index]}"
            for position, clause in enumerate(merge.clauses)
            if output.row_action(clause) in UPDATES
        ]
        old = merge.old_values[index]
        return f"CASE {clauses.CLAUSE} {' '.join(new)} ELSE {old} END" if new else old

    return image


def _route(change: Callable[[int, Route], Route]) -> Callable[[Any], Callable[..., dict[int, Route]]]:
    """Make a fault of the routes that rows take to table and feed."""
    return lambda right: lambda **how: {code: change(code, route) for code, route in right(**how).items()}


def _hidden(*actions: RowAction) -> Callable[[int, Route], Route]:
    return lambda code, route: replace(route, change_type=None) if code in actions else route


_SWAPPED = {"update_preimage": "update_postimage", "update_postimage": "update_preimage"}


def _images_swapped(_code: int, route: Route) -> Route:
    return replace(route, change_type=_SWAPPED.get(route.change_type or "", route.change_type))


def _updates_as_delete_and_insert(_code: int, route: Route) -> Route:
    names = {"update_preimage": "delete", "update_postimage": "insert"}
    return replace(route, change_type=names.get(route.change_type or "", route.change_type))


def _deletes_twice(right: Any) -> Callable[[str], str]:
    deletes = ", ".join(str(int(action)) for action in DELETES)
    return lambda action: right(action).replace(
        "ELSE array(", f"WHEN ({action}) IN ({deletes}) THEN array({action}, {action}) ELSE array("
    )


def _by_target_index(_right: Any) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: frame.dropDuplicates([TARGET_ROW_INDEX, ACTION])


def _by_values(_right: Any) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: frame.dropDuplicates(
        [*(n for n in frame.columns if n.startswith(("target_", "source_"))), ACTION]
    )


def _without_old_values(right: Any) -> Callable[..., tuple[ClauseActions, ...]]:
    return lambda merge, found, **_how: right(merge, found, change_data=False)


def _row_metrics(change: Callable[[PathResult, dict[str, int]], Mapping[str, int]]) -> Callable[[Any], Any]:
    """Make a fault of the row metrics; ``change`` names the metrics that are wrong."""
    return lambda right: lambda result: {**right(result), **change(result, right(result))}


def _file_metrics(change: Callable[[PathResult], Mapping[str, int]]) -> Callable[[Any], Any]:
    return lambda right: lambda result: {**right(result), **change(result)}


def _source_rows_inserted(result: PathResult, found: dict[str, int]) -> Mapping[str, int]:
    return {"numSourceRows": found["numTargetRowsInserted"]} if result.path is ExecutionPath.A else {}


def _matched_source_rows(_result: PathResult, found: dict[str, int]) -> Mapping[str, int]:
    used = found["numTargetRowsMatchedUpdated"] + found["numTargetRowsMatchedDeleted"] + found["numTargetRowsInserted"]
    return {"numSourceRows": used}


def _updates_as_insert_and_copy(_result: PathResult, found: dict[str, int]) -> Mapping[str, int]:
    return {
        "numTargetRowsInserted": found["numTargetRowsInserted"] + found["numTargetRowsMatchedUpdated"],
        "numTargetRowsUpdated": found["numTargetRowsNotMatchedBySourceUpdated"],
        "numTargetRowsMatchedUpdated": 0,
    }


def _sum(names: Iterable[str], into: str) -> Callable[[PathResult, dict[str, int]], Mapping[str, int]]:
    return lambda _result, found: {into: sum(found[name] for name in names)}


def _parts_swapped(_result: PathResult, found: dict[str, int]) -> Mapping[str, int]:
    return {
        "numTargetRowsMatchedUpdated": found["numTargetRowsNotMatchedBySourceUpdated"],
        "numTargetRowsNotMatchedBySourceUpdated": found["numTargetRowsMatchedUpdated"],
    }


def _dropped_as_copied(result: PathResult, found: dict[str, int]) -> Mapping[str, int]:
    copied = found["numTargetRowsCopied"]
    return {"numTargetRowsCopied": copied + found["numTargetRowsDeleted"]} if result.path is ExecutionPath.D else {}


def _scanned_as_removed(right: Any) -> Callable[..., Any]:
    def metrics_of(result: PathResult, snapshot: Any, candidates: Any, times: Any) -> Any:
        found = right(result, snapshot, candidates, times)
        return replace(found, operation={**found.operation, "numTargetFilesRemoved": len(candidates)})

    return metrics_of


CDF_FAULTS = (
    Fault(
        name="preimage-from-new-row",
        area=Area.CDF,
        sentence="The pre-image of an updated row shows its new values.",
        rules=("R-610",),
        origin="T27",
        edits=(Edit(output, "preimage", _new_row),),
    ),
    Fault(
        name="images-swapped",
        area=Area.CDF,
        sentence="Pre-image and post-image carry each other's change type.",
        rules=("R-610",),
        origin="T27",
        edits=(Edit(writing, "routes", _route(_images_swapped)),),
    ),
    Fault(
        name="updates-as-delete-and-insert",
        area=Area.CDF,
        sentence="An update stands in the feed as a delete and an insert.",
        rules=("R-610",),
        origin="engines that know no images",
        edits=(Edit(writing, "routes", _route(_updates_as_delete_and_insert)),),
    ),
    Fault(
        name="inserts-missing-in-feed",
        area=Area.CDF,
        sentence="Rows inserted by a rewriting merge are missing in the feed.",
        rules=("R-610", "R-620"),
        origin="P-12",
        edits=(Edit(writing, "routes", _route(_hidden(RowAction.INSERT))),),
    ),
    Fault(
        name="deletes-missing-in-feed",
        area=Area.CDF,
        sentence="Deleted rows are missing in the feed.",
        rules=("R-610",),
        origin="P-12",
        edits=(Edit(writing, "routes", _route(_hidden(*DELETES))),),
    ),
    Fault(
        name="by-source-updates-missing-in-feed",
        area=Area.CDF,
        sentence="Rows updated by NOT MATCHED BY SOURCE clauses have no post-image.",
        rules=("R-610",),
        origin="P-12",
        needs=needs.by_source,
        edits=(Edit(writing, "routes", _route(_hidden(RowAction.NOT_MATCHED_BY_SOURCE_UPDATE))),),
    ),
    Fault(
        name="by-source-deletes-missing-in-feed",
        area=Area.CDF,
        sentence="Rows deleted by NOT MATCHED BY SOURCE clauses are missing in the feed.",
        rules=("R-610",),
        origin="P-12",
        needs=needs.by_source,
        edits=(Edit(writing, "routes", _route(_hidden(RowAction.NOT_MATCHED_BY_SOURCE_DELETE))),),
    ),
    Fault(
        name="preimages-missing",
        area=Area.CDF,
        sentence="Updated rows have no pre-image.",
        rules=("R-610",),
        origin="P-12",
        edits=(Edit(writing, "routes", _route(_hidden(RowAction.UPDATE_PREIMAGE))),),
    ),
    Fault(
        name="deletes-not-deduplicated",
        area=Area.CDF,
        sentence="A deleted row stands in the change feed once per matching source row.",
        rules=("R-614",),
        origin="delta-io/delta #1274, #1309",
        needs=needs.several_matches,
        edits=(Edit(classic, "needs_deduplication", lambda _right: lambda _merge, **_shape: False),),
    ),
    Fault(
        name="deletes-doubled",
        area=Area.CDF,
        sentence="Every deleted row stands in the feed, and in the metrics, twice.",
        rules=("R-610", "R-611"),
        origin="trinodb/trino #16127",
        edits=(Edit(cdc, "exploded_actions", _deletes_twice),),
    ),
    Fault(
        name="deduplicated-by-target-row",
        area=Area.CDF,
        sentence="De-duplication of deletes keeps one inserted row, since inserts have no target row.",
        rules=("R-614",),
        origin="R-A17",
        needs=needs.several_matches,
        edits=(Edit(cdc, "deduplicate_cdf_deletes", _by_target_index, comparable=False),),
    ),
    Fault(
        name="deduplicated-by-value",
        area=Area.CDF,
        sentence="De-duplication of deletes takes rows of equal values for one row.",
        rules=("R-614", "R-002"),
        origin="danger 2",
        needs=needs.several_matches,
        edits=(Edit(cdc, "deduplicate_cdf_deletes", _by_values, comparable=False),),
    ),
    Fault(
        name="deleted-rows-null-in-feed",
        area=Area.CDF,
        sentence="Deleted rows stand in the feed with NULL in every column.",
        rules=("R-610", "R-A13"),
        origin="R-A13",
        edits=(Edit(output, "generate_all_action_exprs", _without_old_values),),
    ),
    Fault(
        name="feed-written-although-off",
        area=Area.CDF,
        sentence="Change files are written for a table without change data feed.",
        rules=("R-601",),
        origin="R-601",
        edits=(Edit(MergeRun, "records_changes", lambda _right: property(lambda _run: True)),),
    ),
)

METRIC_FAULTS = (
    Fault(
        name="copied-rows-counted-twice",
        area=Area.METRICS,
        sentence="numTargetRowsCopied, and with it numOutputRows, counts each copied row twice.",
        rules=("R-510",),
        origin="T27",
        edits=(Edit(metrics, "copied_rows", lambda right: lambda result: 2 * right(result)),),
    ),
    Fault(
        name="delete-overcount-not-corrected",
        area=Area.METRICS,
        sentence="Several source rows that delete one row count as several deleted rows.",
        rules=("R-530",),
        origin="danger 5; delta-io/delta #712",
        needs=needs.several_matches,
        edits=(Edit(classic, "touched_files", lambda right: lambda *a, **k: replace(right(*a, **k), overcount=0)),),
    ),
    Fault(
        name="source-rows-after-filter",
        area=Area.METRICS,
        sentence="numSourceRows of an insert-only merge counts the rows inserted.",
        rules=("R-504",),
        origin="danger 16; delta-rs #4488",
        edits=(Edit(metrics, "_row_metrics", _row_metrics(_source_rows_inserted)),),
    ),
    Fault(
        name="source-rows-used",
        area=Area.METRICS,
        sentence="numSourceRows counts the source rows that made a change.",
        rules=("R-504",),
        origin="danger 16",
        edits=(Edit(metrics, "_row_metrics", _row_metrics(_matched_source_rows)),),
    ),
    Fault(
        name="updates-counted-as-inserts",
        area=Area.METRICS,
        sentence="Matched updates count as inserts.",
        rules=("R-510",),
        origin="apache/incubator-gluten #9945",
        edits=(Edit(metrics, "_row_metrics", _row_metrics(_updates_as_insert_and_copy)),),
    ),
    Fault(
        name="by-source-deletes-not-counted",
        area=Area.METRICS,
        sentence="numTargetRowsDeleted leaves out the rows deleted by NOT MATCHED BY SOURCE clauses.",
        rules=("R-510",),
        origin="P-6",
        needs=needs.by_source,
        edits=(
            Edit(
                metrics,
                "_row_metrics",
                _row_metrics(_sum(("numTargetRowsMatchedDeleted",), into="numTargetRowsDeleted")),
            ),
        ),
    ),
    Fault(
        name="by-source-updates-not-counted",
        area=Area.METRICS,
        sentence="numTargetRowsUpdated leaves out the rows updated by NOT MATCHED BY SOURCE clauses.",
        rules=("R-510",),
        origin="P-6",
        needs=needs.by_source,
        edits=(
            Edit(
                metrics,
                "_row_metrics",
                _row_metrics(_sum(("numTargetRowsMatchedUpdated",), into="numTargetRowsUpdated")),
            ),
        ),
    ),
    Fault(
        name="parts-of-updates-swapped",
        area=Area.METRICS,
        sentence="The matched and the by-source part of the updated rows are each other's.",
        rules=("R-510",),
        origin="R-510",
        edits=(Edit(metrics, "_row_metrics", _row_metrics(_parts_swapped)),),
    ),
    Fault(
        name="deleted-rows-counted-as-copied",
        area=Area.METRICS,
        sentence="numTargetRowsCopied contains the deleted rows.",
        rules=("R-510",),
        origin="P-7",
        edits=(Edit(metrics, "_row_metrics", _row_metrics(_dropped_as_copied)),),
    ),
    Fault(
        name="output-rows-without-copied",
        area=Area.METRICS,
        sentence="numOutputRows leaves out the copied rows.",
        rules=("R-505",),
        origin="P-6",
        edits=(
            Edit(
                metrics,
                "_row_metrics",
                _row_metrics(_sum(("numTargetRowsInserted", "numTargetRowsUpdated"), into="numOutputRows")),
            ),
        ),
    ),
    Fault(
        name="scanned-files-counted-as-removed",
        area=Area.METRICS,
        sentence="numTargetFilesRemoved counts the files that were scanned.",
        rules=("R-510", "R-411"),
        origin="R-411",
        edits=(Edit(command, "merge_metrics", _scanned_as_removed),),
    ),
    Fault(
        name="change-files-counted-as-added",
        area=Area.METRICS,
        sentence="numTargetFilesAdded counts the change files too.",
        rules=("R-510",),
        origin="R-510",
        edits=(
            Edit(
                metrics,
                "_file_metrics",
                _file_metrics(
                    lambda result: {
                        "numTargetFilesAdded": len(result.written.data_files) + len(result.written.change_files)
                    }
                ),
            ),
        ),
    ),
    Fault(
        name="change-files-not-counted",
        area=Area.METRICS,
        sentence="numTargetChangeFilesAdded is always 0.",
        rules=("R-510",),
        origin="R-510",
        edits=(Edit(metrics, "_file_metrics", _file_metrics(lambda _result: {"numTargetChangeFilesAdded": 0})),),
    ),
)
