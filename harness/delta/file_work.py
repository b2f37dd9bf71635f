"""The effect of a merge on the files that the harness wrote before it, by the table's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.delta.read import commit_info, paths_named_again, read_actions
from mergecheck.model.outcome import FileWork

if TYPE_CHECKING:
    from pathlib import Path

_WRITTEN_BY_HARNESS = "CREATE TABLE"


def file_work(path: Path, *, since: int, version: int) -> FileWork | None:
    """Find which files a merge removed, and which it gave another deletion vector.

    Args:
        path: the table.
        since: its version before the merge.
        version: the merge's; the same if it made none.

    Returns:
        None for a table that another writer made: the case then does not number its files.
    """
    earlier = read_actions(path, since)
    if commit_info(earlier).get("operation") != _WRITTEN_BY_HARNESS:
        return None
    files = [action["add"] for action in earlier if "add" in action]
    numbers = {file["path"]: place for place, file in enumerate(files)}
    sizes = tuple(file["size"] for file in files)
    if version == since:
        return FileWork(sizes=sizes)
    actions = read_actions(path, version)
    removed = {action["remove"]["path"] for action in actions if "remove" in action}
    again = paths_named_again(actions)
    return FileWork(
        rewritten=frozenset(numbers[name] for name in removed - again if name in numbers),
        marked=frozenset(numbers[name] for name in again if name in numbers),
        sizes=sizes,
    )
