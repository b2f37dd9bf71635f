"""The record of changed types after a merge (R-716)."""

from __future__ import annotations

import json

import pytest

from mergecheck.harness.compare.log_invariants.widening_invariants import widening_faults
from mergecheck.harness.compare.table_outcome import CommitRecord
from mergecheck.model.types.ddl import parse_schema

BEFORE = parse_schema("v INT, s STRUCT<a: FLOAT>, xs ARRAY<INT>")
AFTER = parse_schema("v BIGINT, s STRUCT<a: DOUBLE>, xs ARRAY<BIGINT>, n BIGINT")
OLD = [{"fromType": "byte", "toType": "integer"}]
WIDE = [{"fromType": "integer", "toType": "long"}]
RIGHT = {
    "v": [*OLD, *WIDE],
    "s.a": [{"fromType": "float", "toType": "double"}],
    "xs": [{"fieldPath": "element", **WIDE[0]}],
}


def faults(after: dict[str, list[dict[str, str]]]) -> list[str]:
    record = CommitRecord(
        read_version=0,
        num_commits=1,
        definition_before={"delta.typeChanges of column v": json.dumps(OLD)},
        definition={f"delta.typeChanges of column {path}": json.dumps(entries) for path, entries in after.items()},
        added_columns=frozenset({"n"}),
    )
    return list(widening_faults(BEFORE, AFTER, record))


def test_a_right_record() -> None:
    assert faults(RIGHT) == []


@pytest.mark.parametrize(
    ("path", "entries"),
    [
        ("v", WIDE),
        ("v", [*WIDE, *OLD]),
        ("v", OLD),
        ("s.a", []),
        ("s", RIGHT["s.a"]),
        ("xs", WIDE),
        ("n", WIDE),
    ],
)
def test_wrong_records(path: str, entries: list[dict[str, str]]) -> None:
    assert len(faults({**RIGHT, path: entries})) == 1
