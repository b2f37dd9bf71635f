"""A change feed without what stayed."""

from __future__ import annotations

from mergecheck.harness.compare.net_changes import net_changes
from mergecheck.model.types.ddl import parse_schema

SCHEMA = parse_schema("k INT, v DOUBLE")
NAN = float("nan")


def test_an_update_is_a_row_that_is_gone_and_a_new_one() -> None:
    feed = ((1, 1.0, "update_preimage"), (1, 2.0, "update_postimage"), (3, 3.0, "insert"), (4, 4.0, "delete"))
    assert sorted(net_changes(feed, SCHEMA)) == [
        *((1, 1.0, "delete"), (1, 2.0, "insert")),
        *((3, 3.0, "insert"), (4, 4.0, "delete")),
    ]


def test_of_equal_rows_neither_is_told() -> None:
    feed = ((1, NAN, "update_preimage"), (1, NAN, "update_postimage"), (1, 0.0, "delete"), (1, -0.0, "insert"))
    assert net_changes(feed, SCHEMA) == ((1, 0.0, "delete"), (1, -0.0, "insert"))


def test_equal_rows_are_counted() -> None:
    feed = ((1, 1.0, "delete"), (1, 1.0, "delete"), (1, 1.0, "insert"))
    assert net_changes(feed, SCHEMA) == ((1, 1.0, "delete"),)
