"""The result of a merge in a table that the scale mode wrote at version 0, as files and queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.delta.change_feed import changed_nothing
from mergecheck.harness.delta.read import live_files, newest_version, operation_metrics, read_actions, table_metadata
from mergecheck.harness.lab.scale.relations import Files
from mergecheck.model.case_file import change_schema
from mergecheck.model.schema_json import schema_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.delta.read import Action
    from mergecheck.model.outcome import MergePath
    from mergecheck.model.types.data_types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A table before and after one merge.

    Attributes:
        before: the files of version 0. after: the files of the newest version.
        added: data files of the merge's commit. removed: files that it takes away. change_files: of the feed.
        derived: whether the change rows are all rows of added and removed files, because there are no change files.
        hidden: whether the commit's rows are in no feed, since nothing changed (R-605).
        metrics: of the history, or of the command itself where nothing was committed (R-502).
        path: the execution path; None if the engine does not report it.
    """

    before: Files
    after: Files
    added: Files
    removed: Files
    change_files: Files
    derived: bool
    hidden: bool
    metrics: Mapping[str, int]
    committed: bool
    path: MergePath | None

    @property
    def schema(self) -> Schema:
        """The columns after the merge."""
        return self.after.schema

    @property
    def before_rows(self) -> str:
        """The rows before the merge, as c0, c1, ..."""
        return self.before.rows(self._names)

    @property
    def after_rows(self) -> str:
        """The rows after the merge, as c0, c1, ..."""
        return self.after.rows(self._names)

    @property
    def changes(self) -> str:
        """The change rows of the merge, as c0, c1, ... and ``change`` (R-604, R-605)."""
        if self.hidden:
            return f"SELECT *, '' AS change FROM ({self.before_rows}) WHERE FALSE"
        if not self.derived:
            return self.change_files.rows([*self._names, "change"])
        inserts, deletes = self.added.rows(self._names), self.removed.rows(self._names)
        return f"SELECT *, 'insert' AS change FROM ({inserts}) UNION ALL SELECT *, 'delete' FROM ({deletes})"

    @property
    def _names(self) -> list[str]:
        return [f"c{i}" for i in range(len(self.schema.columns))]


def observe_table(path: Path, *, metrics: Mapping[str, int], taken: MergePath | None) -> Observed:
    """Read the log of a table after at most one merge; the rows stay where they are.

    Raises:
        ValueError, LookupError, OSError: if the log is not as a log must be.
    """
    version = newest_version(path)
    committed = version > 0
    actions = read_actions(path, version) if committed else ()
    metadata = table_metadata(path, version)
    schema = schema_from_json(metadata["schemaString"])
    partition_by = tuple(metadata["partitionColumns"])
    earlier = live_files(path, 0)
    values = {action["path"]: action["partitionValues"] for action in earlier}

    def files(chosen: list[Action], columns: Schema = schema) -> Files:
        return Files(table=path, actions=tuple(chosen), schema=columns, partition_by=partition_by)

    removed = [
        {"partitionValues": values.get(one["path"], {}), **one, "size": one.get("size", 0)}
        for one in (action["remove"] for action in actions if "remove" in action)
    ]
    changes = [action["cdc"] for action in actions if "cdc" in action]
    return Observed(
        before=files(earlier),
        after=files(live_files(path, version)),
        added=files([action["add"] for action in actions if "add" in action]),
        removed=files(removed),
        change_files=files(changes, change_schema(schema)),
        derived=not changes,
        hidden=not committed or (not changes and changed_nothing(actions)),
        metrics=operation_metrics(actions) or dict(metrics),
        committed=committed,
        path=taken,
    )
