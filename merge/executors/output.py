"""MergeOutputGeneration: from joined rows to output rows (R-A11 to R-A17), as Spark SQL text.

Which clause fires is computed once per joined row into ``_clause_``: a position in ``ResolvedMerge.clauses``,
``COPIED`` or NULL. Every output column dispatches on it, so a value is evaluated only where its clause fires (R-254).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from merge.executors.run import clause_type, is_sole_unconditional_delete
from merge.executors.source import SOURCE_ROW_PRESENT
from merge.resolution.resolved import target_column
from merge.resolution.type_sql import type_sql
from merge.statement import ActionType, ClauseKind
from merge.table.rows import ACTION, DELETES, UPDATES, RowAction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from merge.resolution.resolved import ResolvedClause, ResolvedMerge

TARGET_ROW_PRESENT = "_target_row_present_"
TARGET_ROW_INDEX = "_target_row_index_"
SOURCE_ROW_INDEX = "_source_row_index"
CLAUSE = "_clause_"
COPIED = "-1"
IGNORED = "CAST(NULL AS INT)"

_ROW_ACTIONS = {
    (ClauseKind.MATCHED, ActionType.UPDATE): RowAction.MATCHED_UPDATE,
    (ClauseKind.MATCHED, ActionType.DELETE): RowAction.MATCHED_DELETE,
    (ClauseKind.NOT_MATCHED, ActionType.INSERT): RowAction.INSERT,
    (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.UPDATE): RowAction.NOT_MATCHED_BY_SOURCE_UPDATE,
    (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.DELETE): RowAction.NOT_MATCHED_BY_SOURCE_DELETE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecomputedClause:
    """A clause with its position among all clauses and the column that holds its condition (R-423).

    Attributes:
        condition_column: None for a clause without condition.
    """

    clause: ResolvedClause
    position: int
    condition_column: str | None


def output_column(index: int) -> str:
    """Name the output's column at a position of the final schema."""
    return f"output_{index}"


def precompute_clauses(merge: ResolvedMerge) -> tuple[PrecomputedClause, ...]:
    """Number the clauses; the index in a condition's name runs over all conditional clauses (appendix A.2)."""
    result: list[PrecomputedClause] = []
    index = 0
    for position, clause in enumerate(merge.clauses):
        name = None
        if clause.condition is not None:
            name = f"_{clause_type(clause)}_condition_{index}_"
            index += 1
        result.append(PrecomputedClause(clause=clause, position=position, condition_column=name))
    return tuple(result)


def describe_clauses(merge: ResolvedMerge) -> list[str]:
    """Tell each clause's condition column and values, for the log (R-A19)."""
    return [
        f"{clause_type(c.clause)} {c.condition_column or 'always'}: {', '.join(c.clause.values)}"
        for c in precompute_clauses(merge)
    ]


def condition_columns(clauses: Sequence[PrecomputedClause]) -> list[str]:
    """Write the select list that evaluates each condition once per joined row (R-312, R-423)."""
    return [f"({c.clause.condition.sql}) AS {c.condition_column}" for c in clauses if c.clause.condition is not None]


def holds(condition_column: str) -> str:
    """Write the test that lets a clause fire: TRUE fires, FALSE and NULL do not (R-301, danger 1)."""
    return condition_column


def in_firing_order(clauses: Sequence[PrecomputedClause]) -> Sequence[PrecomputedClause]:
    """Order the clauses of one kind as they are tried: as in the statement (R-301)."""
    return clauses


def dispatch(clauses: Sequence[PrecomputedClause], *, otherwise: str) -> str:
    """Write which of the clauses of one kind fires: the first whose condition holds (R-301, R-A14)."""
    branches: list[str] = []
    for clause in in_firing_order(clauses):
        if clause.condition_column is None:
            otherwise = str(clause.position)
            break
        branches.append(f"WHEN {holds(clause.condition_column)} THEN {clause.position}")
    return f"CASE {' '.join(branches)} ELSE {otherwise} END" if branches else otherwise


def fired_clause(clauses: Sequence[PrecomputedClause]) -> str:
    """Write which clause fires on a joined row: matching, not firing, decides the kind (R-302, R-A15)."""
    of_kind = {kind: [c for c in clauses if c.clause.kind is kind] for kind in ClauseKind}
    by_source = dispatch(of_kind[ClauseKind.NOT_MATCHED_BY_SOURCE], otherwise=COPIED)
    inserted = dispatch(of_kind[ClauseKind.NOT_MATCHED], otherwise=IGNORED)
    matched = dispatch(of_kind[ClauseKind.MATCHED], otherwise=COPIED)
    return (
        f"CASE WHEN {SOURCE_ROW_PRESENT} IS NULL THEN {by_source} "
        f"WHEN {TARGET_ROW_PRESENT} IS NULL THEN {inserted} ELSE {matched} END"
    )


def row_action(clause: ResolvedClause) -> RowAction:
    """Tell what a row is on which the clause fires."""
    return _ROW_ACTIONS[clause.kind, clause.action]


def action_of_fired_clause(clauses: Sequence[PrecomputedClause]) -> str:
    """Write the action of the clause that fired."""
    branches = [f"WHEN {c.position} THEN {int(row_action(c.clause))}" for c in clauses]
    return (
        f"CASE {CLAUSE} {' '.join(branches)} ELSE {int(RowAction.COPY)} END" if branches else f"{int(RowAction.COPY)}"
    )


def exploded_actions(clauses: Sequence[PrecomputedClause]) -> str:
    """Write the rows that a joined row becomes with CDF on: an update also gives its pre-image (R-610, R-A16)."""
    action = action_of_fired_clause(clauses)
    updates = ", ".join(str(int(update)) for update in UPDATES)
    return (
        f"explode(CASE WHEN ({action}) IN ({updates}) "
        f"THEN array({action}, {int(RowAction.UPDATE_PREIMAGE)}) ELSE array({action}) END)"
    )


def old_value(merge: ResolvedMerge, index: int) -> str:
    """Write the value of a column before the merge, in the final schema; new columns are NULL (R-241, R-610)."""
    if index < len(merge.target_schema.fields):
        return target_column(index)
    return f"CAST(NULL AS {type_sql(merge.final_schema.fields[index].dataType)})"


def preimage(merge: ResolvedMerge, index: int) -> str:
    """Write a column of an update's pre-image: the old row (R-610)."""
    return old_value(merge, index)


def output_value(merge: ResolvedMerge, clauses: Sequence[PrecomputedClause], index: int, *, change_data: bool) -> str:
    """Write the value of one column of the output (R-A12, R-A13)."""
    old = old_value(merge, index)
    branches: list[str] = []
    if change_data:
        if preimage(merge, index) != old or any(row_action(c.clause) in UPDATES for c in clauses):
            branches.append(f"WHEN {ACTION} = {int(RowAction.UPDATE_PREIMAGE)} THEN {preimage(merge, index)}")
    else:
        deletes = ", ".join(str(c.position) for c in clauses if row_action(c.clause) in DELETES)
        if deletes:
            branches.append(f"WHEN {CLAUSE} IN ({deletes}) THEN NULL")  # counted, never written
    branches += [
        f"WHEN {CLAUSE} = {c.position} THEN {c.clause.values[index]}"
        for c in clauses
        if c.clause.action is not ActionType.DELETE and c.clause.values[index] != old
    ]
    return f"CASE {' '.join(branches)} ELSE {old} END" if branches else old


def stored_value(value: str, *, is_string_partition: bool) -> str:
    """Write what is stored for a value: the empty string is NULL in a string partition column (R-744)."""
    return f"nullif({value}, '')" if is_string_partition else value


def generate_output(
    joined: DataFrame,
    merge: ResolvedMerge,
    *,
    change_data: bool,
    deduplicate_deletes: bool,
    string_partitions: frozenset[int],
) -> DataFrame:
    """Turn joined rows into ``_action_`` and the columns of the final schema.

    Args:
        merge: the statement.
        joined: both sides with their presence columns; with de-duplication also both index columns.
        change_data: CDF rows are wanted.
        deduplicate_deletes: several joined rows of one deleted target row may reach the feed (R-A17).
        string_partitions: positions of string partition columns.
    """
    clauses = precompute_clauses(merge)
    conditions = condition_columns(clauses)
    frame = joined.selectExpr("*", *conditions) if conditions else joined
    frame = frame.selectExpr("*", f"{fired_clause(clauses)} AS {CLAUSE}").where(f"{CLAUSE} IS NOT NULL")
    columns = _columns(merge, clauses, string_partitions, change_data=change_data)
    if not change_data:
        return frame.selectExpr(f"{action_of_fired_clause(clauses)} AS {ACTION}", *columns)
    frame = frame.selectExpr("*", f"{exploded_actions(clauses)} AS {ACTION}")
    if deduplicate_deletes:
        frame = deduplicate(frame)
    return frame.selectExpr(ACTION, *columns)


def _columns(
    merge: ResolvedMerge,
    clauses: Sequence[PrecomputedClause],
    string_partitions: frozenset[int],
    *,
    change_data: bool,
) -> Iterator[str]:
    for index in range(len(merge.final_schema.fields)):
        value = output_value(merge, clauses, index, change_data=change_data)
        stored = stored_value(value, is_string_partition=index in string_partitions)
        yield f"{stored} AS {output_column(index)}"


def needs_deduplication(merge: ResolvedMerge, *, multiple_matches: bool, change_data: bool) -> bool:
    """Tell whether deleted rows could stand in the feed several times (R-614, R-A04, R-A10)."""
    return multiple_matches and change_data and is_sole_unconditional_delete(merge)


def deduplicate(frame: DataFrame) -> DataFrame:
    """Keep one row per target row, or source row without target row, and action (R-614, R-A17).

    Rows of the two sides never share a key: on joined rows with a target row the source's index is NULL, on others
    the target's is. One filled-in index column, as in Delta's outline, could take a row of one side for one of the
    other, and lose it.
    """
    return frame.dropDuplicates([TARGET_ROW_INDEX, SOURCE_ROW_INDEX, ACTION])


def hide_source_index() -> str:
    """Write the source's row index as the de-duplication needs it: only on rows without a target row."""
    return f"CASE WHEN {TARGET_ROW_PRESENT} IS NULL THEN {SOURCE_ROW_INDEX} END AS {SOURCE_ROW_INDEX}"
