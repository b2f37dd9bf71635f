"""Ids that a commit gives to the files that it adds (R-724), also after other commits have given some (R-726)."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.merge.table.row_ids.tracking import DOMAIN, HIGH_WATER_MARK, NO_ID, FileIds, high_water_mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.merge.table.storage.log_store import Action

_BASE, _VERSION = ID_ENTRIES = ("baseRowId", "defaultRowCommitVersion")
"""The entries of ``add`` and ``remove`` that hold the ids of a file's rows."""


def ids_in(action: Mapping[str, Any]) -> FileIds | None:
    """Read the ids of a file from its ``add`` or ``remove``; None if it has none."""
    base, version = action.get(_BASE), action.get(_VERSION)
    if base is None or version is None:
        return None
    return FileIds(base_row_id=int(base), commit_version=int(version))


def ids_entry(ids: FileIds | None) -> dict[str, int]:
    """Write the ids of a file as its actions have them."""
    if ids is None:
        return {}
    return {_BASE: ids.base_row_id, _VERSION: ids.commit_version}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIds:
    """The ids that the log has given, by all commits that are known.

    Attributes:
        high_water_mark: the greatest of them.
        recommitted: those that files got by a later commit, by paths: such a commit names files again to give them ids.
    """

    high_water_mark: int = NO_ID
    recommitted: Mapping[str, FileIds] = field(default_factory=dict)

    def after(self, actions: Iterable[Action]) -> KnownIds:
        """Return the state after another commit, which does not conflict."""
        mark, found = self.high_water_mark, dict(self.recommitted)
        for action in actions:
            said = action.get("domainMetadata")
            if said is not None and said.get("domain") == DOMAIN and not said.get("removed"):
                mark = max(mark, high_water_mark_of(said["configuration"]))
            add = action.get("add")
            if add is not None and not add.get("dataChange") and (ids := ids_in(add)) is not None:
                found[add["path"]] = ids
        return KnownIds(high_water_mark=mark, recommitted=found)


@dataclass(slots=True, kw_only=True)
class FreshIds:
    """Gives ids to the files of one attempt to commit a version, one file after another."""

    commit_version: int
    high_water_mark: int

    def give(self, num_records: int) -> FileIds:
        """Give a file as many ids as it has rows, deleted ones included."""
        ids = FileIds(base_row_id=self.high_water_mark + 1, commit_version=self.commit_version)
        self.high_water_mark += num_records
        return ids

    def domain_action(self) -> Action:
        """Write the ``domainMetadata`` action with the greatest id that was given."""
        said = {HIGH_WATER_MARK: self.high_water_mark, "domainName": DOMAIN}
        configuration = json.dumps(said, separators=(",", ":"))
        return {"domainMetadata": {"domain": DOMAIN, "configuration": configuration, "removed": False}}
