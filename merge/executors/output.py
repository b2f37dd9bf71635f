"""MergeOutputGeneration: the columns of the output, as Spark SQL over a joined row (R-A11 to R-A15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.merge.executors.clauses import CLAUSE, COPIED, IGNORED, generate_clause_output_exprs
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.syntax.statement import ActionType, ClauseKind
from mergecheck.merge.table.reading.row_ids import COMMIT_VERSION, ROW_ID
from mergecheck.merge.table.writing.row_records import ACTION, KEPT_COMMIT_VERSION, KEPT_ROW_ID, UPDATES, RowAction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.merge.executors.clauses import PrecomputedClause
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge

TARGET_ROW_PRESENT = "_target_row_present_"

_ROW_ACTIONS = {
    (ClauseKind.MATCHED, ActionType.UPDATE): RowAction.MATCHED_UPDATE,
    (ClauseKind.MATCHED, ActionType.DELETE): RowAction.MATCHED_DELETE,
    (ClauseKind.NOT_MATCHED, ActionType.INSERT): RowAction.INSERT,
    (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.UPDATE): RowAction.NOT_MATCHED_BY_SOURCE_UPDATE,
    (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.DELETE): RowAction.NOT_MATCHED_BY_SOURCE_DELETE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseActions:
    """The output of a row on which a clause fires (R-A13): its ``_clause_``, its ``_action_`` and its values.

    There is one value, as Spark SQL, per column of the final schema.
    """

    position: int
    action: RowAction
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCols:
    """The output of the rewriting scan, as Spark SQL (R-A11).

    Attributes:
        clause: ``_clause_`` of a joined row; NULL drops the row, which is Delta's ``_row_dropped_``.
        action: ``_action_`` by ``_clause_``: the files and the metric of the row; Delta's ``_change_type``.
        columns: the columns of the final schema by ``_clause_`` and, with change data, ``_action_``; named.
    """

    clause: str
    action: str
    columns: tuple[str, ...]


def output_column(index: int) -> str:
    """Name the output's column at a position of the final schema."""
    return f"output_{index}"


def row_action(clause: ResolvedClause) -> RowAction:
    """Return the action of a row on which the clause fires."""
    return RowAction.INSERT_WITH_IDS if clause.generated_ids else _ROW_ACTIONS[clause.kind, clause.action]


def places_of_actions(merge: ResolvedMerge) -> dict[int, str]:
    """Write how messages name the clauses whose rows have an action."""
    places: dict[int, list[str]] = {int(RowAction.COPY): ["a copied row"]}
    for clause in merge.clauses:
        places.setdefault(int(row_action(clause)), []).append(clause.place)
    return {action: " or ".join(names) for action, names in places.items()}


def generate_all_action_exprs(
    merge: ResolvedMerge, clauses: Sequence[PrecomputedClause], *, change_data: bool
) -> tuple[ClauseActions, ...]:
    """Write each clause's value of every output column (R-A13).

    A deleted row keeps its old values, in the final schema, if it goes to the change feed, and is NULL throughout if
    it is only counted.
    """
    deleted = merge.old_values if change_data else ("NULL",) * len(merge.final_schema.fields)
    return tuple(
        ClauseActions(
            position=c.position,
            action=row_action(c.clause),
            values=deleted if c.clause.action is ActionType.DELETE else c.clause.values,
        )
        for c in clauses
    )


def generate_write_all_changes_output_cols(
    merge: ResolvedMerge,
    clauses: Sequence[PrecomputedClause],
    *,
    change_data: bool,
    string_partitions: frozenset[int],
) -> OutputCols:
    """Write every output column of the rewriting scan for all clauses of a merge together (R-A11 to R-A15).

    Positions of string partition columns are those in the final schema.
    """
    actions = generate_all_action_exprs(merge, clauses, change_data=change_data)
    values = (output_value(merge, actions, index, change_data=change_data) for index in range(len(merge.old_values)))
    return OutputCols(
        clause=fired_clause(clauses),
        action=action_of_fired_clause(actions),
        columns=named_output_columns(values, string_partitions),
    )


def fired_clause(clauses: Sequence[PrecomputedClause]) -> str:
    """Write which clause fires on a joined row: matching, not firing, decides the kind (R-302, R-A15)."""
    of_kind = {kind: [c for c in clauses if c.clause.kind is kind] for kind in ClauseKind}
    by_source = generate_clause_output_exprs(of_kind[ClauseKind.NOT_MATCHED_BY_SOURCE], otherwise=COPIED)
    inserted = generate_clause_output_exprs(of_kind[ClauseKind.NOT_MATCHED], otherwise=IGNORED)
    matched = generate_clause_output_exprs(of_kind[ClauseKind.MATCHED], otherwise=COPIED)
    return (
        f"CASE WHEN {SOURCE_ROW_PRESENT} IS NULL THEN {by_source} "
        f"WHEN {TARGET_ROW_PRESENT} IS NULL THEN {inserted} ELSE {matched} END"
    )


def action_of_fired_clause(actions: Sequence[ClauseActions]) -> str:
    """Write the action of the clause that fired; a row on which none fired is copied."""
    branches = " ".join(f"WHEN {clause.position} THEN {int(clause.action)}" for clause in actions)
    return f"CASE {CLAUSE} {branches} ELSE {int(RowAction.COPY)} END" if branches else f"{int(RowAction.COPY)}"


def output_value(merge: ResolvedMerge, actions: Sequence[ClauseActions], index: int, *, change_data: bool) -> str:
    """Write one output column: the fired clause's value, or else the old one in the new schema (R-A12, R-241)."""
    old = merge.old_values[index]
    positions: dict[str, list[str]] = {}  # by value: clauses that agree on a column share a branch
    for clause in actions:
        if clause.values[index] != old:
            positions.setdefault(clause.values[index], []).append(str(clause.position))
    branches = [f"WHEN {CLAUSE} IN ({', '.join(found)}) THEN {value}" for value, found in positions.items()]
    if branches and change_data and any(clause.action in UPDATES for clause in actions):
        branches.insert(0, f"WHEN {ACTION} = {int(RowAction.UPDATE_PREIMAGE)} THEN {old}")
    return f"CASE {' '.join(branches)} ELSE {old} END" if branches else old


def kept_row_ids() -> tuple[str, str]:
    """Write the id of a row, and if it is copied its commit version (R-705); rows to insert have neither."""
    return (
        f"{ROW_ID} AS {KEPT_ROW_ID}",
        f"CASE WHEN {CLAUSE} = {COPIED} THEN {COMMIT_VERSION} END AS {KEPT_COMMIT_VERSION}",
    )


def named_output_columns(values: Iterable[str], string_partitions: frozenset[int]) -> tuple[str, ...]:
    """Write the values as they are stored, under the names of the output's columns."""
    return tuple(
        f"{stored_value(value, is_string_partition=index in string_partitions)} AS {output_column(index)}"
        for index, value in enumerate(values)
    )


def stored_value(value: str, *, is_string_partition: bool) -> str:
    """Write the stored form of a value: the empty string is NULL in a string partition column (R-744)."""
    return f"nullif({value}, '')" if is_string_partition else value
