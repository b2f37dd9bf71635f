"""The laws that a merge's own numbers keep: each is kept by a right outcome and broken by one wrong number."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from harness.conservation import AGAINST, conservation_mismatches
from reference import types
from reference.case import Case, Target
from reference.outcome import Facts, MergePath, Outcome
from reference.types import Field, Schema

SCHEMA = Schema((Field("p", types.STRING), Field("id", types.INT)))
CASE = Case(
    id="c",
    # The empty text is stored as NULL in a partition column.
    target=Target(schema=SCHEMA, files=((("", 1), ("a", 2)), (("a", 3), ("a", 3))), partition_by=("p",)),
    source=None,
    sql="",
)
ALL_CLAUSES = Facts(
    clauses_present=frozenset({("matched", "update"), ("matched", "delete"), ("not_matched", "insert")})
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
    cdf=(
        ("a", 2, "update_preimage"),
        ("b", 2, "update_postimage"),
        ("a", 3, "delete"),
        ("c", 9, "insert"),
    ),
    committed=True,
    path=MergePath.D,
)

NINE_UPDATED = {"numTargetRowsUpdated": 9, "numTargetRowsMatchedUpdated": 9, "numOutputRows": 12}


def laws(outcome: Outcome, facts: Facts = ALL_CLAUSES) -> list[str]:
    found = conservation_mismatches(CASE, outcome, facts)
    assert all(m.against == AGAINST and m.lines and max(map(len, m.lines)) <= 100 for m in found)
    return [m.kind for m in found]


def with_metrics(**metrics: int) -> Outcome:
    return dataclasses.replace(RIGHT, metrics={**RIGHT.metrics, **metrics})


def test_a_right_outcome_keeps_all_laws() -> None:
    """Also where the engine shows no metrics, no feed and no path."""
    assert laws(RIGHT) == []
    assert laws(dataclasses.replace(RIGHT, metrics={}, cdf=None, path=None), Facts()) == []


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
        (dataclasses.replace(RIGHT, cdf=RIGHT.cdf[:-1]), ["P-13", "P-12"]),
        (dataclasses.replace(RIGHT, cdf=(*RIGHT.cdf[:-1], ("c", 9, "INSERT"))), ["P-13", "P-13"]),
        (dataclasses.replace(RIGHT, cdf=(("b", 2, "update_preimage"), *RIGHT.cdf[1:])), ["P-12"]),
        (dataclasses.replace(RIGHT, cdf=(RIGHT.cdf[0], ("x", 2, "update_postimage"), *RIGHT.cdf[2:])), ["P-12"]),
    ],
    ids=[
        "row lost", "output rows", "matched updates", "deletes by source", "copied too many", "copies on path E",
        "changes on path B", "inserts without source", "more updates than rows", "insert image lost",
        "unknown change type", "pre-image of the new row", "post-image not in the table",
    ],
)  # fmt: skip
def test_a_wrong_number_breaks_its_law(outcome: Outcome, broken: list[str]) -> None:
    """The kind of the mismatch names the law of part 9.4."""
    assert laws(outcome) == broken


@pytest.mark.parametrize(("missing", "broken"), [("insert", ["P-9"]), ("update", ["P-9"]), ("delete", ["P-9"])])
def test_what_no_clause_does_is_not_done(missing: str, broken: list[str]) -> None:
    """P-9, from the clauses that the statement has."""
    present = frozenset(clause for clause in ALL_CLAUSES.clauses_present if clause[1] != missing)
    assert laws(RIGHT, Facts(clauses_present=present)) == broken


def test_rows_grow_only_by_inserts_and_shrink_only_by_deletes() -> None:
    """P-9 on the table itself, for engines without metrics."""
    quiet = dataclasses.replace(RIGHT, metrics={}, cdf=None)
    update_only = Facts(clauses_present=frozenset({("matched", "update")}))
    assert laws(dataclasses.replace(quiet, rows=RIGHT.rows * 2), update_only) == ["P-9"]
    assert laws(dataclasses.replace(quiet, rows=()), update_only) == ["P-9"]


def test_added_columns_are_null_in_old_rows() -> None:
    """With an evolved schema the feed is balanced in the new one (R-610); other changes of the schema are left out."""
    wider = Schema((*SCHEMA.columns, Field("new", types.INT)))

    def widen(rows: Any) -> Any:
        return tuple((*row[:2], None, *row[2:]) for row in rows)

    evolved = dataclasses.replace(RIGHT, schema=wider, rows=widen(RIGHT.rows), cdf=widen(RIGHT.cdf))
    assert laws(evolved) == []
    assert laws(dataclasses.replace(evolved, cdf=evolved.cdf[1:])) == ["P-13", "P-12"]
    assert laws(dataclasses.replace(RIGHT, schema=Schema(SCHEMA.columns[::-1]))) == []
