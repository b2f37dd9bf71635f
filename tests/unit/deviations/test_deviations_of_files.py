"""Bug models that depend on the files of a table: on their statistics, and on the types that they were written with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from reading_cases import MERGE, case_of, judged_case, with_old_row

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.deviations.bug_models.judged import Judged
from mergecheck.harness.engine import Capabilities
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_DOUBLED = "a match whose conditions give NULL does not count"
_OLDER_DECIMAL = {"widened_columns": {"x": "DECIMAL(9,2)"}}
_TOO_LARGE = "a constant that does not fit the numbers of an older DECIMAL cannot be read"


def _judged(target: dict[str, Any], source: dict[str, Any], sql: str, result: TableOutcome | Rejection) -> Judged:
    document = {"format_version": 1, "id": "c", "target": target, "source": source, "sql": f"MERGE INTO target t {sql}"}
    case = case_from_json(document, where="test")
    return Judged(given=case, case=case, reference=evaluate(case), result=result)


@pytest.mark.parametrize(
    ("statistics", "rows", "explained"),
    [
        ("none", ((1, 4), (2, 5), (2, 1)), True),
        ("alternate", ((1, 4), (2, 5), (2, 1)), True),
        ("counts", ((1, 4), (2, 5), (2, 1)), False),
        ("none", ((1, 4), (2, 5), (2, 5)), False),
        ("none", ((1, 4), (2, 5)), False),
    ],
    ids=["no-statistics", "none-for-the-first-file", "counted", "another-row", "one-row"],
)
def test_a_row_is_doubled_where_the_log_counts_no_rows(
    statistics: str, rows: tuple[tuple[int, int], ...], *, explained: bool
) -> None:
    """The match that is not counted copies the row beside the one that updates it."""
    metrics = {"numTargetRowsCopied": len(rows) - 1, "numOutputRows": len(rows), "numTargetRowsUpdated": 1}
    target = {"schema": "id INT, v INT", "files": [[[1, 4], [2, 1]]], "layout": {"statistics": statistics}}
    source = {"schema": "id INT, v INT", "rows": [[2, None], [2, 5]]}
    now = _judged(
        target,
        source,
        "USING source s ON t.id = s.id WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = s.v",
        TableOutcome(
            schema=parse_schema("id INT, v INT"),
            rows=rows,
            metrics=metrics,
            cdf=None,
            committed=True,
            num_records_added=len(rows),
            num_records_removed=2,
        ),
    )
    after = BUG_MODELS[_DOUBLED].apply(now)
    repaired = after is not None and isinstance(after.reference.answer, Prediction)
    assert repaired is explained
    if after is not None and explained:
        assert isinstance(after.result, TableOutcome)
        assert after.result.rows == ((1, 4), (2, 5))
        assert after.result.metrics["numTargetRowsCopied"] == 1


@pytest.mark.parametrize(
    ("constant", "error", "layout", "known"),
    [
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {"widened_columns": {"x": "DECIMAL(9,2)"}}, True),
        ("9999999.99", "FAILED_READ_FILE.NO_HINT", {"widened_columns": {"x": "DECIMAL(9,2)"}}, False),
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {}, False),
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {"widened_columns": {"v": "TINYINT"}}, False),
        ("27730954.46", "INTERNAL_ERROR", {"widened_columns": {"x": "DECIMAL(9,2)"}}, False),
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {**_OLDER_DECIMAL, "string_type": "string"}, False),
    ],
    ids=["too-large", "fits", "never-widened", "another-column", "another-error", "stored-as-integers"],
)
def test_a_file_cannot_be_read_if_a_constant_does_not_fit_it(
    constant: str, error: str, layout: dict[str, Any], *, known: bool
) -> None:
    now = _judged(
        {
            "schema": "v INT, x DECIMAL(10,2)",
            "files": [[[1, "5.00"]]],
            "layout": {"string_type": "large_string", **layout},
        },
        {"schema": "v INT", "rows": [[1]]},
        f"USING source s ON t.v = s.v AND t.x <= {constant} WHEN MATCHED THEN DELETE",
        Rejection(error_class=error, message="", unchanged=True),
    )
    after = BUG_MODELS[_TOO_LARGE].apply(now)
    assert (after is not None) is known


def _with_rows_left(case: Case, ids: set[int]) -> Judged:
    """Hold an answer in which a merge that deletes has left rows against the reference."""
    now = judged_case(case)
    assert isinstance(now.result, TableOutcome)
    return replace(now, result=replace(now.result, rows=tuple(row for row in case.target.rows if row[0] in ids)))


_SMALL_AND_LARGE = [[[1, "0.01"], [2, "5.00"]]]


@pytest.mark.parametrize(
    ("condition", "files", "layout", "unread"),
    [
        ("t.x <= 27730954.46", [[[1, "5.00"]], [[2, "5.00"]]], {}, {1}),
        ("27730954.46 >= t.x", [[[1, "5.00"]], [[2, "5.00"]]], {}, {1}),
        ("t.x >= -42949672.90", _SMALL_AND_LARGE, {"row_group_rows": 1}, {1}),
        ("t.x >= -42949672.90", _SMALL_AND_LARGE, {"row_group_rows": 1, "vectors": "inline"}, {1}),
        ("t.x >= -42949672.90", _SMALL_AND_LARGE, {}, set()),
        ("t.x <= 9999999.99", [[[1, "5.00"]]], {}, set()),
        ("t.x <= 27730954.46", [[[1, "27730954.46"]]], {}, set()),
        ("t.x <= 27730954.46", [[[1, "5.00"]]], {"string_type": "large_string"}, set()),
        ("t.x <= s.x", [[[1, "5.00"]]], {}, set()),
    ],
    ids=[
        "every-second-file",
        "constant-first",
        "one-row-group",
        "one-row-group-beside-deleted-rows",
        "a-row-fulfils-it",
        "fits",
        "no-older-file",
        "stored-as-bytes",
        "no-constant",
    ],
)
def test_row_groups_are_not_read_if_none_of_their_rows_fulfils_a_comparison_with_the_cut_constant(
    condition: str, files: list[Any], layout: dict[str, Any], unread: set[int]
) -> None:
    case = case_of(
        f"{MERGE} t.id = s.id AND {condition} WHEN MATCHED THEN DELETE",
        target={
            "schema": "id INT, x DECIMAL(10,2)",
            "files": files,
            "properties": {"delta.enableDeletionVectors": "true"},
            "layout": {**_OLDER_DECIMAL, **layout},
        },
        source={"schema": "id INT, x DECIMAL(10,2)", "rows": [[1, "7.00"], [2, "7.00"]]},
    )
    after = BUG_MODELS["rows of an older DECIMAL are not read by a constant that does not fit"].apply(
        _with_rows_left(case, unread)
    )
    assert (after is not None) is bool(unread)
    if after is not None:
        assert isinstance(after.result, TableOutcome)
        assert isinstance(after.reference.answer, Prediction)
        assert after.result.rows == after.reference.answer.rows == ()
        assert after.reference.answer.metrics["numTargetRowsDeleted"].low == len(case.target.rows) - len(unread)


def test_rows_of_an_older_decimal_are_not_read_by_a_merge_that_rewrites_files() -> None:
    """Without vectors such conditions are not pushed down."""
    case = case_of(
        f"{MERGE} t.id = s.id AND t.x <= 27730954.46 WHEN MATCHED THEN DELETE",
        target={"schema": "id INT, x DECIMAL(10,2)", "files": [[[1, "5.00"]]], "layout": _OLDER_DECIMAL},
        source={"schema": "id INT", "rows": [[1]]},
    )
    bug_model = BUG_MODELS["rows of an older DECIMAL are not read by a constant that does not fit"]
    assert bug_model.apply(_with_rows_left(case, {1})) is None


_TENTH = 0.10000000149011612  # as a FLOAT, 0.1


@pytest.mark.parametrize(
    ("merge", "layout", "unread"),
    [
        ("t.id = s.id AND t.x > 0.1D WHEN MATCHED THEN DELETE", {}, {1}),
        (f"t.id = s.id AND t.x = {_TENTH}D WHEN MATCHED THEN DELETE", {}, {1}),
        ("t.id = s.id WHEN MATCHED AND t.x > 0.1D THEN DELETE", {}, {1}),
        ("t.id = s.id AND t.x > 0.1D WHEN MATCHED THEN DELETE", {"statistics": "counts"}, set()),
        ("t.id = s.id AND t.x >= 0.1D WHEN MATCHED THEN DELETE", {}, set()),
        ("t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.x > 0.1D THEN DELETE", {}, set()),
    ],
    ids=["greater", "equal", "in-the-clause", "no-bounds", "right-either-way", "not-by-source"],
)
def test_files_are_skipped_by_bounds_of_floats(merge: str, layout: dict[str, Any], unread: set[int]) -> None:
    case = case_of(
        f"{MERGE} {merge}",
        target={
            "schema": "id INT, x DOUBLE",
            "files": [[[1, _TENTH]], [[2, _TENTH]]],
            "layout": {"widened_columns": {"x": "FLOAT"}, **layout},
        },
        source={"schema": "id INT", "rows": [[1], [2]]},
    )
    after = BUG_MODELS["files of an older FLOAT are skipped by its bounds"].apply(_with_rows_left(case, unread))
    assert (after is not None) is bool(unread)
    if after is not None:
        assert isinstance(after.result, TableOutcome)
        assert isinstance(after.reference.answer, Prediction)
        assert after.result.rows == after.reference.answer.rows == ()


@pytest.mark.parametrize(
    ("files", "vectors", "right"),
    [
        ([[[1, "5.00"], [2, "5.00"]]], "none", {"numTargetFilesRemoved": 1}),
        ([[[1, "5.00"], [3, "5.00"]]], "none", {"numTargetDeletionVectorsAdded": 1}),
        (
            [[[1, "5.00"], [3, "5.00"]]],
            "inline",
            dict.fromkeys(
                (
                    "numTargetDeletionVectorsAdded",
                    "numTargetDeletionVectorsUpdated",
                    "numTargetDeletionVectorsRemoved",
                ),
                1,
            ),
        ),
    ],
    ids=["a-whole-file", "a-new-vector", "another-vector"],
)
def test_updated_rows_of_an_older_decimal_stay(files: list[Any], vectors: str, right: dict[str, int]) -> None:
    """They are there twice; files and vectors count the rows of the scan."""
    case = case_of(
        f"{MERGE} t.id = s.id WHEN MATCHED AND t.x <= 27730954.46 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        target={
            "schema": "id INT, x DECIMAL(10,2)",
            "files": files,
            "properties": {"delta.enableDeletionVectors": "true"},
            "layout": {**_OLDER_DECIMAL, "vectors": vectors},
        },
        source={"schema": "id INT, x DECIMAL(10,2)", "rows": [[1, "7.00"], [2, "7.00"]]},
    )
    now = judged_case(case)
    assert isinstance(now.result, TableOutcome)
    assert {name: now.result.metrics[name] for name in right} == right
    old = [row for row in case.target.rows if row[0] != 3]
    found = replace(
        now.result,
        rows=(*now.result.rows, *old),
        metrics={**now.result.metrics, **dict.fromkeys(right, 0), "numTargetBytesRemoved": 0},
        num_records_removed=now.result.num_records_removed - len(old),
    )
    after = BUG_MODELS["if rows are marked in vectors rows of an older DECIMAL stay"].apply(replace(now, result=found))
    assert after is not None
    assert after.mismatches(Capabilities(metric_names=frozenset(found.metrics))) == ()


_SOURCE_ROW = "if rows are marked in vectors rows that source rows with NaN or a zero match stay"
_NAN_SOURCE = {
    "target": {
        "schema": "id INT, v INT",
        "files": [[[1, 1], [2, 2], [3, 3]]],
        "properties": {"delta.enableDeletionVectors": "true"},
    },
    "source": {"schema": "id INT, x DOUBLE", "rows": [[1, "NaN"], [2, 8.0]]},
}
_INSERT = " WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"


@pytest.mark.parametrize(
    ("value", "condition", "row", "known"),
    [("NaN", "> 9", 0, True), ("-0.0", "= 0", 0, True), ("NaN", "> 9", 1, False)],
    ids=["nan", "zero", "neither"],
)
def test_a_row_that_an_unread_source_row_matches_stays(value: str, condition: str, row: int, *, known: bool) -> None:
    source = {"schema": "id INT, x DOUBLE", "rows": [[1, value], [2, 8.0]]}
    clauses = f"WHEN MATCHED AND s.x {condition} THEN UPDATE SET v = 9{_INSERT}"
    case = case_of(f"{MERGE} t.id = s.id {clauses}", target=_NAN_SOURCE["target"], source=source)
    right = judged_case(case)
    after = BUG_MODELS[_SOURCE_ROW].apply(with_old_row(right, row))
    assert (after is not None) is known
    assert after is None or after.mismatches(Capabilities()) == right.mismatches(Capabilities())


@pytest.mark.parametrize(
    ("clauses", "error", "known"),
    [
        ("MATCHED AND s.x > 9 THEN UPDATE SET v = 9", "DELTA_NUM_RECORDS_MISMATCH", True),
        ("MATCHED AND s.x > 9 THEN UPDATE SET v = 9", "INTERNAL_ERROR", False),
        ("MATCHED AND s.x < 9 THEN UPDATE SET v = 9", "DELTA_NUM_RECORDS_MISMATCH", False),
        ("MATCHED AND s.x > 9 THEN DELETE", "DELTA_NUM_RECORDS_MISMATCH", False),
        (f"MATCHED AND s.x > 9 THEN UPDATE SET v = 9{_INSERT}", "DELTA_NUM_RECORDS_MISMATCH", False),
    ],
    ids=["more-rows-are-added", "another-error", "no-nan", "as-many-are-deleted", "with-insert"],
)
def test_a_merge_that_would_double_a_row_is_refused(clauses: str, error: str, *, known: bool) -> None:
    right = judged_case(case_of(f"{MERGE} t.id = s.id WHEN {clauses}", **_NAN_SOURCE))
    refused = Rejection(error_class=error, message="", unchanged=True)
    after = BUG_MODELS[_SOURCE_ROW].apply(replace(right, result=refused))
    assert (after is not None and after.mismatches(Capabilities()) == ()) is known
