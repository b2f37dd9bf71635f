"""The invariants that a merge's own numbers keep: each is kept by a right outcome and broken by one wrong number."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mergecheck.harness.compare.counting_invariants import counting_invariants
from mergecheck.harness.compare.invariants import invariant_mismatches
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.model.case import Case, Target
from mergecheck.model.outcome import MergePath, Outcome
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema, StructType

SCHEMA = Schema((Field("p", types.STRING), Field("id", types.INT)))
CASE = Case(
    id="c",
    # The empty text is stored as NULL in a partition column.
    target=Target(schema=SCHEMA, files=((("", 1), ("a", 2)), (("a", 3), ("a", 3))), partition_by=("p",)),
    source=None,
    sql="",
)
ALL_CLAUSES = frozenset({("matched", "update"), ("matched", "delete"), ("not_matched", "insert")})
FEED = (
    ("a", 2, "update_preimage"),
    ("b", 2, "update_postimage"),
    ("a", 3, "delete"),
    ("c", 9, "insert"),
)
RIGHT = Outcome(
    schema=SCHEMA,
    rows=((None, 1), ("b", 2), ("a", 3), ("c", 9)),
    metrics={
        "numSourceRows": 5,
        "numTargetRowsInserted": 1,
        "numTargetRowsUpdated": 1,
        "numTargetRowsMatchedUpdated": 1,
        "numTargetRowsNotMatchedBySourceUpdated": 0,
        "numTargetRowsDeleted": 1,
        "numTargetRowsMatchedDeleted": 1,
        "numTargetRowsNotMatchedBySourceDeleted": 0,
        "numTargetRowsCopied": 2,
        "numOutputRows": 4,
    },
    cdf=FEED,
    committed=True,
    path=MergePath.D,
)

NINE_UPDATED = {"numTargetRowsUpdated": 9, "numTargetRowsMatchedUpdated": 9, "numOutputRows": 12}


def invariants(outcome: Outcome, present: frozenset[tuple[str, str]] = ALL_CLAUSES) -> list[str]:
    found = invariant_mismatches(CASE, outcome, present)
    assert all(m.against == AGAINST and m.lines and max(map(len, m.lines)) <= 100 for m in found)
    return [m.kind for m in found]


def test_copied_rows_are_served_if_no_metrics_are_kept() -> None:
    """A plain outcome, which does not describe its commit, is checked by the setting of the case (P-13, R-605)."""
    table = CASE.target.files[0] + CASE.target.files[1]
    rows = tuple((p or None, number) for p, number in table)
    copied = dataclasses.replace(
        RIGHT,
        rows=rows,
        metrics={"numTargetRowsInserted": 0, "numTargetRowsDeleted": 0, "numTargetRowsCopied": 4, "numOutputRows": 4},
        cdf=tuple((*row, change) for row in rows for change in ("delete", "insert")),
    )
    silent = dataclasses.replace(CASE, conf={"spark.databricks.delta.history.metricsEnabled": "false"})
    assert [m.kind for m in invariant_mismatches(silent, copied, frozenset())] == []
    assert [m.kind for m in invariant_mismatches(CASE, copied, frozenset())] == ["P-13", "P-13"]


def with_metrics(**metrics: int) -> Outcome:
    return dataclasses.replace(RIGHT, metrics={**RIGHT.metrics, **metrics})


def test_a_right_outcome_keeps_all_invariants() -> None:
    """Also where the engine shows no metrics, no feed and no path."""
    assert invariants(RIGHT) == []
    assert invariants(dataclasses.replace(RIGHT, metrics={}, cdf=None, path=None), frozenset()) == []


def test_files_that_are_not_touched_are_not_copied() -> None:
    """P-7 is an upper bound of the rewritten files."""
    assert invariants(with_metrics(numTargetRowsCopied=0, numOutputRows=2)) == []


@pytest.mark.parametrize(
    ("outcome", "broken"),
    [
        (dataclasses.replace(RIGHT, rows=RIGHT.rows[1:]), ["P-5", "P-12"]),
        (with_metrics(numOutputRows=5), ["P-6"]),
        (with_metrics(numTargetRowsMatchedUpdated=0), ["P-6"]),
        (with_metrics(numTargetRowsNotMatchedBySourceDeleted=1), ["P-6"]),
        (with_metrics(numTargetRowsCopied=3, numOutputRows=5), ["P-7"]),
        (dataclasses.replace(RIGHT, path=MergePath.E), ["P-7"]),
        (dataclasses.replace(RIGHT, path=MergePath.B), ["P-7", "P-7"]),
        (with_metrics(numSourceRows=0), ["P-8"]),
        (with_metrics(**NINE_UPDATED), ["P-7", "P-8", "P-13", "P-13"]),
        (dataclasses.replace(RIGHT, cdf=FEED[:-1]), ["P-13", "P-12"]),
        (dataclasses.replace(RIGHT, cdf=(*FEED[:-1], ("c", 9, "INSERT"))), ["P-13", "P-13"]),
        (dataclasses.replace(RIGHT, cdf=(*FEED[:2], ("a", 3, "DELETE"), FEED[3])), ["P-13", "P-13"]),
        (dataclasses.replace(RIGHT, cdf=(("b", 2, "update_preimage"), *FEED[1:])), ["P-12"]),
        (dataclasses.replace(RIGHT, cdf=(FEED[0], ("x", 2, "update_postimage"), *FEED[2:])), ["P-12"]),
    ],
    ids=[
        "row lost", "output rows", "matched updates", "deletes by source", "copied too many", "copies on path E",
        "changes on path B", "inserts without source", "more updates than rows", "insert image lost",
        "unknown change type", "unknown change type of a delete", "pre-image of the new row",
        "post-image not in the table",
    ],
)  # fmt: skip
def test_a_wrong_number_breaks_its_invariant(outcome: Outcome, broken: list[str]) -> None:
    """The kind of the mismatch names the property."""
    assert invariants(outcome) == broken


def test_laws_hold_for_large_numbers() -> None:
    """Sums of thousands, not only of a few."""
    metrics = {
        "numTargetRowsUpdated": 3_000,
        "numTargetRowsMatchedUpdated": 2_000,
        "numTargetRowsNotMatchedBySourceUpdated": 1_000,
    }
    assert list(counting_invariants(5_000, 5_000, metrics=metrics, path=None, present=frozenset())) == []


@pytest.mark.parametrize(("missing", "broken"), [("insert", ["P-9"]), ("update", ["P-9"]), ("delete", ["P-9"])])
def test_what_no_clause_does_is_not_done(missing: str, broken: list[str]) -> None:
    """P-9, from the clauses that the statement has."""
    present = frozenset(clause for clause in ALL_CLAUSES if clause[1] != missing)
    assert invariants(RIGHT, present) == broken


def test_rows_grow_only_by_inserts_and_shrink_only_by_deletes() -> None:
    """P-9 on the table itself, for engines without metrics."""
    quiet = dataclasses.replace(RIGHT, metrics={}, cdf=None)
    update_only = frozenset({("matched", "update")})
    assert invariants(dataclasses.replace(quiet, rows=RIGHT.rows * 2), update_only) == ["P-9"]
    assert invariants(dataclasses.replace(quiet, rows=()), update_only) == ["P-9"]


WIDER = Schema((*SCHEMA.columns, Field("new", types.INT)))


def widen(rows: Any) -> Any:
    return tuple((*row[:2], None, *row[2:]) for row in rows)


WIDE_FEED = widen(FEED)
EVOLVED = dataclasses.replace(RIGHT, schema=WIDER, rows=widen(RIGHT.rows), cdf=WIDE_FEED)


def test_added_columns_are_null_in_old_rows() -> None:
    """With an evolved schema the feed is balanced in the new one (R-610)."""
    assert invariants(EVOLVED) == []
    assert invariants(dataclasses.replace(EVOLVED, cdf=WIDE_FEED[1:])) == ["P-13", "P-12"]
    images = tuple((*row[:2], 7, row[3]) if row[3] == "delete" else row for row in WIDE_FEED)
    assert invariants(dataclasses.replace(EVOLVED, cdf=images)) == ["P-12"]


@pytest.mark.parametrize(
    "schema",
    [
        Schema(SCHEMA.columns[::-1]),
        Schema((Field("P", types.STRING), SCHEMA.columns[1])),
        Schema((SCHEMA.columns[0], Field("id", types.BIGINT))),
        Schema((SCHEMA.columns[0], Field("id", types.INT, nullable=False))),
        Schema((SCHEMA.columns[0], Field("id", types.INT, default="1"))),
        Schema((*SCHEMA.columns, Field("new", types.INT, nullable=False))),
        Schema((*SCHEMA.columns, Field("new", StructType((Field("x", types.INT, nullable=False),))))),
    ],
    ids=["moved", "spelled anew", "widened", "NOT NULL", "a default", "new and NOT NULL", "new and NOT NULL inside"],
)
def test_evolution_only_adds(schema: Schema) -> None:
    """R-234, R-235: old columns stay as they are, new ones may be NULL."""
    width = len(schema.columns) - 2
    rows = tuple((*row, *(None,) * width) for row in RIGHT.rows)
    evolved = dataclasses.replace(RIGHT, schema=schema, rows=rows, cdf=None)
    assert invariants(evolved) == ["R-234"]


@pytest.mark.parametrize(("widening", "broken"), [("true", []), ("TRUE", []), ("false", ["R-234"])])
def test_a_table_that_may_widen_widens(widening: str, broken: list[str]) -> None:
    """Evolution changes types where the table's property allows it."""
    properties = {"delta.enableTypeWidening": widening}
    case = dataclasses.replace(CASE, target=dataclasses.replace(CASE.target, properties=properties))
    wider = Schema((SCHEMA.columns[0], Field("id", types.BIGINT)))
    found = invariant_mismatches(case, dataclasses.replace(RIGHT, schema=wider, cdf=None), ALL_CLAUSES)
    assert [mismatch.kind for mismatch in found] == broken


def test_a_schema_changes_by_a_commit_only() -> None:
    """R-239: without a version there is no other schema."""
    assert invariants(dataclasses.replace(EVOLVED, committed=False)) == ["R-239"]


def table_outcome(*, added: int = 4, removed: int = 4, **found: Any) -> TableOutcome:
    known = {field.name: getattr(RIGHT, field.name) for field in dataclasses.fields(RIGHT)}
    return TableOutcome(**known, num_records_added=added, num_records_removed=removed, **found)


@pytest.mark.parametrize(
    ("outcome", "broken"),
    [
        (table_outcome(), []),
        (table_outcome(added=5), ["P-10"]),
        (table_outcome(removed=3), ["P-10"]),
        (table_outcome(file_faults=("nullCount 1 of id, but 0 values are NULL",) * 9), ["P-11"]),
        (table_outcome(members_not_null=("l", "s.m")), ["R-235"]),
    ],
)
def test_files_hold_what_metrics_and_statistics_say(outcome: Outcome, broken: list[str]) -> None:
    """P-10, P-11 and R-235, where the table's files and log were read."""
    assert invariants(outcome) == broken


@pytest.mark.parametrize(("number", "last"), [(1, "fault"), (4, "fault"), (5, "and 1 more"), (9, "and 5 more")])
def test_many_faults_of_files_are_counted(number: int, last: str) -> None:
    """Four are shown; all are there to be explained."""
    outcome = table_outcome(file_faults=("fault",) * number)
    (found,) = invariant_mismatches(CASE, outcome, ALL_CLAUSES)
    assert (found.lines[-1], len(found.lines), len(found.parts)) == (last, min(number, 5), number)


@pytest.mark.parametrize(
    ("reported", "in_log", "broken"), [(2, 2, []), (2, 1, ["P-10-files"]), (1, 2, ["P-10-files"]), (2, None, [])]
)
def test_files_in_the_log_are_those_of_the_metrics(reported: int, in_log: int | None, broken: list[str]) -> None:
    """P-10, where both are known."""
    outcome = table_outcome(num_files_added=in_log)
    outcome = dataclasses.replace(outcome, metrics={**outcome.metrics, "numTargetFilesAdded": reported})
    assert invariants(outcome) == broken
