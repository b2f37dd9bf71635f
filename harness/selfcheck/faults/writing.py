"""Faults in constraints, in the files that are written and in the commit."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault, in_workers
from mergecheck.harness.selfcheck.worker_faults import write_wrongly
from mergecheck.merge import command
from mergecheck.merge.table.commit import actions, commit
from mergecheck.merge.table.commit.commit import PendingCommit
from mergecheck.merge.table.writing import write as writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.merge.table.storage.log_store import Action

_Actions = tuple[dict[str, Any], ...]


def _task(**changes: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda right: lambda self, **how: replace(right(self, **how), **changes)


def _null_passes(right: Any) -> Callable[..., Any]:
    def checked(output: Any, checks: Any, *, unwritten: Any) -> Any:
        lenient = tuple(replace(check, sql=f"coalesce(({check.sql}), TRUE)") for check in checks)
        return right(output, lenient, unwritten=unwritten)

    return checked


def _asked_of_all_rows(right: Any) -> Callable[..., Any]:
    return lambda output, checks, *, unwritten: right(output, checks, unwritten=list(unwritten)[:0])


def _first_check_only(right: Any) -> Callable[..., Any]:
    return lambda *args, **how: right(*args, **how)[:1]


def _without(kind: str) -> Callable[[Any], Callable[..., Any]]:
    return lambda right: lambda self: tuple(action for action in right(self) if kind not in action)


def _first_add_only(right: Any) -> Callable[..., _Actions]:
    def kept(self: PendingCommit) -> _Actions:
        found = right(self)
        adds = [action for action in found if "add" in action]
        return tuple(action for action in found if action not in adds[1:])

    return kept


def _removes_candidates(right: Any) -> Callable[..., Any]:
    def read_set(run: Any, result: Any) -> Any:
        found = right(run, result)
        return replace(found, removed=found.files) if found.removed else found

    return read_set


def _one_removed_file_kept(right: Any) -> Callable[..., Any]:
    def read_set(run: Any, result: Any) -> Any:
        found = right(run, result)
        return replace(found, removed=found.removed[:1])

    return read_set


def _without_data_change(right: Any) -> Callable[..., Action]:
    def action(file: Any) -> Action:
        found = right(file)
        return {"add": {**found["add"], "dataChange": False}}

    return action


def _without_partition(right: Any) -> Callable[..., Action]:
    def action(file: Any) -> Action:
        found = right(file)
        return {"cdc": {**found["cdc"], "partitionValues": dict.fromkeys(found["cdc"]["partitionValues"])}}

    return action


def _empty_unless_rows_change(_right: Any) -> property:
    return property(lambda self: not (self.changes_data or self.written.change_files))


def _never_empty(_right: Any) -> property:
    return property(lambda _self: False)


def _worker(name: str) -> tuple[Edit, ...]:
    function = functools.partial(write_wrongly, name)
    return (in_workers(writing.TableWriter, "write", "write_partition", function),)


WRITING_FAULTS = (
    Fault(
        name="not-null-unchecked",
        area=Area.WRITING,
        sentence="NULL is written to NOT NULL columns.",
        rules=("R-741",),
        origin="R-741",
        edits=(Edit(writing.TableWriter, "task", _task(not_null=())),),
        needs=needs.constraints,
    ),
    Fault(
        name="checks-ignored",
        area=Area.WRITING,
        sentence="CHECK constraints are not looked at.",
        rules=("R-740", "R-742"),
        origin="R-742",
        edits=(Edit(command, "table_checks", lambda _right: lambda *_args, **_how: ()),),
    ),
    Fault(
        name="first-check-only",
        area=Area.WRITING,
        sentence="Of several CHECK constraints only the first is looked at.",
        rules=("R-740",),
        origin="R-740",
        edits=(Edit(command, "table_checks", _first_check_only),),
    ),
    Fault(
        name="null-passes-check",
        area=Area.WRITING,
        sentence="A CHECK constraint that is NULL passes, as in standard SQL.",
        rules=("R-742",),
        origin="9.1",
        edits=(Edit(writing, "with_violations", _null_passes, comparable=False),),
        needs=needs.checks,
    ),
    Fault(
        name="checks-asked-of-deleted-rows",
        area=Area.WRITING,
        sentence="Rows that are only counted have to satisfy the constraints.",
        rules=("R-740",),
        origin="R-740",
        edits=(Edit(writing, "with_violations", _asked_of_all_rows, comparable=False),),
        needs=needs.constraints,
        equivalent="A row that is deleted stands in the table, so it satisfies the table's constraints.",
    ),
    Fault(
        name="no-null-counts",
        area=Area.WRITING,
        sentence="Statistics of new files count no NULLs.",
        rules=("P-11",),
        origin="wrong statistics",
        edits=_worker("no null counts"),
    ),
    Fault(
        name="maximum-cut-short",
        area=Area.WRITING,
        sentence="Statistics of new files hold the prefix of a long string as its maximum.",
        rules=("P-11",),
        origin="wrong statistics",
        needs=needs.long_texts,
        edits=_worker("maximum cut"),
    ),
    Fault(
        name="minimum-as-maximum",
        area=Area.WRITING,
        sentence="Statistics of new files hold the minimum as the maximum.",
        rules=("P-11",),
        origin="wrong statistics",
        edits=_worker("minimum as maximum"),
    ),
    Fault(
        name="bounds-without-nan",
        area=Area.WRITING,
        sentence="Statistics of new files leave NaN out.",
        rules=("P-11", "R-801"),
        origin="Spark and pyarrow, docs/findings",
        needs=needs.type_in_target("FLOAT|DOUBLE"),
        edits=_worker("bounds without NaN"),
    ),
    Fault(
        name="null-partition-as-text",
        area=Area.WRITING,
        sentence="The partition of NULL becomes the partition of a text.",
        rules=("R-744",),
        origin="T19",
        needs=needs.partitions,
        edits=_worker("NULL partition as text"),
    ),
    Fault(
        name="boolean-partition-as-digit",
        area=Area.WRITING,
        sentence="Partition values of booleans are written as 1 and 0.",
        rules=("R-701",),
        origin="danger 14",
        needs=needs.boolean_partitions,
        edits=_worker("boolean partition as digit"),
    ),
    Fault(
        name="not-null-fields-unchecked",
        area=Area.WRITING,
        sentence="NULL is written to NOT NULL fields of structs.",
        rules=("R-741",),
        origin="R-741",
        needs=needs.type_in_target(": [^,>]*NOT NULL"),
        seldom="One case in a hundred has such a field, and few of them write NULL there.",
        edits=_worker("NOT NULL at the top only"),
    ),
)

COMMIT_FAULTS = (
    Fault(
        name="removes-left-out",
        area=Area.COMMIT,
        sentence="The commit adds the rewritten files and keeps the old ones.",
        rules=("R-701", "R-702"),
        origin="danger 18",
        edits=(Edit(PendingCommit, "actions", _without("remove"), comparable=False),),
    ),
    Fault(
        name="first-add-only",
        area=Area.COMMIT,
        sentence="Of several new files the commit mentions the first.",
        rules=("R-701",),
        origin="R-701",
        edits=(Edit(PendingCommit, "actions", _first_add_only, comparable=False),),
    ),
    Fault(
        name="change-files-left-out",
        area=Area.COMMIT,
        sentence="The commit does not mention the change files.",
        rules=("R-701", "R-620"),
        origin="R-620",
        edits=(Edit(PendingCommit, "actions", _without("cdc"), comparable=False),),
    ),
    Fault(
        name="scanned-files-removed",
        area=Area.COMMIT,
        sentence="The commit removes every file that was scanned, touched or not.",
        rules=("R-410", "P-11"),
        origin="danger 18; #2362",
        edits=(Edit(command, "_read_set", _removes_candidates),),
    ),
    Fault(
        name="one-file-removed",
        area=Area.COMMIT,
        sentence="Of several rewritten files the commit removes the first.",
        rules=("R-701",),
        origin="R-701",
        edits=(Edit(command, "_read_set", _one_removed_file_kept),),
    ),
    Fault(
        name="added-without-data-change",
        area=Area.COMMIT,
        sentence="New files are added as if no data had changed.",
        rules=("R-702",),
        origin="R-702",
        edits=(Edit(commit, "add_action", _without_data_change, comparable=False),),
    ),
    Fault(
        name="change-files-without-partition",
        area=Area.COMMIT,
        sentence="Change files of a partitioned table say NULL for every partition column.",
        rules=("R-702", "R-703"),
        origin="T19",
        needs=needs.partitions,
        edits=(Edit(commit, "change_action", _without_partition),),
    ),
    Fault(
        name="paths-not-encoded",
        area=Area.COMMIT,
        sentence="Paths stand in the log as they are, not percent-encoded.",
        rules=("R-701",),
        origin="danger 14",
        edits=(Edit(actions, "encoded", lambda _right: lambda path: path),),
    ),
    Fault(
        name="no-commit-without-rows",
        area=Area.COMMIT,
        sentence="A merge that only changes the schema is not committed.",
        rules=("R-731", "R-732", "R-239"),
        origin="R-732",
        edits=(Edit(PendingCommit, "is_empty", _empty_unless_rows_change),),
    ),
    Fault(
        name="empty-commit",
        area=Area.COMMIT,
        sentence="A merge that does nothing makes a version.",
        rules=("R-731", "P-24"),
        origin="R-731",
        edits=(Edit(PendingCommit, "is_empty", _never_empty),),
    ),
    Fault(
        name="append-only-ignored",
        area=Area.COMMIT,
        sentence="Rows of an append-only table are updated and deleted.",
        rules=("R-743",),
        origin="R-743",
        needs=needs.append_only,
        edits=(Edit(commit, "_check_append_only", lambda _right: lambda _pending: None),),
    ),
)
