"""Laws about ids of rows: a right merge breaks none, and each corruption of it is found (R-705, R-724)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mergecheck.harness.compare.log_invariants.row_tracking_invariants import file_id_faults, row_id_faults
from mergecheck.harness.compare.tracked_rows import TrackedFile, TrackedMerge, TrackedRow, TrackedTable

OLD = TrackedFile(path="old", base_row_id=0, commit_version=1, num_rows=3)
STAYS = TrackedFile(path="stays", base_row_id=3, commit_version=2, num_rows=2)
NEW = TrackedFile(path="new", base_row_id=6, commit_version=4, num_rows=3)
BEFORE = TrackedTable(
    version=3,
    is_enabled=True,
    is_suspended=False,
    high_water_mark=5,
    files=(OLD, STAYS),
    rows=(
        *(TrackedRow(0, 1, (1, "a")), TrackedRow(1, 1, (2, "b")), TrackedRow(2, 0, (3, "c"))),
        *(TrackedRow(3, 2, (4, "d")), TrackedRow(4, 2, (5, "e"))),
    ),
)
# row 0 was deleted, 1 updated, 2 copied, 3 and 4 left where they are, 8 inserted
ROWS = (TrackedRow(1, 4, (2, "B")), TrackedRow(2, 0, (3, "c")), TrackedRow(8, 4, (9, "n")), *BEFORE.rows[3:])
AFTER = replace(BEFORE, version=4, high_water_mark=8, files=(STAYS, NEW), rows=ROWS)
MERGE = TrackedMerge(before=BEFORE, after=AFTER, removed=(replace(OLD, num_rows=0),))
METRICS = {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 1, "numTargetRowsDeleted": 1}
CHANGES = {
    "delete": Counter([(1, "a")]),
    "update_preimage": Counter([(2, "b")]),
    "update_postimage": Counter([(2, "B")]),
    "insert": Counter([(9, "n")]),
}


def faults(merge: TrackedMerge) -> list[str]:
    identity = tuple
    of_rows = row_id_faults(merge, METRICS, old=identity, new=identity, changes=CHANGES)  # type: ignore[arg-type] # hashable
    return [*file_id_faults(merge), *of_rows]


def after(*files: TrackedFile, **changes: object) -> TrackedMerge:
    return replace(MERGE, after=replace(AFTER, **{**({"files": files} if files else {}), **changes}))  # type: ignore[arg-type] # fields


def rows(number: int, row: TrackedRow) -> TrackedMerge:
    return after(rows=(*ROWS[:number], row, *ROWS[number + 1 :]))


def test_a_right_merge() -> None:
    assert faults(MERGE) == []
    assert list(file_id_faults(replace(MERGE, after=BEFORE, removed=()))) == []


@pytest.mark.parametrize(
    ("merge", "said"),
    [
        (after(high_water_mark=4), "is 4, but it was 5"),
        (after(high_water_mark=7), "the greatest id of a file is 8, but the log says 7"),
        (after(high_water_mark=None), "but it was 5"),
        (after(STAYS, replace(NEW, base_row_id=None)), "the new file new has no ids"),
        (after(STAYS, replace(NEW, commit_version=None)), "the new file new has no ids"),
        (after(STAYS, replace(NEW, base_row_id=5)), "begin with 5, but 5 was given before"),
        (after(STAYS, replace(NEW, commit_version=3)), "has the version 3, but came with 4"),
        (after(STAYS, NEW, replace(NEW, path="other", base_row_id=8)), "begin with 8, which is an id of another file"),
        (after(replace(STAYS, base_row_id=20), NEW, high_water_mark=30), "stays, has base id and version 20 and 2"),
        (after(replace(STAYS, commit_version=4), NEW), "stays, has base id and version 3 and 4, but had 3 and 2"),
        (replace(MERGE, removed=(replace(OLD, base_row_id=None),)), "is removed, has base id and version none and 1"),
        (after(is_suspended=True), "has ids, but row tracking is suspended"),
        # rows
        (rows(0, TrackedRow(9, 4, (2, "B"))), "2 rows got a new id, but numTargetRowsInserted is 1"),
        (rows(1, TrackedRow(9, 0, (3, "c"))), "the new row 9 has the commit version 0, not 4"),
        (rows(1, TrackedRow(2, 4, (3, "c"))), "2 rows kept their id and got the new commit version"),
        (rows(1, TrackedRow(2, 3, (3, "c"))), "row 2 has the commit version 3, but had 0"),
        (rows(0, TrackedRow(1, 1, (2, "B"))), "row 1 has changed, but has its old commit version 1"),
        (rows(2, TrackedRow(5, 4, (9, "n"))), "a new row has the id 5, but ids up to 5 were given before"),
        (rows(2, TrackedRow(0, 4, (9, "n"))), "0 rows lost their id, but numTargetRowsDeleted is 1"),
        (rows(2, TrackedRow(2, 4, (9, "n"))), "several rows of version 4 have the id 2"),
        (rows(2, TrackedRow(None, 4, (9, "n"))), "a row of version 4 has no id"),
        (rows(0, TrackedRow(0, 4, (2, "B"))), "show as update_preimage are not those of the change feed"),
        (after(rows=(replace(ROWS[0], row_id=2), replace(ROWS[1], row_id=1), *ROWS[2:])), "row 1 has"),
    ],
)
def test_corruptions_are_found(merge: TrackedMerge, said: str) -> None:
    assert any(said in fault for fault in faults(merge)), faults(merge)


def test_rows_without_kept_ids() -> None:
    """Without the property only the ids of files are looked at."""
    merge = replace(MERGE, before=replace(BEFORE, is_enabled=False), after=replace(AFTER, is_enabled=False, rows=()))
    assert faults(merge) == []
