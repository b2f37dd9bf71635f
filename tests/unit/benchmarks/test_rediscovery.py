"""The page of released versions: what counts as one observed, and of which kind."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.rediscovery import KNOWN, Cell, Part, cells, findings, shares, table

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
    again = {"findings": [{"id": "a", "fingerprint": fingerprints["a"][0], "num_cases": 5}]}
    found = findings([Part(document, tmp_path), Part(again, tmp_path)])
    assert [found[name].num_cases for name in "ab"] == [7, 2]
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
    counts = [Part({"num_cases": 8, "verified": 5}, tmp_path), Part({"num_cases": 2, "verified": 0}, tmp_path)]
    *_, line = table(cells({engine: found}), {engine: counts})
    assert line.startswith(f"| {engine} | 10 | 50% | {KNOWN[0].causes} | {KNOWN[0].by_kind[0]} / 2-2 | ")


def test_what_is_found_beyond_the_known_causes_of_a_kind_does_not_count() -> None:
    counted = {"a@1": [Cell(known=3, least=1, most=9), Cell(known=0, least=2, most=2)], "b@1": [Cell(1, 0, 1)]}
    assert shares(counted) == {"known": "4", "least": "25%", "most": "100%"}
