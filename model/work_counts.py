"""How much work merges did, and how much of it no row needed: numbers that can be added."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCounts:
    """The work of some merges. No clock is involved, so the same cases give the same numbers.

    Attributes:
        merges: merges whose rewritten files are known.
        rows_changed: rows that they update or delete.
        rows_copied: rows of rewritten files that stay as they are. ``rows_copied_in_vain``: those in files of which no
            row changes.
        files_rewritten: files that are removed, or get another deletion vector. ``files_rewritten_in_vain``: those of
            which no row changes.
        merges_with_scans: merges that report how many files they read: ``files_scanned``, of which
            ``files_scanned_in_vain`` may be left unread.
        merges_with_bytes: merges that report the bytes of these files: ``bytes_scanned``.
    """

    merges: int = 0
    rows_changed: int = 0
    rows_copied: int = 0
    rows_copied_in_vain: int = 0
    files_rewritten: int = 0
    files_rewritten_in_vain: int = 0
    merges_with_scans: int = 0
    files_scanned: int = 0
    files_scanned_in_vain: int = 0
    merges_with_bytes: int = 0
    bytes_scanned: int = 0
    bytes_scanned_in_vain: int = 0

    def plus(self, other: WorkCounts) -> WorkCounts:
        """Add the work of other merges."""
        return WorkCounts(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    @property
    def copied_per_changed(self) -> float | None:
        """Rows copied for each row that changes; None if no row does."""
        return self.rows_copied / self.rows_changed if self.rows_changed else None

    def line(self) -> str:
        """Sum up the work in vain in one line."""
        copied = self.copied_per_changed
        per_changed = "" if copied is None else f" ({copied:.2f} copied per row changed)"
        parts = [
            f"{self.files_rewritten_in_vain:,} of {self.files_rewritten:,} files rewritten in vain",
            f"{self.rows_copied_in_vain:,} of {self.rows_copied:,} rows copied in vain{per_changed}",
        ]
        if self.merges_with_scans:
            in_bytes = f" ({self.bytes_scanned_in_vain:,} of {self.bytes_scanned:,} bytes)"
            read = f"{self.files_scanned_in_vain:,} of {self.files_scanned:,} files read in vain"
            parts.append(read + (in_bytes if self.merges_with_bytes else ""))
        return ", ".join(parts)
