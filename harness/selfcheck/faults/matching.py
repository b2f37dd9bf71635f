"""Faults in what matches what, in the joins, and in the check for ambiguous matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge import command, plan
from mergecheck.merge.errors import multiple_source_rows_matched
from mergecheck.merge.executors import classic, first_scan, run
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.resolution import preprocess
from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.table.reading.scan import FILE_NAME, scan_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge


def _null_safe_on(right: Any) -> Callable[..., Any]:
    def resolved(self: Any, condition: Any, known: Any, *, is_search: bool) -> Any:
        answer = right(self, condition, known, is_search=is_search)
        return replace(answer, sql=answer.sql.replace(" = ", " <=> ")) if is_search else answer

    return resolved


def _finds_by_conditions(right: Any) -> Callable[..., TouchedFiles]:
    def found(run: MergeRun, scan: Any) -> TouchedFiles:
        conditions = [clause.condition for clause in run.merge.matched]
        fires = " OR ".join("TRUE" if condition is None else f"({condition.sql})" for condition in conditions)
        pair = f"CASE WHEN {fires or 'FALSE'} THEN {SOURCE_ROW_PRESENT} END"
        columns = run.merge.condition.target_columns.union(
            *(condition.target_columns for condition in conditions if condition is not None)
        )
        with mock.patch.multiple(first_scan, counted_pair=lambda: pair, first_scan_columns=lambda _merge: columns):
            answer: TouchedFiles = right(run, scan)
            return answer

    return found


def _matches_per_file_not_row(_right: Any) -> Callable[..., Any]:
    def query(merge_run: MergeRun, scan: Any) -> Any:
        merge = merge_run.merge
        columns = first_scan.first_scan_columns(merge)
        target = scan_files(merge_run.spark, merge_run.snapshot, scan.files, positions=columns)
        joined = merge_run.source.frame.join(target, F.expr(merge.condition.sql), scan.join_type)
        per_file = joined.groupBy(FILE_NAME).agg(
            F.expr(f"count({SOURCE_ROW_PRESENT}) AS matches"),
            F.expr(f"coalesce(bool_or({first_scan.matched_predicate(merge)}), FALSE) AS touched"),
        )
        return per_file.selectExpr(
            FILE_NAME,
            "CAST(matches > 1 AS BIGINT) AS num_rows",
            "CAST(greatest(matches - 1, 0) AS BIGINT) AS overcount",
            "touched",
        )

    return query


def _any_matched_delete(_right: Any) -> Callable[[ResolvedMerge], bool]:
    return lambda merge: any(clause.action is ActionType.DELETE for clause in merge.matched)


def _sole_delete(_right: Any) -> Callable[[ResolvedMerge], bool]:
    return lambda merge: len(merge.matched) == 1 and merge.matched[0].action is ActionType.DELETE


def _never_exempt(_right: Any) -> Callable[..., None]:
    def check(_merge: ResolvedMerge, touched: TouchedFiles) -> None:
        if touched.num_multiple_matches > 0:
            raise multiple_source_rows_matched()

    return check


def _without_matched_clause(right: Any) -> Callable[..., None]:
    def check(merge: ResolvedMerge, touched: TouchedFiles) -> None:
        if merge.matched:
            right(merge, touched)

    return check


def _touched(change: Callable[[TouchedFiles], TouchedFiles]) -> Callable[[Any], Callable[..., TouchedFiles]]:
    return lambda right: lambda *args, **kwargs: change(right(*args, **kwargs))


def _one_pair_too_many_unnoticed(touched: TouchedFiles) -> TouchedFiles:
    return replace(touched, num_multiple_matches=0) if touched.overcount == 1 else touched


def _by_source_only_with_source_rows(touched: TouchedFiles) -> TouchedFiles:
    return touched if touched.num_source_rows else replace(touched, files=())


def _first_clause_touches(_right: Any) -> Callable[[ResolvedMerge], str]:
    def predicate(merge: ResolvedMerge) -> str:
        if not run.is_matched_only(merge):
            return "TRUE"
        condition = merge.matched[0].condition
        return "TRUE" if condition is None else f"({condition.sql})"

    return predicate


def _join_type(wrong: str, *, instead_of: str) -> Callable[[Any], Callable[[MergeRun], str]]:
    return lambda right: lambda merge_run: wrong if right(merge_run) == instead_of else right(merge_run)


def _insert_only_with_others(right: Any) -> Callable[..., bool]:
    def uses(merge: ResolvedMerge, conf: Any) -> bool:
        return right(merge, conf) or (bool(merge.not_matched) and not merge.matched)

    return uses


def _insert_only_always(_right: Any) -> Callable[..., bool]:
    return lambda merge, _conf: run.is_insert_only(merge)


MATCHING_FAULTS = (
    Fault(
        name="null-safe-on",
        area=Area.MATCHING,
        sentence="ON compares NULLs as equal.",
        rules=("R-003",),
        origin="T27",
        edits=(Edit(preprocess.PreprocessTableMerge, "_resolved", _null_safe_on),),
    ),
    Fault(
        name="multi-match-check-dropped",
        area=Area.MATCHING,
        sentence="Several source rows may change one target row.",
        rules=("R-320",),
        origin="T27",
        edits=(Edit(classic, "check_multiple_matches", lambda _right: lambda _merge, _touched: None),),
        needs=needs.several_matches,
    ),
    Fault(
        name="multi-match-check-after-conditions",
        area=Area.MATCHING,
        sentence="Only pairs on which a clause may fire count as matches of a row.",
        rules=("R-321",),
        origin="danger 6, T27",
        edits=(Edit(plan, "find_touched_files", _finds_by_conditions, comparable=False),),
        needs=needs.several_matches,
    ),
    Fault(
        name="multi-match-check-needs-matched-clause",
        area=Area.MATCHING,
        sentence="Without a MATCHED clause ambiguous matches go unnoticed.",
        rules=("R-320", "R-321"),
        origin="danger 6",
        edits=(Edit(classic, "check_multiple_matches", _without_matched_clause),),
        needs=needs.several_matches,
    ),
    Fault(
        name="one-pair-too-many-unnoticed",
        area=Area.MATCHING,
        sentence="A single surplus match in the whole table goes unnoticed.",
        rules=("R-320",),
        origin="a threshold that is off by one",
        edits=(Edit(classic, "touched_files", _touched(_one_pair_too_many_unnoticed)),),
        needs=needs.several_matches,
    ),
    Fault(
        name="multi-match-by-file",
        area=Area.MATCHING,
        sentence="Matches are counted per file instead of per row, so that two matched rows of one file are ambiguous.",
        rules=("R-320", "R-002"),
        origin="danger 12",
        edits=(Edit(first_scan, "_matches_per_file", _matches_per_file_not_row, comparable=False),),
    ),
    Fault(
        name="exempt-delete-dropped",
        area=Area.MATCHING,
        sentence="A sole unconditional DELETE fails on ambiguous matches.",
        rules=("R-320",),
        origin="T27",
        edits=(Edit(classic, "check_multiple_matches", _never_exempt),),
        needs=needs.several_matches,
    ),
    Fault(
        name="any-delete-exempts",
        area=Area.MATCHING,
        sentence="Any DELETE among the matched clauses allows ambiguous matches.",
        rules=("R-320", "R-006"),
        origin="T27",
        edits=(Edit(classic, "is_sole_unconditional_delete", _any_matched_delete),),
        needs=needs.several_matches,
    ),
    Fault(
        name="conditional-delete-exempts",
        area=Area.MATCHING,
        sentence="A sole DELETE allows ambiguous matches, also where it has a condition.",
        rules=("R-320", "R-006"),
        origin="T27",
        seldom="Ambiguous matches under one DELETE with a condition, and no clause but that: one case in 300.",
        edits=(Edit(classic, "is_sole_unconditional_delete", _sole_delete),),
        needs=needs.several_matches,
    ),
    Fault(
        name="every-match-touches",
        area=Area.MATCHING,
        sentence="In a matched-only merge a pair on which no clause may fire makes its file rewritten.",
        rules=("R-410",),
        origin="R-410",
        needs=needs.only_matched,
        edits=(Edit(first_scan, "matched_predicate", lambda _right: lambda _merge: "TRUE"),),
    ),
    Fault(
        name="first-clause-touches",
        area=Area.MATCHING,
        sentence="Only the first matched clause decides which files are rewritten.",
        rules=("R-410",),
        origin="R-410",
        needs=needs.only_matched,
        edits=(Edit(first_scan, "matched_predicate", _first_clause_touches),),
    ),
    Fault(
        name="by-source-in-matched-files-only",
        area=Area.MATCHING,
        sentence="NOT MATCHED BY SOURCE clauses only see files that hold a match.",
        rules=("R-004", "R-404"),
        origin="danger 4; delta-rs #4535, #4596, #3278, #4301",
        needs=needs.by_source,
        edits=(Edit(first_scan, "find_touched_join_type", lambda _right: lambda _merge: "inner"),),
    ),
    Fault(
        name="by-source-skipped-for-empty-source",
        area=Area.MATCHING,
        sentence="An empty source leaves the target as it is, whatever the clauses say.",
        rules=("R-004",),
        origin="T27",
        needs=needs.by_source,
        edits=(Edit(classic, "touched_files", _touched(_by_source_only_with_source_rows)),),
    ),
    Fault(
        name="inner-for-right-outer-join",
        area=Area.MATCHING,
        sentence="Rewriting for a matched-only merge loses the unmatched rows of its files.",
        rules=("R-404",),
        origin="apache/iceberg #3992",
        edits=(Edit(classic, "rewriting_join_type", _join_type("inner", instead_of="right_outer")),),
    ),
    Fault(
        name="left-outer-for-full-outer-join",
        area=Area.MATCHING,
        sentence="Rewriting loses the target rows that match nothing.",
        rules=("R-404",),
        origin="R-404",
        edits=(Edit(classic, "rewriting_join_type", _join_type("left_outer", instead_of="full_outer")),),
    ),
    Fault(
        name="right-outer-for-full-outer-join",
        area=Area.MATCHING,
        sentence="Rewriting loses the source rows that match nothing.",
        rules=("R-404",),
        origin="R-404",
        edits=(Edit(classic, "rewriting_join_type", _join_type("right_outer", instead_of="full_outer")),),
    ),
    Fault(
        name="insert-only-route-with-by-source",
        area=Area.MATCHING,
        sentence="A merge of inserts and NOT MATCHED BY SOURCE clauses takes the insert-only route.",
        rules=("R-402", "R-006"),
        origin="R-402",
        edits=tuple(Edit(caller, "uses_insert_only_path", _insert_only_with_others) for caller in (command, plan)),
    ),
    Fault(
        name="insert-only-route-although-off",
        area=Area.MATCHING,
        sentence="The insert-only route is taken although its setting is off, and ambiguous matches pass.",
        rules=("R-402", "R-320"),
        origin="danger 7",
        needs=needs.only_inserts,
        edits=tuple(Edit(caller, "uses_insert_only_path", _insert_only_always) for caller in (command, plan)),
    ),
)
