"""Matches by equal keys, found by Arrow as Spark's ``=`` finds them."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mergecheck.merge.table.writing import key_matches
from mergecheck.merge.table.writing.key_matches import (
    AMBIGUOUS_ROWS,
    FileToMatch,
    KeyColumns,
    MatchTask,
    find_matches,
    pack_pairs,
    unpack_pairs,
)
from mergecheck.merge.table.writing.modified_rows import pack

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = pa.RecordBatch.from_pydict({"id": pa.array([0, 1], pa.int64())})
NAN, OTHER_NAN = math.nan, np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\xff", np.float64)[0]
Found = dict[tuple[int, int], int] | None


def matches(
    folder: Path,
    files: list[dict[str, pa.Array]],
    source: list[pa.Array],
    compared: list[pa.DataType],
    *,
    stored: pa.Schema | None = None,
    deleted: tuple[str, ...] = (),
) -> Found:
    """Give the source row of each matched row, by file and position; None if a row matches several."""
    tables = [pa.table(columns) for columns in files]
    paths = [str(folder / f"{number}.parquet") for number in range(len(files))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    given = [FileToMatch(location=path, deleted=deleted if path == paths[0] else ()) for path in paths]
    keys = KeyColumns(
        stored=tuple(tables[0].schema if stored is None else stored),
        compared=tuple(compared),
        source=pa.Table.from_arrays(source, names=[str(i) for i in range(len(source))]),
    )
    task = MatchTask(location=str(folder), access=None, keys=keys, groups=(tuple(given[::2]), tuple(given[1::2])))
    records = [record for batch in find_matches(task, [NUMBERS]) for record in batch.to_pylist()]
    if any(record["kind"] == AMBIGUOUS_ROWS for record in records):
        return None
    found: dict[tuple[int, int], int] = {}
    for record in records:
        positions, sources = unpack_pairs(record["stats"])
        found |= {(paths.index(record["name"]), int(p)): int(s) for p, s in zip(positions, sources, strict=True)}
    return found


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "numbers": (pa.int64(), [1, -1, 0, 2**63 - 1, -(2**63)]),
    "texts": (pa.string(), ["", " ", "a", "A", "a ", "\u00e9", "e\u0301"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"a"]),
    "truths": (pa.bool_(), [False, True]),
    "days": (pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29)]),
    "decimals": (pa.decimal128(38, 2), [Decimal("0.00"), Decimal("-1.50"), Decimal("1.50")]),
    "instants": (pa.timestamp("us", tz="UTC"), [-62135596800000000, 1704067200000001]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_equal_values_match_and_null_matches_nothing(tmp_path: Path, kind: str) -> None:
    data_type, values = VALUES[kind]
    target = pa.array([None, *values], data_type)
    source = pa.array([*reversed(values), None, None], data_type)
    found = matches(tmp_path, [{"k": target}], [source], [data_type])
    assert found == {(0, 1 + i): len(values) - 1 - i for i in range(len(values))}


@pytest.mark.parametrize("bits", [pa.float32(), pa.float64()])
def test_nan_equals_nan_and_zeros_are_equal(tmp_path: Path, bits: pa.DataType) -> None:
    """R-801 and R-802, whatever the bits of a NaN are."""
    numbers = np.array([OTHER_NAN, 0.0, 1.5, -math.inf])
    target = pa.array(numbers, bits)
    source = pa.array(np.array([-0.0, NAN, -math.inf, 7.0]), bits)
    assert matches(tmp_path, [{"k": target}], [source], [bits]) == {(0, 0): 1, (0, 1): 0, (0, 3): 2}
    twice = pa.array(np.array([0.0, -0.0]), bits)
    assert matches(tmp_path, [{"k": target}], [twice], [bits]) is None


def test_whole_numbers_are_compared_with_doubles_as_doubles(tmp_path: Path) -> None:
    """Spark casts the BIGINT: 2^53 + 1 has no double of its own."""
    target = pa.array([2**53 + 1, 2**53, 3, None], pa.int64())
    source = pa.array([float(2**53), 3.5, None])
    assert matches(tmp_path, [{"k": target}], [source], [pa.float64()]) == {(0, 0): 0, (0, 1): 0}


def test_all_keys_of_a_row_must_be_equal(tmp_path: Path) -> None:
    """By each combination of few values in three columns, NULL among them; only full rows that are there match."""
    rows = list(itertools.product([1, 2, None], ["a", "b", None], [1, 9]))
    target = [pa.array(column) for column in zip(*rows, strict=True)]
    chosen = rows[::3]
    source = [pa.array(column, target[i].type) for i, column in enumerate(zip(*chosen, strict=True))]
    types = [column.type for column in target]
    found = matches(tmp_path, [dict(zip("xyz", target, strict=True))], source, types)
    assert found == {(0, rows.index(row)): i for i, row in enumerate(chosen) if None not in row}


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    monkeypatch.setattr(key_matches, "ROWS_AT_ONCE", rows_at_once)
    files = [{"k": pa.array(range(first, first + 4))} for first in (0, 4, 8, 12, 16)]
    source = pa.array([17, 3, 4, 11, 40])
    expected = {(0, 3): 1, (1, 0): 2, (2, 3): 3, (4, 1): 0}
    assert matches(tmp_path, files, [source], [pa.int64()]) == expected


def test_one_source_row_may_match_many_rows_but_no_row_many_source_rows(tmp_path: Path) -> None:
    """A repeated key of the source is ambiguous only where a row has it (R-320)."""
    files = [{"k": pa.array([5, 5])}, {"k": pa.array([5, 6])}]
    assert matches(tmp_path, files, [pa.array([5, 7, 7])], [pa.int64()]) == {(0, 0): 0, (0, 1): 0, (1, 0): 0}
    assert matches(tmp_path, files, [pa.array([5, 6, 6])], [pa.int64()]) is None


def test_deleted_rows_do_not_match(tmp_path: Path) -> None:
    """Nor make a match ambiguous."""
    files = [{"k": pa.array([5, 6, 7])}]
    deleted = (pack(np.array([0])), pack(np.array([2])))
    source = pa.array([5, 6, 7, 7])
    assert matches(tmp_path, files, [source], [pa.int64()], deleted=deleted) == {(0, 1): 1}


def test_columns_are_found_in_old_files(tmp_path: Path) -> None:
    """Under a name in another case, with a narrower type or not at all (R-241)."""
    files = [{"K": pa.array([1], pa.int16())}, {"other": pa.array([1])}, {"k": pa.array([1], pa.int64())}]
    stored = pa.schema({"k": pa.int64()})
    found = matches(tmp_path, files, [pa.array([1], pa.int32())], [pa.int64()], stored=stored)
    assert found == {(0, 0): 0, (2, 0): 0}


def test_a_source_without_rows_or_keys_matches_nothing(tmp_path: Path) -> None:
    files = [{"k": pa.array([1, None])}]
    for source in (pa.array([], pa.int64()), pa.array([None], pa.int64())):
        assert matches(tmp_path, files, [source], [pa.int64()]) == {}


def test_pairs_are_packed() -> None:
    positions, others = np.array([0, 3, 4, 2**40]), np.array([7, 0, 7, 1])
    unpacked = unpack_pairs(pack_pairs(positions, others))
    assert [list(part) for part in unpacked] == [list(positions), list(others)]
