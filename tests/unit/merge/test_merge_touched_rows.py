"""The task of a single scan: which files are touched, which rows are ambiguous, and the written rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mergecheck.merge.table.writing.row_records import (
    ACTION,
    CHANGE_FILE,
    CHECK_VIOLATION,
    DATA_FILE,
    ROW_COUNT,
    RowAction,
    routes,
)
from mergecheck.merge.table.writing.touched_rows import AMBIGUOUS, TOUCHED_FILE, write_touched_files
from mergecheck.merge.table.writing.writer import WriteTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COPY, UPDATE, INSERT, PREIMAGE = (
    RowAction.COPY,
    RowAction.MATCHED_UPDATE,
    RowAction.INSERT,
    RowAction.UPDATE_PREIMAGE,
)
DELETE = RowAction.MATCHED_DELETE
Row = tuple[RowAction, int, str | None, int | None, bool, bool]


def batch(rows: Sequence[Row], *violations: str | None) -> pa.RecordBatch:
    """Make a batch of rows: action, id, file, position, is matched, touches."""
    types = {ACTION: pa.int32(), "id": pa.int64(), "f": pa.string(), "r": pa.int64(), "m": pa.bool_(), "t": pa.bool_()}
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types.values())]
    names = list(types)
    if violations:
        columns, names = [*columns, pa.array(violations, pa.string())], [*names, "_violation_"]
    return pa.RecordBatch.from_arrays(columns, names=names)


def written(path: Path, *batches: pa.RecordBatch, checked: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Run the task; give its records by kind."""
    task = WriteTask(
        location=str(path),
        write_id="w",
        schema=pa.schema([("id", pa.int64())]),
        partition_columns=(),
        routes=routes(change_data=True),
        checked=checked,
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for out in write_touched_files(task, batches):
        for record in out.to_pylist():
            found.setdefault(record["kind"], []).append(record)
    return found


def ids(path: Path, records: dict[str, list[dict[str, Any]]], kind: str = DATA_FILE) -> list[int]:
    return sorted(i for record in records[kind] for i in pq.read_table(path / record["name"])["id"].to_pylist())


def test_rows_of_touched_files_are_written_and_inserts(tmp_path: Path) -> None:
    """Of file a one row is a pair; file b stays as it is, although a row of it is a pair on which nothing fires."""
    first = [(UPDATE, 1, "a", 0, True, True), (PREIMAGE, 1, "a", 0, True, True), (COPY, 2, "a", 1, False, False)]
    second = [(COPY, 3, "b", 0, True, False), (COPY, 4, "b", 1, False, False), (INSERT, 5, None, None, False, False)]
    records = written(tmp_path, batch(first), batch(second))
    assert [record["name"] for record in records[TOUCHED_FILE]] == ["a"]
    assert ids(tmp_path, records) == [1, 2, 5]
    assert ids(tmp_path, records, CHANGE_FILE) == [1, 1, 5]
    assert {r["name"]: r["num_records"] for r in records[ROW_COUNT]} == {
        str(int(action)): 1 for action in (UPDATE, PREIMAGE, COPY, INSERT)
    }


def test_inserts_alone_need_no_change_files(tmp_path: Path) -> None:
    """R-620: where no file is touched, readers of the feed take the added rows for inserts."""
    records = written(tmp_path, batch([(COPY, 1, "a", 0, False, False), (INSERT, 5, None, None, False, False)]))
    assert TOUCHED_FILE not in records
    assert CHANGE_FILE not in records
    assert ids(tmp_path, records) == [5]


@pytest.mark.parametrize("rows", [[], [(COPY, 1, "a", 0, False, False)]])
def test_where_nothing_happens_nothing_is_written(tmp_path: Path, rows: list[Row]) -> None:
    """Neither without any row nor where no file is touched and no row inserted (path C)."""
    assert written(tmp_path, *([batch(rows)] if rows else [])) == {}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(UPDATE, 1, "a", 0, True, True), (UPDATE, 2, "a", 0, True, True)], True),
        ([(COPY, 1, "a", 0, True, False), (COPY, 2, "a", 0, True, False)], True),
        ([(UPDATE, 1, "a", 0, True, True), (PREIMAGE, 1, "a", 0, True, True)], False),
        ([(UPDATE, 1, "a", 0, True, True), (UPDATE, 2, "b", 0, True, True)], False),
        ([(UPDATE, 1, "a", 0, True, True), (UPDATE, 2, "a", 1, True, True)], False),
        ([(INSERT, 1, None, None, False, False), (INSERT, 2, None, None, False, False)], False),
    ],
    ids=["pairs", "pairs-that-do-not-touch", "two-images", "two-files", "two-rows", "inserts"],
)
def test_two_pairs_of_one_target_row_are_ambiguous(tmp_path: Path, rows: list[Row], *, expected: bool) -> None:
    """R-320: by ON alone, whatever the clauses do; nothing is written then, however the batches are cut."""
    for batches in ([batch(rows)], [batch([row]) for row in rows]):
        records = written(tmp_path, *batches)
        assert (AMBIGUOUS in records) is expected
        assert (set(records) == {AMBIGUOUS}) is expected


def test_rows_of_untouched_files_need_not_comply(tmp_path: Path) -> None:
    """R-742 is about rows that are written; a table may hold others since before the constraint."""
    rows: list[Row] = [
        (DELETE, 1, "a", 0, True, True),
        (COPY, 2, "a", 1, False, False),
        (COPY, 3, "b", 0, False, False),
    ]
    assert ids(tmp_path, written(tmp_path, batch(rows, None, None, "bad"), checked=True)) == [2]
    records = written(tmp_path, batch(rows, None, "bad", None), checked=True)
    assert [record["name"] for record in records[CHECK_VIOLATION]] == ["bad"]
    assert DATA_FILE not in records
