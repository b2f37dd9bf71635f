"""Faults in which clause fires on a row, in what it makes of the row, and in the insert-only route."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge.executors import clauses, insert_only, output
from mergecheck.merge.executors.clauses import COPIED, IGNORED, generate_clause_output_exprs
from mergecheck.merge.executors.output import TARGET_ROW_PRESENT, named_output_columns
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.syntax.statement import ClauseKind
from mergecheck.merge.table.reading.scan import scan_files
from mergecheck.merge.table.writing.rows import ACTION, UPDATES, RowAction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.clauses import PrecomputedClause
    from mergecheck.merge.executors.output import ClauseActions
    from mergecheck.merge.expressions.resolved import ResolvedMerge


def _unconditional(right: Any) -> Callable[..., PrecomputedClause]:
    return lambda clause, **how: replace(right(clause, **how), condition_column=None)


def _conditional_only(_right: Any) -> Callable[..., Any]:
    return lambda in_order: tuple(c for c in in_order if c.condition_column is not None)


def _of_kind(found: Sequence[PrecomputedClause], kind: ClauseKind) -> list[PrecomputedClause]:
    return [c for c in found if c.clause.kind is kind]


def _matched_falls_to(kind: ClauseKind) -> Callable[[Any], Callable[..., str]]:
    """Hand matched rows on which nothing fires to the clauses of another kind."""

    def fired(found: Sequence[PrecomputedClause]) -> str:
        by_source = generate_clause_output_exprs(_of_kind(found, ClauseKind.NOT_MATCHED_BY_SOURCE), otherwise=COPIED)
        inserted = generate_clause_output_exprs(_of_kind(found, ClauseKind.NOT_MATCHED), otherwise=IGNORED)
        otherwise = generate_clause_output_exprs(_of_kind(found, kind), otherwise=COPIED)
        matched = generate_clause_output_exprs(_of_kind(found, ClauseKind.MATCHED), otherwise=f"({otherwise})")
        return (
            f"CASE WHEN {SOURCE_ROW_PRESENT} IS NULL THEN {by_source} "
            f"WHEN {TARGET_ROW_PRESENT} IS NULL THEN {inserted} ELSE {matched} END"
        )

    return lambda _right: fired


def _values_of_the_first(right: Any) -> Callable[..., tuple[ClauseActions, ...]]:
    def actions(merge: ResolvedMerge, found: Any, *, change_data: bool) -> tuple[ClauseActions, ...]:
        answer: tuple[ClauseActions, ...] = right(merge, found, change_data=change_data)
        first: dict[RowAction, tuple[str, ...]] = {}
        for clause in answer:
            first.setdefault(clause.action, clause.values)
        return tuple(replace(clause, values=first[clause.action]) for clause in answer)

    return actions


def _copied_as_null(_right: Any) -> Callable[..., str]:
    def value(merge: ResolvedMerge, actions: Sequence[ClauseActions], index: int, *, change_data: bool) -> str:
        del change_data
        old = merge.old_values[index]
        branches = " ".join(
            f"WHEN {c.position} THEN {c.values[index]}" for c in actions if c.action is not RowAction.COPY
        )
        return f"CASE {clauses.CLAUSE} {branches} END" if branches else old

    return value


def _counted_as(action: RowAction, other: RowAction) -> Callable[[Any], Callable[..., RowAction]]:
    return lambda right: lambda clause: other if right(clause) is action else right(clause)


def _self_assignments_dropped(right: Any) -> Callable[..., tuple[ClauseActions, ...]]:
    def actions(merge: ResolvedMerge, found: Any, *, change_data: bool) -> tuple[ClauseActions, ...]:
        answer: tuple[ClauseActions, ...] = right(merge, found, change_data=change_data)
        return tuple(
            replace(clause, action=RowAction.COPY)
            if clause.action in UPDATES and clause.values == merge.old_values
            else clause
            for clause in answer
        )

    return actions


def _null_inserts(right: Any) -> Callable[..., DataFrame]:
    def rows(run: Any, files: Any) -> DataFrame:
        condition = run.merge.not_matched[0].condition if len(run.merge.not_matched) == 1 else None
        if condition is None:
            answer: DataFrame = right(run, files)
            return answer
        source = run.source.frame.where(f"coalesce(({condition.sql}), TRUE)")
        return insert_only.without_matches(run, source, files) if files else source

    return rows


def _distinct(right: Any) -> Callable[..., DataFrame]:
    return lambda run, files: right(run, files).distinct()


def _with_matches(_right: Any) -> Callable[..., DataFrame]:
    return lambda _run, source, _files: source


def _only_matches(_right: Any) -> Callable[..., DataFrame]:
    def kept(run: Any, source: DataFrame, files: Any) -> DataFrame:
        target = scan_files(run.spark, run.snapshot, files, with_row_identity=False)
        return source.join(target, F.expr(run.merge.condition.sql), "left_semi")

    return kept


def _every_clause_inserts(right: Any) -> Callable[..., DataFrame]:
    def rows(source: DataFrame, merge: ResolvedMerge, *, string_partitions: frozenset[int]) -> DataFrame:
        if len(merge.not_matched) == 1:
            answer: DataFrame = right(source, merge, string_partitions=string_partitions)
            return answer
        columns = named_output_columns(merge.not_matched[0].values, string_partitions)
        return source.selectExpr(f"{int(RowAction.INSERT)} AS {ACTION}", *columns)

    return rows


def _conditional_update_deletes(right: Any) -> Callable[..., tuple[ClauseActions, ...]]:
    def actions(merge: ResolvedMerge, found: Any, *, change_data: bool) -> tuple[ClauseActions, ...]:
        answer: tuple[ClauseActions, ...] = right(merge, found, change_data=change_data)
        by_position = {c.position: c.clause for c in found}
        return tuple(
            replace(clause, action=RowAction.MATCHED_DELETE)
            if clause.action is RowAction.MATCHED_UPDATE and by_position[clause.position].condition is not None
            else clause
            for clause in answer
        )

    return actions


CLAUSE_FAULTS = (
    Fault(
        name="null-condition-taken-as-true",
        area=Area.CLAUSES,
        sentence="A clause fires where its condition is NULL.",
        rules=("R-301",),
        origin="danger 1, T27",
        edits=(Edit(clauses, "holds", lambda _right: lambda column: f"coalesce({column}, TRUE)"),),
    ),
    Fault(
        name="condition-negated-for-null",
        area=Area.CLAUSES,
        sentence="A clause is passed over where the complement of its condition holds, so that NULL fires.",
        rules=("R-301",),
        origin="danger 1",
        edits=(Edit(clauses, "holds", lambda _right: lambda column: f"NOT coalesce(NOT {column}, FALSE)"),),
    ),
    Fault(
        name="last-clause-wins",
        area=Area.CLAUSES,
        sentence="Of several clauses that hold, the last one fires.",
        rules=("R-301",),
        origin="T27",
        edits=(Edit(clauses, "in_firing_order", lambda _right: lambda found: tuple(reversed(found))),),
    ),
    Fault(
        name="conditions-forgotten",
        area=Area.CLAUSES,
        sentence="Clauses fire whatever their conditions say.",
        rules=("R-301",),
        origin="R-301",
        edits=(Edit(clauses, "rewrite_condition", _unconditional),),
    ),
    Fault(
        name="later-clauses-ignored",
        area=Area.CLAUSES,
        sentence="Only the first clause of a kind can fire.",
        rules=("R-301",),
        origin="R-301",
        edits=(Edit(clauses, "in_firing_order", lambda _right: lambda found: tuple(found)[:1]),),
    ),
    Fault(
        name="unconditional-clause-ignored",
        area=Area.CLAUSES,
        sentence="A clause without condition behind others never fires.",
        rules=("R-301",),
        origin="R-301",
        edits=(Edit(clauses, "in_firing_order", _conditional_only),),
    ),
    Fault(
        name="matched-row-falls-to-by-source",
        area=Area.CLAUSES,
        sentence="A matched row on which nothing fires is handed to the NOT MATCHED BY SOURCE clauses.",
        rules=("R-302",),
        origin="danger 3",
        needs=needs.by_source,
        edits=(Edit(output, "fired_clause", _matched_falls_to(ClauseKind.NOT_MATCHED_BY_SOURCE)),),
    ),
    Fault(
        name="matched-row-falls-to-insert",
        area=Area.CLAUSES,
        sentence="A matched row on which nothing fires is handed to the NOT MATCHED clauses.",
        rules=("R-302",),
        origin="danger 3",
        edits=(Edit(output, "fired_clause", _matched_falls_to(ClauseKind.NOT_MATCHED)),),
    ),
    Fault(
        name="values-of-the-first-clause",
        area=Area.CLAUSES,
        sentence="Clauses of one action all assign the values of the first of them.",
        rules=("R-301",),
        origin="R-301",
        edits=(Edit(output, "generate_all_action_exprs", _values_of_the_first),),
    ),
    Fault(
        name="copied-row-becomes-null",
        area=Area.CLAUSES,
        sentence="Rows that are rewritten unchanged lose their values.",
        rules=("R-311",),
        origin="a CASE without ELSE",
        edits=(Edit(output, "output_value", _copied_as_null),),
    ),
    Fault(
        name="conditional-update-deletes",
        area=Area.CLAUSES,
        sentence="A matched UPDATE with a condition deletes the row.",
        rules=("R-301",),
        origin="R-301",
        edits=(Edit(output, "generate_all_action_exprs", _conditional_update_deletes),),
    ),
    Fault(
        name="self-assignment-dropped",
        area=Area.CLAUSES,
        sentence="An UPDATE that assigns every column to itself counts as no update.",
        rules=("R-310", "R-612"),
        origin="danger 10, T27",
        edits=(Edit(output, "generate_all_action_exprs", _self_assignments_dropped),),
    ),
    Fault(
        name="by-source-update-counted-as-matched",
        area=Area.METRICS,
        sentence="An update by a NOT MATCHED BY SOURCE clause counts as a matched one.",
        rules=("R-510",),
        origin="R-510",
        needs=needs.by_source,
        edits=(
            Edit(
                output,
                "row_action",
                _counted_as(RowAction.NOT_MATCHED_BY_SOURCE_UPDATE, RowAction.MATCHED_UPDATE),
            ),
        ),
    ),
    Fault(
        name="by-source-delete-counted-as-matched",
        area=Area.METRICS,
        sentence="A delete by a NOT MATCHED BY SOURCE clause counts as a matched one.",
        rules=("R-510",),
        origin="R-510",
        needs=needs.by_source,
        edits=(
            Edit(
                output,
                "row_action",
                _counted_as(RowAction.NOT_MATCHED_BY_SOURCE_DELETE, RowAction.MATCHED_DELETE),
            ),
        ),
    ),
    Fault(
        name="insert-route-without-anti-join",
        area=Area.INSERT_ONLY,
        sentence="An insert-only merge also inserts the source rows that match.",
        rules=("R-404",),
        origin="T27",
        needs=needs.only_inserts,
        edits=(Edit(insert_only, "without_matches", _with_matches, comparable=False),),
    ),
    Fault(
        name="insert-route-keeps-matches",
        area=Area.INSERT_ONLY,
        sentence="An insert-only merge inserts the source rows that match, and only these.",
        rules=("R-404",),
        origin="a semi join for an anti join",
        needs=needs.only_inserts,
        edits=(Edit(insert_only, "without_matches", _only_matches, comparable=False),),
    ),
    Fault(
        name="insert-route-null-condition-holds",
        area=Area.INSERT_ONLY,
        sentence="The insert-only route inserts a row whose condition is NULL.",
        rules=("R-301", "R-424"),
        origin="danger 1",
        edits=(Edit(insert_only, "prepare_rows_to_insert", _null_inserts, comparable=False),),
    ),
    Fault(
        name="equal-source-rows-inserted-once",
        area=Area.INSERT_ONLY,
        sentence="The insert-only route inserts equal source rows once.",
        rules=("R-305", "R-002"),
        origin="danger 8",
        edits=(Edit(insert_only, "prepare_rows_to_insert", _distinct, comparable=False),),
    ),
    Fault(
        name="insert-route-first-clause-only",
        area=Area.INSERT_ONLY,
        sentence="Of several insert clauses the insert-only route applies the first to every row.",
        rules=("R-424",),
        origin="R-A22",
        edits=(Edit(insert_only, "generate_inserts_only_output_df", _every_clause_inserts, comparable=False),),
    ),
)
