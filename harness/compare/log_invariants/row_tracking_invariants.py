"""Invariants about the ids of rows of a table with row tracking (R-705, R-724, R-726): they need no reference.

A row that was there keeps its id, unless it is deleted. A row that a merge inserts gets an id that no row ever had.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.compare.tracked_rows import TrackedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from mergecheck.harness.compare.tracked_rows import TrackedMerge, TrackedRow, TrackedTable
    from mergecheck.model.case import Row

    Identity = Callable[[Row], Hashable]

DOMAIN = "domain delta.rowTracking"
"""The entry of a table's definition that holds the greatest id."""

_INSERTED, _UPDATED, _DELETED = "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"
_NONE = -1
_WITHOUT_IDS = TrackedFile(path="", base_row_id=None, commit_version=None, num_rows=0)


def file_id_faults(merge: TrackedMerge) -> Iterator[str]:
    """List the faults of the files' ids and of the greatest id after a merge (R-724)."""
    before, after = merge.before, merge.after
    known = {file.path: file for file in before.files}
    marks = [_NONE if table.high_water_mark is None else table.high_water_mark for table in (before, after)]
    if marks[1] < marks[0]:
        yield f"the greatest id is {marks[1]}, but it was {marks[0]}"
    yield from _kept_ids(merge, known)
    new = [file for file in after.files if file.path not in known]
    if after.is_suspended:
        yield from (f"{file.path} has ids, but row tracking is suspended" for file in new if _has_ids(file))
        return
    for file in new:
        if file.base_row_id is None or file.commit_version is None:
            yield f"the new file {file.path} has no ids"
        elif file.base_row_id <= marks[0]:
            yield f"the ids of the new file {file.path} begin with {file.base_row_id}, but {marks[0]} was given before"
        elif file.commit_version != after.version:
            yield f"the new file {file.path} has the version {file.commit_version}, but came with {after.version}"
    yield from _ranges(after, marks[1])
    numbered = [file for file in after.files if _has_ids(file) and not _has_ids(known.get(file.path, _WITHOUT_IDS))]
    yield from _gaps(numbered, marks)


def row_id_faults(
    merge: TrackedMerge,
    metrics: Mapping[str, int],
    *,
    old: Identity | None,
    new: Identity,
    changes: Mapping[str, Counter[Hashable]] | None,
) -> Iterator[str]:
    """List the faults of the rows' ids and versions after a merge into a table whose rows keep theirs (R-705).

    Args:
        merge: the table before and after.
        metrics: the metrics that the merge reports; may be incomplete.
        old: identifies values of a row before the merge, in the schema afterwards; None if that is impossible.
        new: identifies values of a row after the merge.
        changes: the rows of the change feed by their types; None if there is none, or it shows something else.
    """
    if not merge.after.is_enabled:
        return
    tables = merge.before, merge.after
    for table in tables:
        if any(row.row_id is None or row.commit_version is None for row in table.rows):
            yield f"a row of version {table.version} has no id or no commit version"
            return
        repeated = [number for number, count in Counter(row.row_id for row in table.rows).items() if count > 1]
        if repeated:
            yield f"several rows of version {table.version} have the id {min(repeated)}"  # type: ignore[type-var] # not None
            return
    before, after = ({row.row_id: row for row in table.rows} for table in tables)
    inserted = [row for number, row in after.items() if number not in before]
    deleted = [row for number, row in before.items() if number not in after]
    stayed = [(row, after[number]) for number, row in before.items() if number in after]
    version = merge.after.version
    updated = [pair for pair in stayed if pair[1].commit_version == version and version != merge.before.version]
    yield from _inserted(inserted, merge)
    yield from _stayed(stayed, version, old=old, new=new)
    for what, metric, count in (
        ("got a new id", _INSERTED, len(inserted)),
        ("kept their id and got the new commit version", _UPDATED, len(updated)),
        ("lost their id", _DELETED, len(deleted)),
    ):
        if metrics.get(metric, count) != count:
            yield f"{count} rows {what}, but {metric} is {metrics[metric]}"
    if changes is None or old is None:
        return
    for change_type, rows in (
        ("insert", Counter(new(row.values) for row in inserted)),
        ("update_preimage", Counter(old(row.values) for row, _ in updated)),
        ("update_postimage", Counter(new(row.values) for _, row in updated)),
        ("delete", Counter(old(row.values) for row in deleted)),
    ):
        if changes.get(change_type, Counter()) != rows:
            yield f"the rows that ids and commit versions show as {change_type} are not those of the change feed"


def _has_ids(file: TrackedFile) -> bool:
    return file.base_row_id is not None or file.commit_version is not None


def _kept_ids(merge: TrackedMerge, known: Mapping[str, TrackedFile]) -> Iterator[str]:
    """A file that stays, or is removed, has the ids that it had; in a table without ids for all it may get some."""
    stayed = () if merge.after.is_suspended else merge.after.files
    for what, files in (("stays", stayed), ("is removed", merge.removed)):
        for file in files:
            own = known.get(file.path)
            if own is None or not _has_ids(own):
                continue
            found, had = ((f.base_row_id, f.commit_version) for f in (file, own))
            if found != had:
                yield f"{file.path}, which {what}, has base id and version {_text(found)}, but had {_text(had)}"


def _text(ids: tuple[int | None, int | None]) -> str:
    return " and ".join("none" if number is None else str(number) for number in ids)


def _ranges(table: TrackedTable, mark: int) -> Iterator[str]:
    """No id belongs to two files, or is greater than the greatest that the log knows."""
    ends = _NONE
    numbered = ((file.base_row_id, file) for file in table.files if file.base_row_id is not None)
    for base, file in sorted(numbered, key=lambda pair: (pair[0], pair[1].num_rows)):
        if base <= ends:
            yield f"the ids of {file.path} begin with {base}, which is an id of another file"
        ends = max(ends, base + file.num_rows - 1)
    if ends > mark:
        yield f"the greatest id of a file is {ends}, but the log says {mark if mark != _NONE else 'nothing'}"


def _gaps(numbered: Iterable[TrackedFile], marks: list[int]) -> Iterator[str]:
    """Ids that files get follow the greatest id of before without gaps, and the last of them is the greatest."""
    count = sum(file.num_rows for file in numbered)
    if marks[1] != marks[0] + count:
        yield f"{count} rows get ids after {marks[0]}, but the greatest id becomes {marks[1]}"


def _inserted(rows: Iterable[TrackedRow], merge: TrackedMerge) -> Iterator[str]:
    mark = merge.before.high_water_mark
    for row in rows:
        if mark is not None and row.row_id is not None and row.row_id <= mark:
            yield f"a new row has the id {row.row_id}, but ids up to {mark} were given before"
        if row.commit_version != merge.after.version:
            yield f"the new row {row.row_id} has the commit version {row.commit_version}, not {merge.after.version}"


def _stayed(
    pairs: Iterable[tuple[TrackedRow, TrackedRow]], version: int, *, old: Identity | None, new: Identity
) -> Iterator[str]:
    """A copied row keeps its commit version; an updated row has the merge's version."""
    for before, after in pairs:
        if after.commit_version not in (before.commit_version, version):
            yield f"row {after.row_id} has the commit version {after.commit_version}, but had {before.commit_version}"
        elif after.commit_version != version and old is not None and old(before.values) != new(after.values):
            yield f"row {after.row_id} has changed, but has its old commit version {after.commit_version}"
