"""Tables that other readers cannot read do not agree: one change of each kind in the tables of two merges.

``python -m tools.output_mutations.tables`` makes 20 000 such changes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.reference import evaluate
from tools.output_mutations.tables.catalogue import mutants_of
from tools.output_mutations.tables.written import WrittenTable, write_table

if TYPE_CHECKING:
    from pathlib import Path

MOMENT, DAY = "2020-01-02T03:04:05.000006Z", "2020-01-02"
VALUES = [3, 4, "1.25", DAY, MOMENT, "é", True, 2.5, [1, None], [["x", 1]], {"f": 1, "g": "z"}]
TYPES = (
    "b TINYINT, l BIGINT, n DECIMAL(10,2), d DATE, t TIMESTAMP, s STRING, o BOOLEAN, x DOUBLE, a ARRAY<INT>, "
    "m MAP<STRING, INT>, r STRUCT<f: INT, g: STRING>"
)
UPSERT = (
    "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
CASES: dict[str, dict[str, Any]] = {
    "types, partitions, change feed, evolution": {
        "target": {
            "schema": f"k INT, {TYPES}, p INT, q TIMESTAMP",
            "partition_by": ["p", "q"],
            "files": [[[1, *VALUES, 7, MOMENT], [2, *VALUES, 7, MOMENT]]],
            "properties": {"delta.enableChangeDataFeed": "true"},
        },
        "source": {
            "schema": f"k INT, {TYPES}, p INT, q TIMESTAMP, new INT",
            "rows": [[1, *VALUES, 7, MOMENT, 5], [3, *VALUES, 8, None, None]],
        },
    },
    "vectors, column mapping, row tracking": {
        "target": {
            "schema": "k INT, v INT, r STRUCT<f: INT>",
            "partition_by": [],
            "files": [[[1, 2, {"f": 1}], [3, 4, None]], [[5, 6, {"f": 1}]]],
            "properties": {
                "delta.enableDeletionVectors": "true",
                "delta.columnMapping.mode": "name",
                "delta.enableRowTracking": "true",
                "delta.enableInCommitTimestamps": "true",
            },
            "layout": {"vectors": "own files", "row_ids": "stored"},
        },
        "source": {"schema": "k INT, v INT, r STRUCT<f: INT>", "rows": [[1, 5, None], [2, 6, {"f": 3}]]},
    },
}


@pytest.fixture(scope="module", params=list(CASES))
def table(request: Any, tmp_path_factory: pytest.TempPathFactory) -> WrittenTable:
    document = {"format_version": 1, "id": "mutants", "sql": UPSERT, **CASES[request.param]}
    (case,) = parse_cases(json.dumps(document), name="mutants", lines=False)
    path: Path = tmp_path_factory.mktemp("mutants") / "target"
    written = write_table(PySparkEngine(start_session()), case, evaluate(case), path)
    assert written is not None
    return written


def test_what_other_readers_could_see_is_reported(table: WrittenTable) -> None:
    """R-701 to R-724: one change of each kind."""
    kinds = {mutant.kind: mutant for mutant in mutants_of(table) if not mutant.reason}
    assert [kind for kind, mutant in kinds.items() if table.verdict(mutant) is not Verdict.MISMATCH] == []
    assert len(kinds) > 100


def test_what_the_protocol_allows_is_not(table: WrittenTable) -> None:
    """R-717 to R-723: Delta's protocol leaves it to the writer."""
    kinds = {mutant.kind: mutant for mutant in mutants_of(table) if mutant.reason}
    assert [kind for kind, mutant in kinds.items() if table.verdict(mutant) is not Verdict.AGREE] == []
    assert len(kinds) > 15
