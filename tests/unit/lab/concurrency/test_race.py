"""Random races: what is drawn, and what delta-rs does that a race with it finds."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.lab.concurrency.race.draw import draw_writers
from mergecheck.harness.lab.sequences.steps import Rewrite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("most", [0, 1, 8])
def test_no_more_writers_compact_than_may(most: int) -> None:
    rounds = [draw_writers(Random(seed), 8, most_compactions=most) for seed in range(300)]
    assert {len(writers) for writers in rounds} == {8}
    counts = [sum(isinstance(writer.action, Rewrite) for writer in writers) for writers in rounds]
    assert max(counts) == min(most, 4)  # none of these seeds draws more


def test_two_compactions_of_delta_rs_double_the_rows(tmp_path: Path) -> None:
    """If this fails, delta-rs has mended it: then ``COMPACTED_BY_ANOTHER`` has no reason any more."""
    table = str(tmp_path / "table")
    for key in (1, 2):
        write_deltalake(table, pa.table({"k": [key]}), mode="append")
    first, second = DeltaTable(table), DeltaTable(table)
    first.optimize.compact()
    second.optimize.compact()  # of the files that the other one has removed
    assert sorted(DeltaTable(table).to_pyarrow_table()["k"].to_pylist()) == [1, 1, 2, 2]
