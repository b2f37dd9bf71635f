"""The change rows of one version of a Delta table, from its change files or derived from its data files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.delta.read import commit_info, live_rows, paths_named_again, read_actions
from mergecheck.harness.delta.tables.stored_rows import file_rows
from mergecheck.harness.delta.tables.vectors import deleted_rows
from mergecheck.model.types.data_types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.delta.read import Action, TableState
    from mergecheck.model.case import Row

_CHANGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


def change_rows(path: Path, *, version: int, state: TableState) -> tuple[Row, ...]:
    """Read the change feed of one version by R-604 and R-605: the table's columns, then ``_change_type``.

    Args:
        path: the table.
        version: the commit to read.
        state: gives the schema in which the rows are presented (R-630) and the partition columns.
    """
    actions = read_actions(path, version)
    if changes := [action["cdc"] for action in actions if "cdc" in action]:
        return tuple(
            row for change in changes for row in _change_rows_of_file(path, change, state=state, change_type=None)
        )
    if changed_nothing(actions):
        return ()
    return tuple(_derived(path, actions, version=version, state=state))


def has_change_files(path: Path, version: int) -> bool:
    """Return whether a commit wrote change files."""
    return any("cdc" in action for action in read_actions(path, version))


def changed_nothing(actions: tuple[Action, ...]) -> bool:
    """Return whether R-605 hides the commit: a MERGE whose three row metrics are all "0"."""
    info = commit_info(actions)
    metrics = info.get("operationMetrics") or {}
    return info.get("operation") == "MERGE" and all(metrics.get(name) == "0" for name in _CHANGE_METRICS)


def _derived(path: Path, actions: tuple[Action, ...], *, version: int, state: TableState) -> Iterator[Row]:
    again = paths_named_again(actions)
    if again and commit_info(actions).get("operation") == "MERGE":
        raise ValueError(f"a new deletion vector of {min(again)} without change files, which no merge leaves (R-620)")
    yield from _differences_of_vectors(path, actions, again, state=state)
    for action in actions:
        if "add" in action and action["add"]["dataChange"] and action["add"]["path"] not in again:
            yield from _change_rows_of_file(path, action["add"], state=state, change_type="insert")
        if "remove" in action and action["remove"]["dataChange"] and action["remove"]["path"] not in again:
            removed = _with_partition_values(path, action["remove"], version)
            yield from _change_rows_of_file(path, removed, state=state, change_type="delete")


def _differences_of_vectors(
    path: Path, actions: tuple[Action, ...], again: frozenset[str], *, state: TableState
) -> Iterator[Row]:
    """Give the rows that new vectors delete, and those that they delete no more, of files in use before and after."""
    adds, removes = (
        {action[kind]["path"]: action[kind] for action in actions if kind in action and action[kind]["dataChange"]}
        for kind in ("add", "remove")
    )
    for name in sorted(again & adds.keys() & removes.keys()):
        add = adds[name]
        stored = file_rows(path, add, schema=state.stored, partition_by=state.stored_partition_by)
        now, before = (deleted_rows(path, file.get("deletionVector")) for file in (add, removes[name]))
        for places, change_type in ((now - before, "delete"), (before - now, "insert")):
            yield from ((*stored[place], change_type) for place in sorted(places))


def _change_rows_of_file(path: Path, file: Action, *, state: TableState, change_type: str | None) -> Iterator[Row]:
    """Read a change file, or a data file all of whose rows are changes of one type."""
    if change_type is not None:
        rows = live_rows(path, file, schema=state.stored, partition_by=state.stored_partition_by)
        return ((*row, change_type) for row in rows)
    typed = Schema((*state.stored.columns, Field("_change_type", STRING)))
    return iter(file_rows(path, file, schema=typed, partition_by=state.stored_partition_by))


def _with_partition_values(path: Path, remove: Action, version: int) -> Action:
    """Complete a ``remove`` that does not repeat the partition values of its file."""
    if remove.get("partitionValues") is not None:
        return remove
    for earlier in range(version - 1, -1, -1):
        for action in read_actions(path, earlier):
            if action.get("add", {}).get("path") == remove["path"]:
                return {**remove, "partitionValues": action["add"]["partitionValues"]}
    raise ValueError(f"commit {version} removes {remove['path']}, which no earlier commit added")
