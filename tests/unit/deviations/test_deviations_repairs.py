"""Bug models that repair: known faults in an answer are put right, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reading_cases import MERGE, NAN_FOUND, UPSERT, WITH_NAN, case_of, judged_case, with_copies, with_old_row

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.deviations.bug_models.row_sides import exchanged
from mergecheck.harness.engine import Capabilities
from mergecheck.model.outcome import Feed, MergePath, Outcome
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.dialects import DATABRICKS, DELTA_RS, SPARK


@pytest.mark.parametrize(("x", "images"), [(0, [(0.0, 0)]), (1, [(-0.0, 0), (0.0, 1)])], ids=["whole-row", "one-cell"])
def test_an_update_between_zeros_is_dropped(x: int, images: list[tuple[float, int]]) -> None:
    """The feed shows as a pre-image the row that RETURNING gave and the table does not hold."""
    case = case_of(
        f"{MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET *",
        target={
            "schema": "k DOUBLE, x INT",
            "files": [[["-0.0", 0]]],
            "properties": {"delta.enableChangeDataFeed": "true"},
        },
        source={"schema": "k DOUBLE, x INT", "rows": [[0.0, x]]},
    )
    feed = ((0.0, x, "update_postimage"), *((*image, "update_preimage") for image in images))
    wrong = judged_case(case, rows=((-0.0, x),), cdf=feed)
    shown = Capabilities(metric_names=frozenset({"numTargetRowsUpdated"}))
    assert wrong.mismatches(shown)
    after = BUG_MODELS["a cell keeps its value if the new one differs in the sign of zeros only"].apply(wrong)
    assert after is not None
    assert after.mismatches(shown) == ()


@pytest.mark.parametrize(("y", "explained"), [(-0.0, True), (0.0, True), (1.0, False)])
def test_a_field_of_a_struct_keeps_its_zero(y: float, *, explained: bool) -> None:
    """DuckDB stores the fields of a struct apart, so one may be left as it was while the others change."""
    case = case_of(
        f"{MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET n = STRUCT(4 AS a, 0.0D AS y)",
        target={"schema": "k INT, n STRUCT<a: INT, y: DOUBLE>", "files": [[[1, {"a": 0, "y": "-0.0"}]]]},
        source={"schema": "k INT", "rows": [[1]]},
    )
    wrong = judged_case(case, rows=((1, (4, y)),))
    shown = Capabilities(metrics=False)
    after = BUG_MODELS["a cell keeps its value if the new one differs in the sign of zeros only"].apply(wrong)
    assert (after or wrong).mismatches(shown) == () if explained else (after or wrong).mismatches(shown)


def test_copies_of_a_row_are_filled_from_the_source_rows_that_match_it() -> None:
    """Each copy has the value of its own source row in the column that the merge adds; one copy is left."""
    sql = f"{MERGE} t.id <= s.id WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE".replace(
        "E I", "E WITH SCHEMA EVOLUTION I"
    )
    case = case_of(
        sql,
        target={"schema": "id INT", "rows": [[0], [1]]},
        source={"schema": "id INT, extra INT", "rows": [[0, 7], [0, 8]]},
    )
    allowed = judged_case(case, DELTA_RS)
    right = allowed.result
    assert isinstance(right, Outcome)
    metrics = {**right.metrics, "numTargetRowsCopied": 2, "numOutputRows": 2}
    shown = {name: getattr(right, name) for name in ("schema", "cdf", "committed", "path")}
    rows = ((0, 7), (0, 8))
    doubled = TableOutcome(**shown, rows=rows, metrics=metrics, num_records_added=2, num_records_removed=2)
    now = replace(allowed, result=doubled)
    for name in (
        "a copied row is written once for every source row that matches it",
        "added columns are filled from the source",
    ):
        after = BUG_MODELS[name].apply(now)
        assert after is not None
        now = after
    assert isinstance(now.result, Outcome)
    assert now.result.rows == right.rows == ((0, None),)


@pytest.mark.parametrize(
    ("found", "after"),
    [
        ([(1, 0), (2, 0)], [(2, 0), (1, 9)]),  # the wrong row instead of the right one
        ([(1, 9), (2, 0)], None),  # nothing is wrong
        ([(1, 9), (1, 0), (2, 0)], None),  # a row too many
        ([(1, 8), (2, 0)], None),  # another wrong row
    ],
)
def test_a_wrong_row_is_exchanged_only_if_it_stands_for_the_right_one(
    found: list[tuple[int, int]], after: list[tuple[int, int]] | None
) -> None:
    rows = exchanged(found, [(1, 9), (2, 0)], [((1, 0), (1, 9))], parse_schema("id INT, v INT"))
    assert rows == (None if after is None else tuple(after))


@pytest.mark.parametrize(
    ("lost", "known"),
    [([(2, 9)], True), ([(3, 7)], True), ([(2, 9), (3, 7)], False)],
    ids=["updated", "inserted", "both"],
)
def test_one_row_is_lost_for_each_unmatched_source_row(lost: list[tuple[int, int]], *, known: bool) -> None:
    """Of two written rows one stays."""
    sql = (
        f"{MERGE} t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN UPDATE SET v = 9"
    )
    now = judged_case(case_of(sql, source={"schema": "id INT, v INT", "rows": [[1, 5], [1, 6], [3, 7]]}))
    assert isinstance(now.result, TableOutcome)
    rows = tuple(row for row in now.result.rows if row not in lost)
    num_records = now.result.num_records_added - len(lost)
    wrong = replace(now, result=replace(now.result, rows=rows, num_records_added=num_records))
    after = BUG_MODELS["of a row of the table and an unmatched source row one may be lost"].apply(wrong)
    assert (after is not None and after.mismatches(Capabilities()) == now.mismatches(Capabilities())) is known


def test_a_lost_row_has_the_value_that_was_generated_for_it() -> None:
    """The feed has it: the reference's own value is an example, which another row may have."""
    sql = f"{MERGE} t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    target = {
        "schema": "id INT, n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1 HIGH WATER MARK 2)",
        "files": [[[1, 1], [2, 2]]],
        "properties": {"delta.enableChangeDataFeed": "true"},
    }
    now = judged_case(case_of(sql, target=target, source={"schema": "id INT", "rows": [[1], [1], [3], [4]]}))
    assert isinstance(now.result, TableOutcome)
    assert {(3, 5), (4, 6)} <= set(now.result.rows)
    changed = {(3, 5): (3, 6), (4, 6): (4, 5)}
    feed = tuple((*changed.get(row[:-1], row[:-1]), row[-1]) for row in now.result.cdf or ())
    rows = tuple(changed.get(row, row) for row in now.result.rows)
    right = replace(now, result=replace(now.result, rows=rows, cdf=feed))
    lost = tuple(row for row in rows if row != (3, 6))
    records = now.result.num_records_added - 1
    wrong = replace(now, result=replace(now.result, rows=lost, cdf=feed, num_records_added=records))
    after = BUG_MODELS["of a row of the table and an unmatched source row one may be lost"].apply(wrong)
    assert after is not None
    assert after.mismatches(Capabilities()) == right.mismatches(Capabilities())


@pytest.mark.parametrize(("number", "known"), [(4, True), (0, False), (3, False), (1002, False)])
def test_source_rows_count_twice_if_files_are_rewritten(number: int, *, known: bool) -> None:
    now = judged_case(case_of(UPSERT.replace("t.id = s.id", "t.id >= s.id AND t.id <= s.id")))
    assert isinstance(now.result, Outcome)
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": number}))
    after = BUG_MODELS["without keys to join by source rows count twice, or never"].apply(wrong)
    assert (after is not None) is known
    assert after is None or after.result == now.result


@pytest.mark.parametrize(
    ("on", "number", "known"),
    [("t.v <> t.v", 0, True), ("t.v <> t.v", 4, False), ("t.id = s.id", 0, False)],
    ids=["never", "twice", "a-row-matches"],
)
def test_source_rows_never_count_if_no_row_matches_and_nothing_is_inserted(
    on: str, number: int, *, known: bool
) -> None:
    now = judged_case(case_of(f"{MERGE} {on} WHEN MATCHED AND t.v > 9 THEN DELETE"))
    assert isinstance(now.result, Outcome)
    assert now.result.path is MergePath.C
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": number}))
    after = BUG_MODELS["if no row matches source rows count twice, or never"].apply(wrong)
    assert (after is not None) is known
    assert after is None or after.result == now.result


@pytest.mark.parametrize(
    ("source", "number", "known"),
    [
        ("(SELECT 1 AS id, 5 AS v)", 0, True),
        ("(SELECT 1 AS id, 5 AS v)", 2, False),
        ("(SELECT 1 AS id, v FROM source WHERE id = 1)", 0, False),
        ("source", 0, False),
    ],
    ids=["never", "twice-if-rows-are-only-inserted", "of-a-table", "table"],
)
def test_source_rows_of_constants_count_twice_or_never(source: str, number: int, *, known: bool) -> None:
    sql = f"MERGE INTO target t USING {source} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    now = judged_case(case_of(sql))
    assert isinstance(now.result, Outcome)
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": number}))
    after = BUG_MODELS["of a source of constants source rows count twice, or never"].apply(wrong)
    assert (after is not None) is known
    assert after is None or after.result == now.result


@pytest.mark.parametrize(
    ("row", "num_vectors", "known"),
    [(0, 0, True), (0, 1, False), (1, 0, False)],
    ids=["stays", "marked-all-the-same", "no-nan"],
)
def test_a_row_with_nan_stays_if_no_vector_marks_it(row: int, num_vectors: int, *, known: bool) -> None:
    right = judged_case(case_of(f"{NAN_FOUND} WHEN NOT MATCHED THEN INSERT *", **WITH_NAN))
    after = BUG_MODELS["if rows are marked in vectors rows with NaN stay"].apply(with_old_row(right, row, num_vectors))
    assert (after is not None) is known
    assert after is None or after.mismatches(Capabilities()) == right.mismatches(Capabilities())


@pytest.mark.parametrize(
    ("conditions", "vectors", "known"),
    [
        (("FALSE", "FALSE"), "true", True),
        (("FALSE", "CAST(NULL AS BOOLEAN)"), "true", True),
        (("FALSE", "FALSE"), "false", False),
        (("FALSE", "s.v > 99"), "true", False),
    ],
    ids=["never", "null", "files-rewritten", "by-values"],
)
def test_source_rows_of_a_merge_of_no_clause_never_count(
    conditions: tuple[str, str], vectors: str, *, known: bool
) -> None:
    """Only a merge that marks rows reads no source where the optimizer sees that no clause applies."""
    first, second = conditions
    sql = f"{MERGE} t.id = s.id WHEN MATCHED AND {first} THEN DELETE WHEN NOT MATCHED AND {second} THEN INSERT *"
    table = {"schema": "id INT, v INT", "files": [[[1, 1]]], "properties": {"delta.enableDeletionVectors": vectors}}
    now = judged_case(case_of(sql, target=table))
    assert isinstance(now.result, Outcome)
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": 0}))
    after = BUG_MODELS["if no clause can apply source rows never count"].apply(wrong)
    assert (after is not None) is known
    assert after is None or after.result == now.result


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        ("maxValues 9223372036854775807 of d, but the file holds 99999999999999999999", True),
        ("minValues -9.999999999999998E+19 of d, but the file holds -99999999999999999999", True),
        ("maxValues 5 of d, but the file holds 6", False),
        ("maxValues 9223372036854775807 of v, but the file holds 99999999999999999999", False),
        ("numRecords 3, but the file has 2 rows", False),
    ],
)
def test_a_decimal_bound_is_known_by_its_value_and_its_column(fault: str, *, known: bool) -> None:
    target = {
        "schema": "id INT, v INT, d DECIMAL(20,0)",
        "files": [[[1, 1, "99999999999999999999"], [2, 2, "-99999999999999999999"]]],
    }
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    now = judged_case(case_of(sql, target=target), file_faults=(fault,))
    after = BUG_MODELS["bounds of decimals are 64-bit integers or binary fractions"].apply(now)
    assert (after is not None) is known


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        ("nullCount 3 of m, which means all, but 1 values are not NULL", True),
        ("nullCount 3 of m, which means all, but 2 values are not NULL", False),
        ("nullCount 3 of a, which means all, but 1 values are not NULL", False),
        ("nullCount 0 of m, but 1 values are NULL", False),
    ],
)
def test_empty_maps_are_known_by_their_number_and_their_column(fault: str, *, known: bool) -> None:
    target = {
        "schema": "id INT, m MAP<STRING, INT>, a ARRAY<INT>",
        "files": [[[1, [], []], [2, None, None], [3, [["k", 1]], [1]]]],
    }
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND FALSE THEN DELETE"
    now = judged_case(case_of(sql, target=target), file_faults=(fault,))
    after = BUG_MODELS["empty maps count as NULL in the statistics of files with vectors"].apply(now)
    assert (after is not None) is known


_TWICE = "a deleted row counts once for every source row that matches it"
_DELETES = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def test_deletes_that_count_once_per_match_are_put_right() -> None:
    case = case_of(_DELETES, source={"schema": "id INT", "rows": [[1], [1], [1], [3]]})
    wrong = {"numTargetRowsDeleted": 3, "numTargetRowsMatchedDeleted": 3}
    right = judged_case(case)
    assert isinstance(right.result, Outcome)
    fault = "1 row ids are gone, but numTargetRowsDeleted 3"
    now = judged_case(case, metrics={**right.result.metrics, **wrong}, row_id_faults=(fault, "another"))
    after = BUG_MODELS[_TWICE].apply(now)
    assert after is not None
    assert isinstance(after.result, TableOutcome)
    assert after.result.metrics == right.result.metrics
    assert after.result.row_id_faults == ("another",)


def test_deletes_of_single_matches_are_left_alone() -> None:
    assert BUG_MODELS[_TWICE].apply(judged_case(case_of(_DELETES))) is None


_IN_ANY_FILE = "a copied row of any file is written once for every source row that matches it"
_BY_SOURCE = f"{MERGE} t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.v > 9 THEN DELETE"


@pytest.mark.parametrize(
    ("copies", "known"),
    [([(1, 1), (1, 1)], True), ([(1, 1)], False), ([(2, 2), (2, 2)], False), ([], False)],
    ids=["for-each-match", "too-few", "another-row", "none"],
)
def test_copies_beyond_the_first_are_taken_away(copies: list[tuple[int, int]], *, known: bool) -> None:
    """Rows, numbers, change rows and row ids all have them."""
    case = case_of(
        _BY_SOURCE,
        source={"schema": "id INT", "rows": [[1], [1], [1]]},
        target={
            "schema": "id INT, v INT",
            "files": [[[1, 1], [2, 2]]],
            "properties": {"delta.enableChangeDataFeed": "true"},
        },
    )
    right = judged_case(case, SPARK)
    assert isinstance(right.result, TableOutcome)
    number = len(copies)
    wrong = replace(
        with_copies(right.result, copies),
        cdf=tuple((*row, "insert") for row in copies),
        feed=Feed.NET,
        row_id_faults=(f"{2 + number} rows, but 2 different row ids", "another"),
    )
    after = BUG_MODELS[_IN_ANY_FILE].apply(replace(right, result=wrong))
    assert (after is not None) is known
    if after is not None:
        assert isinstance(after.result, TableOutcome)
        sorted_rows = tuple(sorted(after.result.rows))
        assert replace(after.result, rows=sorted_rows) == replace(
            right.result, feed=Feed.NET, row_id_faults=("another",)
        )


@pytest.mark.parametrize(
    ("feed", "left"),
    [
        ([("YQ==", 1, "delete"), ("YQ==", 1, "insert")], []),
        ([("YQ==", 1, "delete"), ("YQ==", 2, "insert")], None),
        ([(None, 1, "delete"), (None, 1, "insert")], None),
        ([("YQ==", 1, "delete"), ("YQ==", 1, "insert"), ("YQ==", 1, "insert")], [("YQ==", 1, "insert")]),
    ],
    ids=["the-same", "another-row", "no-bytes", "one-of-two"],
)
def test_unchanged_rows_with_bytes_leave_a_changelog(
    feed: list[tuple[str | None, int, str]], left: list[tuple[str, int, str]] | None
) -> None:
    case = case_of(
        target={"schema": "id BINARY, v INT", "files": []}, source={"schema": "id BINARY, v INT", "rows": []}
    )
    now = judged_case(case, cdf=tuple(feed), feed=Feed.NET)
    after = BUG_MODELS["the changelog tells unchanged rows with a BINARY as deleted and inserted"].apply(now)
    assert (after is None) is (left is None)
    assert after is None or (isinstance(after.result, Outcome) and after.result.cdf == tuple(left or ()))


@pytest.mark.parametrize(
    ("feed", "left"),
    [
        ([(0.0, "delete"), (-0.0, "delete"), (0.0, "insert"), (-0.0, "insert")], []),
        ([(0.0, "delete"), (-0.0, "insert")], None),
        ([(0.0, "delete"), (0.0, "insert")], None),
        ([(1.0, "delete"), (1.0, "insert"), (0.0, "delete"), (-0.0, "insert")], None),
    ],
    ids=["the-same", "another-row", "one-sign", "no-zero"],
)
def test_unchanged_rows_with_zeros_leave_a_changelog(feed: list[tuple[float, str]], left: list[Any] | None) -> None:
    case = case_of(target={"schema": "id DOUBLE", "files": []}, source={"schema": "id DOUBLE", "rows": []})
    now = judged_case(case, cdf=tuple(feed), feed=Feed.NET)
    name = "the changelog tells unchanged rows as deleted and inserted if they differ in the sign of zeros"
    after = BUG_MODELS[name].apply(now)
    assert (after is None) is (left is None)
    assert after is None or (isinstance(after.result, Outcome) and after.result.cdf == tuple(left or ()))


@pytest.mark.parametrize(("num_files", "known"), [(2, True), (1, False)])
def test_copies_in_a_partition_of_their_own_have_a_file(num_files: int, *, known: bool) -> None:
    """A row moves to another partition, and its copy stays in the old one: a condition of its second match is NULL."""
    sql = f"{MERGE} t.id = s.id WHEN MATCHED AND s.v = 5 THEN UPDATE SET v = 9"
    target = {
        "schema": "id INT, v INT",
        "partition_by": ["v"],
        "files": [[[1, 1]]],
        "layout": {"statistics": "none"},
    }
    case = case_of(sql, target=target, source={"schema": "id INT, v INT", "rows": [[1, 5], [1, None]]})
    right = judged_case(case, DATABRICKS)
    refused = judged_case(case)
    assert isinstance(right.result, TableOutcome)
    wrong = with_copies(right.result, [(1, 1)])
    wrong = replace(wrong, metrics={**wrong.metrics, "numTargetFilesAdded": num_files}, num_files_added=num_files)
    after = BUG_MODELS["a match whose conditions give NULL does not count"].apply(replace(refused, result=wrong))
    assert after is not None
    assert (after.mismatches(Capabilities()) == right.mismatches(Capabilities())) is known
