"""``commitInfo`` of a merge's commit (R-702, R-707, R-710, R-711), and the row that the command returns (R-110).

No rule decides times, names of programs and texts of conditions (R-712). An entry is given in words that leave them
out: ``given`` for an entry that must be there, and for each clause its action, with `` if`` if it has a condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.outcome import Bound
    from mergecheck.reference.analysis.resolved import Resolved

_PREDICATES = {
    Kind.MATCHED: "matchedPredicates",
    Kind.NOT_MATCHED: "notMatchedPredicates",
    Kind.NOT_MATCHED_BY_SOURCE: "notMatchedBySourcePredicates",
}
ROW_TRACKING_TAG = "delta.rowTracking.preserved true"
IDENTITY_TAG = "delta.identity.schemaUpdate true"
_RESULT_ROW = {
    "num_updated_rows": "numTargetRowsUpdated",
    "num_deleted_rows": "numTargetRowsDeleted",
    "num_inserted_rows": "numTargetRowsInserted",
}


def predict_commit_info(
    merge: Resolved,
    *,
    changes_data: bool,
    has_other_actions: bool,
    has_timestamps: bool,
    tracks_rows: bool,
    only_marks: bool = False,
) -> dict[str, str]:
    """Predict the entries of ``commitInfo``.

    Args:
        merge: the statement.
        changes_data: whether the commit adds or removes a file.
        has_other_actions: whether the commit has an action that is no file: new metadata, or a transaction number.
        has_timestamps: whether the table has in-commit timestamps (R-707).
        tracks_rows: whether its rows keep their ids (R-705).
        only_marks: whether high-water marks of identity columns are its only new metadata (R-226).
    """
    tags = [*([ROW_TRACKING_TAG] if tracks_rows else []), *([IDENTITY_TAG] if only_marks else [])]
    return {
        "operation": "MERGE",
        "operationParameters": ", ".join(["predicate", *_PREDICATES.values()]),
        "predicate": "one condition",
        **{name: _clauses(merge, kind) for kind, name in _PREDICATES.items()},
        "isBlindAppend": "false",
        "isolationLevel": "Serializable" if changes_data or has_other_actions else "SnapshotIsolation",
        "dataChange": "true" if changes_data else "false",
        "readVersion": "the version before",
        "engineInfo": "given",
        "txnId": "given",
        "inCommitTimestamp": "after that of the version before" if has_timestamps else "nothing",
        "tags": ", ".join(tags) or "nothing",
    }


def predict_result_row(metrics: Mapping[str, Bound]) -> dict[str, int]:
    """Give the command's row; its numbers are exact, whatever the files are (R-540)."""
    numbers = {column: metrics[name].low for column, name in _RESULT_ROW.items()}
    return {"num_affected_rows": sum(numbers.values()), **numbers}


def _clauses(merge: Resolved, kind: Kind) -> str:
    clauses = [clause.action.value + (" if" if clause.condition is not None else "") for clause in merge.of(kind)]
    return ", ".join(clauses) or "none"
