"""Ids and physical names after a merge (R-709)."""

from __future__ import annotations

import pytest

from mergecheck.harness.compare.log_invariants.mapping_invariants import mapping_faults
from mergecheck.harness.compare.table_outcome import CommitRecord

ID, NAME = "delta.columnMapping.id of column ", "delta.columnMapping.physicalName of column "
GREATEST = "property delta.columnMapping.maxColumnId"
BEFORE = {GREATEST: "2", f"{ID}k": "1", f"{NAME}k": "p1"}
AFTER = {**BEFORE, GREATEST: "3", f"{ID}n": "3", f"{NAME}n": "p3"}


def faults(after: dict[str, str], *, added: tuple[str, ...] = ("n",), before: dict[str, str] = BEFORE) -> list[str]:
    record = CommitRecord(
        read_version=0, num_commits=1, definition_before=before, definition=after, added_columns=frozenset(added)
    )
    return list(mapping_faults(record))


def test_a_right_commit() -> None:
    assert faults(AFTER) == []
    assert faults(BEFORE, added=()) == []
    assert faults({}, before={}) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({GREATEST: "2"}, "it was 2, and 1 columns are new"),
        ({GREATEST: "4"}, "it was 2, and 1 columns are new"),
        ({f"{ID}n": "2"}, "but new ids are 3 to 3"),
        ({f"{ID}n": "1"}, "has the id 1, and so has another one"),
        ({f"{NAME}n": "p1"}, "has the physical name p1, and so has another one"),
        ({GREATEST: "many"}, "'2' before, 'many' after"),
    ],
)
def test_wrong_ids_and_names(change: dict[str, str], said: str) -> None:
    assert any(said in fault for fault in faults({**AFTER, **change}))


@pytest.mark.parametrize(("lost", "what"), [(f"{ID}n", "id"), (f"{NAME}n", "physical name")])
def test_a_new_column_without(lost: str, what: str) -> None:
    assert f"the new column n has no {what}" in faults({name: text for name, text in AFTER.items() if name != lost})
