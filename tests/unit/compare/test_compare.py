"""The comparator's answers on outcomes written by hand."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.metrics import HISTORY_METRICS, bound_text
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import LINE_WIDTH, LONGEST_CELL, cell_text, row_text, shown_cell, shown_row
from mergecheck.model.outcome import Bound, MergePath, Outcome, Prediction
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import ArrayType, DecimalType, Field, MapType, Schema, StructType
from mergecheck.model.types.ddl import parse_schema

ID_NAME = Schema((Field("id", types.INT), Field("name", types.STRING), Field("n", types.BIGINT)))
EVERYTHING = Capabilities()
NO_LOG = (Check.LOG, Check.RESULT, Check.TABLE)
"""The checks of an outcome without a log and without the command's row."""


def prediction(
    rows: Any = (),
    *,
    schema: Any = ID_NAME,
    metrics: Any = None,
    cdf: Any = None,
    committed: Any = True,
    path: Any = MergePath.D,
) -> Any:
    return Prediction(schema=schema, rows=rows, metrics=metrics or {}, cdf=cdf, committed=committed, path=path)


def outcome(
    rows: Any = (),
    *,
    schema: Any = ID_NAME,
    metrics: Any = None,
    cdf: Any = None,
    committed: Any = True,
    path: Any = MergePath.D,
) -> Any:
    return Outcome(schema=schema, rows=rows, metrics=metrics or {}, cdf=cdf, committed=committed, path=path)


def found(wanted: Any, got: Any, capabilities: Any = EVERYTHING) -> Any:
    return [(m.check, m.kind) for m in compare_outcome(wanted, got, capabilities=capabilities).mismatches]


def test_rows_in_any_order_agree() -> None:
    """P-1: rows are compared as a multiset, since their order is not defined (R-304)."""
    rows = ((1, "a", 1), (2, None, 2), (1, "a", 1))
    assert found(prediction(rows), outcome(rows[::-1])) == []


def test_a_row_with_one_other_cell_is_a_changed_row() -> None:
    """A row that agrees in most cells is shown once, with the cell that differs."""
    (mismatch,) = compare_outcome(
        prediction(((1, "a", 1), (2, "b", 2))), outcome(((2, "c", 2), (1, "a", 1))), capabilities=EVERYTHING
    ).mismatches
    assert mismatch.lines == (
        "1 row differs from the reference",
        "~ name: reference 'b', engine 'c'  in (2, 'b', 2)",
    )


def test_unlike_rows_are_missing_and_extra() -> None:
    """Rows without enough in common are not forced into a pair."""
    assert found(prediction(((1, "a", 1),)), outcome(((2, "b", 2),))) == [
        (Check.ROWS, "missing_rows"),
        (Check.ROWS, "extra_rows"),
    ]


def test_columns_in_another_order_are_one_difference() -> None:
    """Cells are held against the cells of their column, so that a wrong order hides no wrong cell, and makes none."""
    wanted, turned = parse_schema("a INT, b STRING"), parse_schema("b STRING, a INT")
    answer = prediction(((1, "x"),), schema=wanted)
    assert found(answer, outcome((("x", 1),), schema=turned)) == [(Check.SCHEMA, "column_order")]
    assert found(answer, outcome((("y", 1),), schema=turned)) == [
        (Check.SCHEMA, "column_order"),
        (Check.ROWS, "changed_rows"),
    ]
    compared = compare_outcome(answer, outcome((("y", 1),), schema=turned), capabilities=EVERYTHING)
    assert compared.mismatches[1].lines[1] == "~ b: reference 'x', engine 'y'  in (1, 'x')"


def test_columns_of_one_name_are_compared_by_position() -> None:
    """The right one is unknown, so none stands for another."""
    wanted, turned = parse_schema("a INT, b INT, a INT"), parse_schema("a INT, a INT, b INT")
    got = found(prediction(((1, 2, 1),), schema=wanted), outcome(((1, 9, 2),), schema=turned))
    assert (Check.ROWS, "missing_rows") in got


def test_each_side_is_read_by_its_own_types() -> None:
    """A map and an array of its entries look alike as Python values."""
    entries = ((("k", 1),),)
    wanted, got = parse_schema("a MAP<STRING, INT>"), parse_schema("a ARRAY<STRUCT<k: STRING, v: INT>>")
    differing = found(prediction((entries,), schema=wanted), outcome((entries,), schema=got))
    assert {check for check, _ in differing} == {Check.SCHEMA, Check.ROWS}


def test_rows_of_another_width_are_not_compared_cell_by_cell() -> None:
    """The column of a cell is unknown."""
    narrow = parse_schema("a INT")
    compared = compare_outcome(
        prediction(((1, "x"), (2, "y")), schema=parse_schema("a INT, b STRING")),
        outcome(((1,),), schema=narrow),
        capabilities=EVERYTHING,
    )
    widths = [mismatch.lines for mismatch in compared.mismatches if mismatch.kind == "row_width"]
    assert widths == [("reference: 2 rows of 2 columns", "engine: 1 row of 1 column")]


@pytest.mark.parametrize(
    ("bound", "text"), [(Bound(3, 3), "3"), (Bound(1, 4), "1 to 4"), (Bound(1, None), "at least 1")]
)
def test_bounds_as_text(bound: Any, text: Any) -> None:
    assert bound_text(bound) == text


def test_long_differences_are_cut() -> None:
    """A mismatch is for a person: few lines, each of a terminal's width, and the count of the rest."""
    rows = tuple((i, "x" * 200, i) for i in range(30))
    (mismatch,) = compare_outcome(prediction(rows), outcome(()), capabilities=EVERYTHING).mismatches
    assert (len(mismatch.lines), mismatch.lines[0], mismatch.lines[-1]) == (
        5,
        "30 rows of the reference are missing",
        "  and 27 more",
    )
    assert max(map(len, mismatch.lines)) <= LINE_WIDTH
    (mismatch,) = compare_outcome(prediction(rows[:4]), outcome(()), capabilities=EVERYTHING).mismatches
    assert mismatch.lines[-1] == "  and 1 more"


def test_change_rows_pair_only_within_a_change_type() -> None:
    """P-2: an image that carries the wrong type is not a changed row."""
    wanted, got = ((1, "a", 1, "insert"),), ((1, "a", 1, "delete"),)
    assert found(prediction(cdf=wanted), outcome(cdf=got)) == [
        (Check.CDF, "missing_rows"),
        (Check.CDF, "extra_rows"),
    ]


@pytest.mark.parametrize(
    ("wanted", "got", "kind"), [((), None, "no_cdf"), (None, (), "spurious_cdf"), (None, None, None)]
)
def test_change_feed_on_and_off(wanted: Any, got: Any, kind: Any) -> None:
    """A feed is shown when it is on, and only then (R-601)."""
    assert found(prediction(cdf=wanted), outcome(cdf=got)) == ([(Check.CDF, kind)] if kind else [])


def test_what_an_engine_cannot_show_is_unsupported() -> None:
    """A check that cannot be made never counts as passed."""
    compared = compare_outcome(
        prediction(((1, "a", 1),), metrics={"numOutputRows": Bound(1, 1)}, cdf=()),
        outcome(committed=None, path=None),
        capabilities=Capabilities(rows=False, schema=False, metrics=False, cdf=False),
    )
    assert (compared.mismatches, set(compared.unsupported)) == (
        (),
        {
            *(Check.ROWS, Check.SCHEMA, Check.METRICS, Check.CDF, Check.COMMIT, Check.PATH),
            *(Check.LOG, Check.RESULT, Check.TABLE),
        },
    )


def test_metrics_that_an_engine_does_not_report_are_named() -> None:
    """The others are held; the check counts as not fully made, and not as made at all where there are none."""
    some = Capabilities(metric_names=frozenset({"numSourceRows"}))
    wanted = prediction(metrics={"numOutputRows": Bound(1, 1), "numSourceRows": Bound(1, 1)})
    compared = compare_outcome(wanted, outcome(metrics={"numSourceRows": 1}), capabilities=some)
    assert (compared.mismatches, compared.unsupported, compared.unsupported_metrics) == (
        (),
        (Check.METRICS, *NO_LOG),
        ("numOutputRows",),
    )
    none = compare_outcome(wanted, outcome(), capabilities=dataclasses.replace(some, metrics=False))
    assert (none.unsupported, none.unsupported_metrics) == ((Check.METRICS, *NO_LOG), ())


def test_metrics_are_held_within_their_bounds() -> None:
    """P-3: bounds are inclusive (R-542), and an unbounded high end allows everything above the low one."""
    bounds = {"numTargetFilesAdded": Bound(1, 3), "executionTimeMs": Bound(0, None)}
    assert found(prediction(metrics=bounds), outcome(metrics={"numTargetFilesAdded": 3, "executionTimeMs": 9})) == []
    assert found(prediction(metrics=bounds), outcome(metrics={"numTargetFilesAdded": 4, "executionTimeMs": 9})) == [
        (Check.METRICS, "numTargetFilesAdded")
    ]


def test_a_predicted_metric_must_be_reported() -> None:
    """An engine that claims metrics cannot leave one out, except where nothing is committed (R-502)."""
    wanted = prediction(metrics={"numOutputRows": Bound(0, 0)}, committed=False)
    assert found(wanted, outcome(metrics={"numSourceRows": 0}, committed=False)) == [(Check.METRICS, "numOutputRows")]
    assert found(wanted, outcome(committed=False)) == []


def test_an_engine_of_exact_names_reports_the_22() -> None:
    """R-501: none of the 22 is absent, and there is no other."""
    exact = Capabilities(exact_metric_names=True)
    all_of_them = dict.fromkeys(HISTORY_METRICS, 0)
    assert len(HISTORY_METRICS) == 22
    assert found(prediction(), outcome(metrics=all_of_them), exact) == []
    assert found(prediction(), outcome(metrics={**all_of_them, "numRows": 1}), exact) == [
        (Check.METRICS, "unknown_metric")
    ]
    del all_of_them["numSourceRows"]
    assert found(prediction(), outcome(metrics=all_of_them), exact) == [(Check.METRICS, "numSourceRows")]


def test_commit_and_path() -> None:
    """Whether a version is created (R-732) and which path ran (R-402) are observables."""
    assert found(prediction(committed=False, path=MergePath.C), outcome()) == [
        (Check.COMMIT, "spurious_commit"),
        (Check.PATH, "path"),
    ]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ((Field("n", types.INT), Field("id", types.INT)), "column_order"),
        ((Field("ID", types.INT), Field("n", types.INT)), "column_names"),
        ((Field("z", types.INT), Field("n", types.INT)), "column_names"),
        ((Field("id", types.BIGINT), Field("n", types.INT)), "column_types"),
        ((Field("id", types.INT, nullable=False), Field("n", types.INT)), "nullability"),
        ((Field("id", types.INT, default="1"), Field("n", types.INT)), "column_values"),
        ((Field("id", types.INT), Field("n", types.INT, generated="id")), "column_values"),
    ],
)
def test_schema_differences(columns: Any, kind: Any) -> None:
    """Names in order and letter by letter, types, NOT NULL, defaults and generation expressions are compared."""
    wanted = Schema((Field("id", types.INT), Field("n", types.INT)))
    assert found(prediction(schema=wanted), outcome(schema=Schema(columns))) == [(Check.SCHEMA, kind)]


@pytest.mark.parametrize(
    ("wanted", "got", "line"),
    [
        ("a INT NOT NULL", "a INT", "a: reference NOT NULL, engine may be NULL"),
        ("a INT", "a INT NOT NULL", "a: reference may be NULL, engine NOT NULL"),
        ("a INT DEFAULT 1", "a INT", "a: reference DEFAULT 1, engine no DEFAULT"),
        ("a INT", "a INT DEFAULT 1", "a: reference no DEFAULT, engine DEFAULT 1"),
        ("a INT", "a BIGINT", "a: reference INT, engine BIGINT"),
    ],
)
def test_lines_of_schema_differences(wanted: Any, got: Any, line: Any) -> None:
    """The columns that each side declares."""
    answer = prediction(schema=parse_schema(wanted))
    (mismatch,) = compare_outcome(answer, outcome(schema=parse_schema(got)), capabilities=EVERYTHING).mismatches
    assert mismatch.lines == (line,)


@pytest.mark.parametrize(("number", "shown"), [(5, 5), (6, 6), (8, 6)])
def test_long_differences_of_schemas_are_cut(number: int, shown: int) -> None:
    """Five columns, and the count of the rest."""
    wanted, got = (parse_schema(", ".join(f"c{i} {word}" for i in range(number))) for word in ("INT", "BIGINT"))
    (mismatch,) = compare_outcome(prediction(schema=wanted), outcome(schema=got), capabilities=EVERYTHING).mismatches
    assert len(mismatch.lines) == shown
    rest = {5: [], 6: ["and 1 more column"], 8: ["and 3 more columns"]}
    assert [line for line in mismatch.lines if "more column" in line] == rest[number]


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, types.INT, "NULL"),
        ("", types.STRING, "''"),
        ("it's\n\u200b", types.STRING, "'it\\'s\\n\\u200b'"),
        (True, types.BOOLEAN, "TRUE"),
        (1, types.INT, "1"),
        (1.0, types.DOUBLE, "1.0"),
        (-0.0, types.DOUBLE, "-0.0"),
        (float("nan"), types.DOUBLE, "NaN"),
        (Decimal("1.50"), DecimalType(3, 2), "1.50BD"),
        (b"\x00\xff", types.BINARY, "X'00FF'"),
        (dt.date(1, 1, 1), types.DATE, "0001-01-01"),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), types.TIMESTAMP, "2020-01-01 00:00:00Z"),
        (dt.datetime(2020, 1, 1, microsecond=1), types.TIMESTAMP_NTZ, "2020-01-01 00:00:00.000001"),  # noqa: DTZ001 - no zone is the point
        ((None, "b"), StructType((Field("a", types.INT), Field("b", types.STRING))), "{a: NULL, b: 'b'}"),
        ((1, None), ArrayType(types.INT), "[1, NULL]"),
        ((("k", 1),), MapType(types.STRING, types.INT), "map('k' -> 1)"),
    ],
)
def test_cells_as_text(value: Any, data_type: Any, text: Any) -> None:
    """Cells read like Spark's literals and never blur a difference that the comparator sees."""
    assert cell_text(value, data_type) == text


@pytest.mark.parametrize(
    ("value", "data_type", "ends"),
    [
        ("x" * 20_000_000, types.STRING, "x… (20,000,000 characters)"),
        (b"\xff" * 1_000, types.BINARY, "F… (1,000 bytes)"),
        ((1,) * 1_000, ArrayType(types.INT), "1,… (3,000 characters)"),
        ("x" * LONGEST_CELL, types.STRING, "x'"),
    ],
)
def test_a_long_cell_is_cut_on_a_page_and_its_length_is_shown(value: Any, data_type: Any, ends: str) -> None:
    """The rest of the page stays readable; JSON has the whole value."""
    text = shown_cell(value, data_type)
    assert text.endswith(ends)
    assert len(text) < LONGEST_CELL + 30


def test_rows_wider_than_their_schema_are_still_shown() -> None:
    """A broken engine's row must not break the report."""
    assert shown_row((1, "a", 2, "more"), ID_NAME) == "(1, 'a', 2, 'more')"
    assert row_text((1, "a", 2, "more"), ID_NAME) == "(1, 'a', 2, 'more')"
