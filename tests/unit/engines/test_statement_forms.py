"""Clauses are put into the order of SQL, whatever the tables are called."""

from __future__ import annotations

import pytest

from mergecheck.harness.engines.statement_forms import in_sql_order
from mergecheck.harness.properties.merge_text import merge_text

HEAD = "MERGE INTO target t USING source s ON t.k = s.k"
MATCHED = "WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = CASE WHEN s.v > 2 THEN 2 ELSE s.v END"
INSERT = "WHEN NOT MATCHED THEN INSERT *"
BY_SOURCE = "WHEN NOT MATCHED BY SOURCE THEN DELETE"


@pytest.mark.parametrize(
    "clauses", [(MATCHED, INSERT, BY_SOURCE), (INSERT, BY_SOURCE, MATCHED), (BY_SOURCE, MATCHED, INSERT)]
)
def test_clauses_are_sorted_by_kind(clauses: tuple[str, ...]) -> None:
    """MATCHED comes first, BY SOURCE last; a WHEN inside CASE begins no clause (R-101)."""
    assert in_sql_order(" ".join((HEAD, *clauses))) == f"{HEAD} {MATCHED} {INSERT} {BY_SOURCE}"


def test_clauses_of_a_kind_keep_their_order() -> None:
    """It decides which of them applies (R-330)."""
    delete = "WHEN MATCHED THEN DELETE"
    assert in_sql_order(f"{HEAD} {INSERT} {MATCHED} {delete}") == f"{HEAD} {MATCHED} {delete} {INSERT}"


def test_a_table_may_be_called_when() -> None:
    """The word begins a clause only before MATCHED."""
    head = "MERGE INTO target merge USING source AS when ON merge.k = when.k"
    sql = f"{head} {INSERT} WHEN MATCHED THEN UPDATE SET v = when.v"
    assert in_sql_order(sql) == f"{head} WHEN MATCHED THEN UPDATE SET v = when.v {INSERT}"
    text = merge_text(sql)
    assert text is not None
    assert (text.on, len(text.clauses)) == ("merge.k = when.k", 2)
