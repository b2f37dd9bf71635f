"""Imported cases: the table's own description of its values."""

from __future__ import annotations

import pytest

from mergecheck.harness.cli.export.import_versions import imported
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema

SCHEMA = parse_schema(
    "no BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1 HIGH WATER MARK 11), "
    "k INT, code VARCHAR(5), name STRING"
)
CASE = Case(
    id="-",
    target=Target(schema=SCHEMA, files=(((11, 4711, "ab-12", "Alice"),),)),
    source=Source(schema=parse_schema("k INT, code STRING, name STRING"), rows=((4711, "cd-34", "Mallory"),)),
    sql="MERGE INTO target t USING source s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET code = s.code, name = s.name WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
)
AFTER = ((11, 4711, "cd-34", "Mallory"),)


@pytest.mark.parametrize("keep", [{"no"}, {"code"}, set()])
def test_values_that_a_mark_or_a_length_is_about_are_kept_by_name(keep: set[str]) -> None:
    missing = sorted({"no", "code"} - keep, reverse=True)
    with pytest.raises(UserInputError, match=" ".join(f"--keep {name}" for name in missing)):
        imported(CASE, SCHEMA, AFTER, keep=frozenset(keep))


def test_other_values_are_replaced() -> None:
    found = imported(CASE, SCHEMA, AFTER, keep=frozenset({"no", "code"}))
    assert not found.difference
    [row] = found.case.target.rows
    assert (row[0], row[2]) == (11, "ab-12")
    assert not {4711, "Alice"} & {*row}
    assert found.case.target.schema == SCHEMA
