"""The table of work in vain compares engines over the same merges."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from mergecheck.model.work_counts import WorkCounts
from tools.benchmarks.needless_work import tables

if TYPE_CHECKING:
    from pathlib import Path


def test_the_first_table_counts_the_merges_of_which_the_work_of_every_engine_is_known(tmp_path: Path) -> None:
    works = {
        ("one", 1): WorkCounts(merges=1, rows_changed=2, rows_copied=4, rows_copied_in_vain=3),
        ("one", 2): WorkCounts(merges=1, rows_changed=50),
        ("other", 1): WorkCounts(merges=1, rows_changed=2),
        ("other", 2): None,
        ("silent", 1): None,
    }
    entries = [
        {"name": name, "engine": f"{name} 1.0", "seed": 1, "case": case, "work": None if work is None else asdict(work)}
        for (name, case), work in works.items()
    ]
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    assert tables([journal]).split("\n\n")[0].splitlines()[2:] == [
        "| one 1.0 | 1 | 2 | 4 | 3 | 1.50 | 0 | 0 | not reported |  |",
        "| other 1.0 | 1 | 2 | 0 | 0 | 0.00 | 0 | 0 | not reported |  |",
    ]
