"""An outcome that was read from a Delta table's files: it knows what the commit wrote and removed, record by record."""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.reference.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutcome(Outcome):
    """A merge that succeeded, with what its commit says of its schema and its data files.

    Attributes:
        num_records_added: rows of the files that the commit added, counted in the files.
        num_records_removed: rows of the files that the commit removed, counted in the files.
        num_files_added: data files that the commit added; None if that is not known, or nothing was committed.
        members_not_null: paths of arrays and maps whose elements or values the new schema calls NOT NULL.
        history_metrics: whether commits hold metrics under the case's settings (R-501).
        commit_faults: what the commit should say, or leave out, under the case's settings: rule and text.
        file_faults: what the added files' statistics say and their rows deny, for a person.
    """

    num_records_added: int
    num_records_removed: int
    num_files_added: int | None = None
    members_not_null: tuple[str, ...] = ()
    history_metrics: bool = True
    commit_faults: tuple[tuple[str, str], ...] = ()
    file_faults: tuple[str, ...] = ()
