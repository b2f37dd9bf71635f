"""An outcome that was read from a Delta table's files, with the commit's added and removed files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.tracked_rows import TrackedMerge  # noqa: TC001 - dataclass fields are read at run time
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

HISTORY_METRICS = "spark.databricks.delta.history.metricsEnabled"


def records_metrics(conf: Mapping[str, str]) -> bool:
    """Return whether commits hold operation metrics under some settings (R-501)."""
    return conf.get(HISTORY_METRICS, "true").lower() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAction:
    """One action of a commit.

    Attributes:
        kind: ``add``, ``remove``, ``cdc``, ``commitInfo``, ``metaData``, ``protocol`` or another word of the protocol.
        size: bytes of its file, of a file action only.
        data_change: its ``dataChange`` entry; None if it has none.
        again: whether its file was there and stays, with another vector.
    """

    kind: str
    size: int | None = None
    data_change: bool | None = None
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """The log's record of a merge.

    Attributes:
        read_version: newest version of the table before the merge.
        num_commits: versions that were made since.
        actions: the actions of the newest commit, in order; empty if there was none.
        info: the newest ``commitInfo`` as it is in the log, without its metrics.
        timestamp_before: the in-commit timestamp of the version before the merge; None if it has none.
        definition_before: the table's ``metaData``, ``protocol`` and ``domainMetadata`` before the merge,
            entry by entry, except the names and types of columns.
        definition: the same afterwards.
        added_columns: paths of the columns and nested fields that the merge added.
        tracked: the rows by their ids; None if the table has no row tracking.
    """

    read_version: int
    num_commits: int
    actions: tuple[LoggedAction, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    timestamp_before: int | None = None
    definition_before: Mapping[str, str]
    definition: Mapping[str, str]
    added_columns: frozenset[str] = frozenset()
    tracked: TrackedMerge | None = None

    def count(self, kind: str) -> int:
        """Count the actions of a kind."""
        return sum(action.kind == kind for action in self.actions)

    def num_files(self, kind: str) -> int:
        """Count the files that actions of a kind make or end; a file with another vector is neither."""
        return sum(action.kind == kind and not action.again for action in self.actions)

    def num_bytes(self, kind: str) -> int:
        """Add up the sizes of these files."""
        return sum(action.size or 0 for action in self.actions if action.kind == kind and not action.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutcome(Outcome):
    """A merge that succeeded, with the schema and the data files of its commit.

    Attributes:
        num_records_added: live rows of the files that the commit added, counted in the files. Rows that stay in a file
            with another vector count neither here nor there.
        num_records_removed: live rows of the files that the commit removed, counted in the files.
        num_files_added: data files that the commit added, but for those with another vector; None if that is not
            known, or nothing was committed.
        members_not_null: paths of arrays and maps whose elements or values the new schema calls NOT NULL.
        history_metrics: whether commits hold metrics under the case's settings (R-501).
        commit_faults: entries missing from the commit, or superfluous in it, under the case's settings, and parts of
                the table's log and files that other readers would fail on: rule and text.
        file_faults: statistics of added files that their rows contradict, for a person.
        record: the log's record of the merge; None if it was not read.
        row_id_faults: the faults of rows' ids, of an engine whose rows have some.
    """

    num_records_added: int
    num_records_removed: int
    num_files_added: int | None = None
    members_not_null: tuple[str, ...] = ()
    history_metrics: bool = True
    commit_faults: tuple[tuple[str, str], ...] = ()
    file_faults: tuple[str, ...] = ()
    record: CommitRecord | None = None
    row_id_faults: tuple[str, ...] = ()
