"""The page of released versions: what counts as one symptom, and of which kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.rediscovery import KNOWN, symptoms, table

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
    found = symptoms(document, tmp_path)
    assert dict(found["rows"]) == {"rows extra_rows": 4, "rows extra_rows with evolution partitioned": 2}
    assert {kind: len(counts) for kind, counts in found.items()} == {
        "rows": 2,
        "no error": 1,
        "metrics": 1,
        "cdf": 1,
        "error": 1,
    }
    engine = KNOWN[0].engine
    *_, line = table({engine: found}, {engine: {"num_cases": 9, "verified_share": 0.5}})
    assert line.startswith(f"| {engine} | 9 | 50% |")
