"""The page of released versions: what counts as one observed, and of which kind."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.rediscovery import KNOWN, Cell, cells, findings, shares, table

if TYPE_CHECKING:
    from pathlib import Path


def test_findings_are_counted_by_kind_and_symptom(tmp_path: Path) -> None:
    plain = {"sql": "MERGE INTO target t", "target": {}}
    evolving = {"sql": "MERGE WITH SCHEMA EVOLUTION INTO target t", "target": {"partition_by": ["p"]}}
    fingerprints = {
        "a": ("e: rows extra_rows against reference", plain),
        "b": ("e: rows extra_rows against reference", plain),
        "c": ("e: rows extra_rows against reference", evolving),
        "d": ("e: error no_error against reference (CLASS)", plain),
        "e": ("e: error spurious_error against reference (DeltaError: no field)", plain),
        "f": ("e: metrics P-10-files against itself", plain),
        "g": ("e: cdf missing_rows against reference", plain),
    }
    for name, (_, case) in fingerprints.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(case), encoding="utf-8")
    document = {
        "findings": [{"id": name, "fingerprint": text, "num_cases": 2} for name, (text, _) in fingerprints.items()]
    }
    found = findings(document, tmp_path)
    assert {name: one.kind for name, one in found.items()} == {
        "a": "rows",
        "b": "rows",
        "c": "rows",
        "d": "no error",
        "e": "error",
        "f": "metrics",
        "g": "cdf",
    }
    assert [found[name].observed for name in "abcde"] == [
        "rows extra_rows",
        "rows extra_rows",
        "rows extra_rows with evolution partitioned",
        "CLASS",
        "DeltaError: no field",
    ]
    engine = KNOWN[0].engine
    found["a"] = replace(found["a"], lifetime=frozenset({engine}))
    found["b"] = replace(found["b"], lifetime=frozenset({engine, KNOWN[1].engine}))
    *_, line = table(cells({engine: found}), {engine: {"num_cases": 9, "verified_share": 0.5}})
    assert line.startswith(f"| {engine} | 9 | 50% | {KNOWN[0].causes} | {KNOWN[0].by_kind[0]} / 2-2 | ")


def test_what_is_found_beyond_the_known_causes_of_a_kind_does_not_count() -> None:
    counted = {"a@1": [Cell(known=3, least=1, most=9), Cell(known=0, least=2, most=2)], "b@1": [Cell(1, 0, 1)]}
    assert shares(counted) == {"known": "4", "least": "25%", "most": "100%"}
