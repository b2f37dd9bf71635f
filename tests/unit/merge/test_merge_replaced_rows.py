"""Files that are written anew with rows of the source, against the plain meaning of it, row by row."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mergecheck.merge.table.writing.key_matches import pack_pairs
from mergecheck.merge.table.writing.modified_rows import pack
from mergecheck.merge.table.writing.replaced_rows import (
    FilesToRewrite,
    FileToRewrite,
    RowsOfClause,
    SourceRows,
    rewrite_files,
)
from mergecheck.merge.table.writing.row_records import RowAction, routes
from mergecheck.merge.table.writing.writer import WriteTask

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema({"k": pa.int64(), "v": pa.string(), "new": pa.float64()})
STORED = frozenset({"k", "v"})
CLAUSES = (
    RowsOfClause(action=int(RowAction.MATCHED_UPDATE), values=(None, 0, None)),
    RowsOfClause(action=int(RowAction.MATCHED_UPDATE), values=(1, 0, 2)),
    RowsOfClause(action=int(RowAction.MATCHED_DELETE), values=()),
    RowsOfClause(action=int(RowAction.INSERT), values=(1, 0, 2)),
)
NUM_SOURCE, NUM_ROWS = 12, 10


@pytest.mark.parametrize("share", [0.3, 1.0], ids=["some-match", "all-match"])
@pytest.mark.parametrize("seed", range(6))
def test_files_are_rewritten_row_by_row(tmp_path: Path, seed: int, share: float) -> None:
    """Two files of row groups of three rows: any mixture of copies, updates, deletes, old vectors and inserts."""
    rng = random.Random(seed)
    values = pa.table(
        {
            "0": pa.array([f"s{i}" for i in range(NUM_SOURCE)]),
            "1": pa.array(range(100, 100 + NUM_SOURCE), pa.int64()),
            "2": pa.array([i / 2 for i in range(NUM_SOURCE)]),
        }
    )
    matched = np.array([rng.choice([-1, 0, 1, 2]) for _ in range(NUM_SOURCE)])
    if seed == 0:
        matched[:] = 1  # nothing of a file stays
    not_matched = np.array([rng.choice([-1, 3]) for _ in range(NUM_SOURCE)])
    source = SourceRows(clauses=CLAUSES, matched=matched, not_matched=not_matched, values=values)
    expected: Counter[tuple[object, ...]] = Counter()
    counts: Counter[int] = Counter()

    def add(action: int, row: tuple[object, ...] | None) -> None:
        counts[action] += 1
        if row is not None:
            expected[row] += 1

    groups = []
    for number in range(2):
        path = tmp_path / f"{number}.parquet"
        rows = [(10 * number + i, rng.choice(["a", None])) for i in range(NUM_ROWS)]
        pq.write_table(
            pa.table({"k": [k for k, _ in rows], "v": pa.array([v for _, v in rows], pa.string())}),
            path,
            row_group_size=3,
        )
        deleted = [i for i in range(NUM_ROWS) if rng.random() < (0.2 if seed % 2 else 0)]
        pairs = {i: rng.randrange(NUM_SOURCE) for i in range(NUM_ROWS) if i not in deleted and rng.random() < share}
        for i, (k, v) in enumerate(rows):
            if i in deleted:
                continue
            fired = int(matched[pairs[i]]) if i in pairs else -1
            given = f"s{pairs[i]}" if i in pairs else None
            if fired < 0:
                add(int(RowAction.COPY), (k, v, None))
            elif fired == 0:
                add(CLAUSES[0].action, (k, given, None))
            elif fired == 1:
                add(CLAUSES[1].action, (100 + pairs[i], given, pairs[i] / 2))
            else:
                add(CLAUSES[2].action, None)
        inserted = np.array(rng.sample(range(NUM_SOURCE), 3))
        for s in inserted:
            if not_matched[s] >= 0:
                add(CLAUSES[3].action, (100 + int(s), f"s{s}", s / 2))
        file = FileToRewrite(
            location=str(path),
            pairs=pack_pairs(np.array(list(pairs)), np.array(list(pairs.values()))),
            deleted=(pack(np.array(deleted)),) if deleted else (),
        )
        groups.append(FilesToRewrite(files=(file,), inserted=inserted))
    task = WriteTask(
        location=str(tmp_path), write_id="w", schema=SCHEMA, partition_columns=(), routes=routes(change_data=False)
    )
    numbers = [pa.RecordBatch.from_pydict({"id": pa.array([0, 1], pa.int64())})]
    batches = rewrite_files(task, STORED, source, tuple(groups), numbers)
    records = [record for batch in batches for record in batch.to_pylist()]
    (written,) = [record for record in records if record["kind"] == "data"]
    found = pq.read_table(tmp_path / written["name"])
    assert Counter(tuple(row.values()) for row in found.to_pylist()) == expected
    assert json.loads(written["stats"])["numRecords"] == found.num_rows
    assert {int(r["name"]): r["num_records"] for r in records if r["kind"] == "rows" and r["num_records"]} == counts
