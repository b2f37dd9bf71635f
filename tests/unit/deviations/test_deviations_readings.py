"""Readings: what an engine does instead, as other statements, other tables, and answers put right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.readings.catalogue import READINGS
from mergecheck.harness.deviations.readings.judged import Judged, judged
from mergecheck.harness.deviations.readings.rows import exchanged
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.reference import evaluate
from mergecheck.reference.case.case_file import case_from_json
from mergecheck.reference.outcome import Outcome, Prediction, Rejection
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case

_UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def _case(sql: str = _UPSERT, **changes: Any) -> Case:
    document = {
        "format_version": 1,
        "id": "c",
        "target": {"schema": "id INT, v INT", "files": [[[1, 1], [2, 2]]]},
        "source": {"schema": "id INT, v INT", "rows": [[1, 5], [3, 6]]},
        "sql": sql,
        **changes,
    }
    return case_from_json(document, where="test")


def _judged(case: Case, **wrong: Any) -> Judged:
    """Hold the reference's own answer, with something wrong in it, against the reference."""
    reference = evaluate(case)
    result = answered(reference.answer)
    assert isinstance(result, Outcome | Rejection)
    if isinstance(result, Outcome):
        copied, updated = result.metrics["numTargetRowsCopied"], result.metrics["numTargetRowsUpdated"]
        counts = {
            "num_records_added": result.metrics["numOutputRows"],
            "num_records_removed": copied + updated + result.metrics["numTargetRowsDeleted"],
        }
        shown = {name: getattr(result, name) for name in ("schema", "rows", "metrics", "cdf", "committed", "path")}
        result = TableOutcome(**{**shown, **counts, **wrong})
    return Judged(given=case, case=case, reference=reference, result=result)


@pytest.mark.parametrize("name", READINGS)
def test_no_repair_changes_a_right_answer(name: str) -> None:
    """A rewrite may ask another question, but it may not touch the answer; a repair finds nothing to do."""
    now = _judged(_case())
    after = READINGS[name].apply(now)
    assert after is None or after.result == now.result


_MERGE = "MERGE INTO target t USING source s ON"
_READ = "MERGE INTO target AS t USING source AS s ON"
_ZEROS, _LISTS = "of a conditional between zeros one branch is left", "IN lists are intersected by their texts"


@pytest.mark.parametrize(
    ("name", "sql", "rewritten"),
    [
        (
            "conditions are cast to BOOLEAN",
            f"{_MERGE} t.id WHEN MATCHED AND 5 THEN DELETE",
            f"{_MERGE} CAST((t.id) AS BOOLEAN) WHEN MATCHED AND CAST((5) AS BOOLEAN) THEN DELETE",
        ),
        (
            _ZEROS,
            f"{_MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = CASE WHEN t.v = 2 THEN 3 WHEN TRUE THEN 0.0 ELSE -0.0 END",
            f"{_READ} TRUE WHEN MATCHED THEN UPDATE SET v = CASE WHEN t.v = 2 THEN 3 ELSE -0.0 END",
        ),
        (
            _ZEROS,
            f"{_MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = IF(t.v > 1, 0.0, -0.0)".replace(
                "E I", "E WITH SCHEMA EVOLUTION I"
            ),
            f"{_READ} TRUE WHEN MATCHED THEN UPDATE SET v = 0.0".replace("E I", "E WITH SCHEMA EVOLUTION I"),
        ),
        (
            _LISTS,
            f"{_MERGE} t.id IN (s.id, 8) AND t.id IN (-1, 8) WHEN MATCHED THEN DELETE",
            f"{_READ} t.id IN (8) AND TRUE WHEN MATCHED THEN DELETE",
        ),
        (
            _LISTS,
            f"{_MERGE} t.id IN (s.id) AND (t.id = 1 OR t.id = 8) WHEN MATCHED THEN DELETE",
            f"{_READ} FALSE AND TRUE WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_a_statement_is_rewritten(name: str, sql: str, rewritten: str) -> None:
    after = READINGS[name].apply(_judged(_case(sql)))
    assert after is not None
    assert after.case.sql == rewritten


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        (
            "of a conditional between zeros one branch is left",
            _UPSERT.replace("SET *", "SET v = IF(t.v > 1, 0.0, 0.07)"),
        ),
        ("IN lists are intersected by their texts", _UPSERT.replace("t.id = s.id", "t.id IN (1) AND t.id IN (1, 8)")),
        ("clauses that need a source row are not looked at if there is none", _UPSERT),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            _UPSERT.replace("MATCHED THEN U", "MATCHED AND 5 THEN U"),
        ),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            f"{_MERGE} t.id = s.id AND FALSE WHEN MATCHED AND 5 THEN DELETE",
        ),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            f"{_MERGE} t.id = s.id AND FALSE WHEN NOT MATCHED BY SOURCE AND 5 THEN DELETE",
        ),
    ],
)
def test_a_statement_without_the_cause_is_left_alone(name: str, sql: str) -> None:
    """Other values than zeros, literals only, a source with rows, a row that is touched, MATCHED clauses only."""
    assert READINGS[name].apply(_judged(_case(sql))) is None


@pytest.mark.parametrize(("x", "images"), [(0, [(0.0, 0)]), (1, [(-0.0, 0), (0.0, 1)])], ids=["whole-row", "one-cell"])
def test_an_update_between_zeros_is_dropped(x: int, images: list[tuple[float, int]]) -> None:
    """The feed shows as a pre-image the row that RETURNING gave and the table does not hold."""
    case = _case(
        f"{_MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET *",
        target={
            "schema": "k DOUBLE, x INT",
            "files": [[["-0.0", 0]]],
            "properties": {"delta.enableChangeDataFeed": "true"},
        },
        source={"schema": "k DOUBLE, x INT", "rows": [[0.0, x]]},
    )
    feed = ((0.0, x, "update_postimage"), *((*image, "update_preimage") for image in images))
    wrong = _judged(case, rows=((-0.0, x),), cdf=feed)
    shown = Capabilities(metric_names=frozenset({"numTargetRowsUpdated"}))
    assert wrong.mismatches(shown)
    after = READINGS["a cell keeps its value if the new one differs in the sign of zeros only"].apply(wrong)
    assert after is not None
    assert after.mismatches(shown) == ()


@pytest.mark.parametrize(("y", "explained"), [(-0.0, True), (0.0, True), (1.0, False)])
def test_a_field_of_a_struct_keeps_its_zero(y: float, *, explained: bool) -> None:
    """DuckDB stores the fields of a struct apart, so one may be left as it was while the others change."""
    case = _case(
        f"{_MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET n = STRUCT(4 AS a, 0.0D AS y)",
        target={"schema": "k INT, n STRUCT<a: INT, y: DOUBLE>", "files": [[[1, {"a": 0, "y": "-0.0"}]]]},
        source={"schema": "k INT", "rows": [[1]]},
    )
    wrong = _judged(case, rows=((1, (4, y)),))
    shown = Capabilities(metrics=False)
    after = READINGS["a cell keeps its value if the new one differs in the sign of zeros only"].apply(wrong)
    assert (after or wrong).mismatches(shown) == () if explained else (after or wrong).mismatches(shown)


def test_what_the_reference_does_not_know_explains_nothing() -> None:
    """An answer cannot be held against "unsupported"; every answer would do."""
    now = _judged(_case())
    assert now.with_case(replace(now.case, conf={"spark.sql.ansi.enabled": "false"})) is None
    assert now.with_case(now.case) == now


def test_a_field_of_a_null_struct_is_read_from_a_column_of_its_own() -> None:
    """Nested structs below the NULL are there too; where the struct is not NULL, nothing changes."""
    sql = (
        "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.n.m.a)"
    )
    source = {
        "schema": "id INT, n STRUCT<m: STRUCT<a: INT>>",
        "rows": [[7, None], [8, {"m": None}], [9, {"m": {"a": None}}], [10, {"m": {"a": 3}}]],
    }
    after = READINGS["fields of NULL structs are zeros in values"].apply(_judged(_case(sql, source=source)))
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert sorted(after.reference.answer.rows, key=str) == [(1, 1), (10, 3), (2, 2), (7, 0), (8, 0), (9, None)]
    assert READINGS["fields of NULL structs are zeros in ON"].apply(_judged(_case(sql, source=source))) is None


def test_columns_that_stand_for_fields_are_not_added_to_the_table() -> None:
    """A star with evolution takes every column of the source."""
    sql = (
        f"{_MERGE} t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.n.a "
        "WHEN NOT MATCHED AND s.id = 3 THEN INSERT * WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.n.a)"
    ).replace("E I", "E WITH SCHEMA EVOLUTION I")
    source = {"schema": "id INT, v INT, n STRUCT<a: INT>", "rows": [[1, 5, None], [3, 6, None], [4, 7, {"a": 8}]]}
    after = READINGS["fields of NULL structs are zeros in values"].apply(_judged(_case(sql, source=source)))
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert after.reference.answer.schema.names == ("id", "v", "n")
    assert sorted(after.reference.answer.rows) == [(1, 0, None), (2, 2, None), (3, 6, None), (4, 8, None)]


def test_fields_of_null_structs_in_several_places_do_not_meet() -> None:
    """Each reading adds columns of its own; none of them reaches the table by a star."""
    sql = f"{_MERGE} t.id = s.n.a WHEN MATCHED THEN UPDATE SET v = s.n.b WHEN NOT MATCHED THEN INSERT *".replace(
        "E I", "E WITH SCHEMA EVOLUTION I"
    )
    target = {"schema": "id INT, v INT", "rows": [[0, 1], [2, 2]]}
    source = {"schema": "id INT, n STRUCT<a: INT, b: INT>", "rows": [[1, None], [9, {"a": 9, "b": 3}]]}
    after: Judged | None = _judged(_case(sql, target=target, source=source))
    for place in ("ON", "values"):
        assert after is not None
        after = READINGS[f"fields of NULL structs are zeros in {place}"].apply(after)
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert after.reference.answer.schema.names == ("id", "v", "n")
    assert sorted(after.reference.answer.rows) == [(0, 0, None), (2, 2, None), (9, None, (9, 3))]


def test_copies_of_a_row_are_filled_from_the_source_rows_that_match_it() -> None:
    """Each copy has the value of its own source row in the column that the merge adds; one copy is left."""
    sql = f"{_MERGE} t.id <= s.id WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE".replace(
        "E I", "E WITH SCHEMA EVOLUTION I"
    )
    case = _case(
        sql,
        target={"schema": "id INT", "rows": [[0], [1]]},
        source={"schema": "id INT, extra INT", "rows": [[0, 7], [0, 8]]},
    )
    reading = "of several source rows that match a target row one may update it"
    refused = Judged(given=case, case=case, reference=evaluate(case), result=Rejection(error_class="", message=""))
    allowed = READINGS[reading].apply(refused)
    assert allowed is not None
    right = answered(allowed.reference.answer)
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
        after = READINGS[name].apply(now)
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
        f"{_MERGE} t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN UPDATE SET v = 9"
    )
    now = _judged(_case(sql, source={"schema": "id INT, v INT", "rows": [[1, 5], [1, 6], [3, 7]]}))
    assert isinstance(now.result, TableOutcome)
    rows = tuple(row for row in now.result.rows if row not in lost)
    num_records = now.result.num_records_added - len(lost)
    wrong = replace(now, result=replace(now.result, rows=rows, num_records_added=num_records))
    after = READINGS["of a row of the table and an unmatched source row one may be lost"].apply(wrong)
    assert (after is not None and after.mismatches(Capabilities()) == now.mismatches(Capabilities())) is known


def test_a_lost_row_has_the_value_that_was_generated_for_it() -> None:
    """The feed has it: the reference's own value is an example, which another row may have."""
    sql = f"{_MERGE} t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    target = {
        "schema": "id INT, n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1 HIGH WATER MARK 2)",
        "files": [[[1, 1], [2, 2]]],
        "properties": {"delta.enableChangeDataFeed": "true"},
    }
    now = _judged(_case(sql, target=target, source={"schema": "id INT", "rows": [[1], [1], [3], [4]]}))
    assert isinstance(now.result, TableOutcome)
    assert {(3, 5), (4, 6)} <= set(now.result.rows)
    changed = {(3, 5): (3, 6), (4, 6): (4, 5)}
    feed = tuple((*changed.get(row[:-1], row[:-1]), row[-1]) for row in now.result.cdf or ())
    rows = tuple(changed.get(row, row) for row in now.result.rows)
    right = replace(now, result=replace(now.result, rows=rows, cdf=feed))
    lost = tuple(row for row in rows if row != (3, 6))
    records = now.result.num_records_added - 1
    wrong = replace(now, result=replace(now.result, rows=lost, cdf=feed, num_records_added=records))
    after = READINGS["of a row of the table and an unmatched source row one may be lost"].apply(wrong)
    assert after is not None
    assert after.mismatches(Capabilities()) == right.mismatches(Capabilities())


@pytest.mark.parametrize(("number", "known"), [(4, True), (0, False), (3, False), (1002, False)])
def test_source_rows_count_twice_if_files_are_rewritten(number: int, *, known: bool) -> None:
    now = _judged(_case(_UPSERT.replace("t.id = s.id", "t.id >= s.id AND t.id <= s.id")))
    assert isinstance(now.result, Outcome)
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": number}))
    after = READINGS["without keys to join by source rows count twice, or never"].apply(wrong)
    assert (after is not None) is known
    assert after is None or after.result == now.result


_WITH_NAN = {
    "target": {
        "schema": "id DOUBLE, v INT",
        "files": [[["NaN", 1], [0.0, 2]]],
        "properties": {"delta.enableDeletionVectors": "true"},
    },
    "source": {"schema": "id DOUBLE, v INT", "rows": [["NaN", 1], [0.0, 2]]},
}
_NAN_FOUND = f"{_MERGE} t.id <=> s.id WHEN MATCHED AND t.id > 5 THEN UPDATE SET v = 9"


@pytest.mark.parametrize(
    ("row", "num_vectors", "known"),
    [(0, 0, True), (0, 1, False), (1, 0, False)],
    ids=["stays", "marked-all-the-same", "no-nan"],
)
def test_a_row_with_nan_stays_if_no_vector_marks_it(row: int, num_vectors: int, *, known: bool) -> None:
    right = _judged(_case(f"{_NAN_FOUND} WHEN NOT MATCHED THEN INSERT *", **_WITH_NAN))
    assert isinstance(right.result, TableOutcome)
    wrong = replace(
        right.result,
        rows=(*right.result.rows, right.case.target.rows[row]),
        metrics={**right.result.metrics, "numTargetDeletionVectorsAdded": num_vectors},
        num_records_removed=0,
    )
    after = READINGS["if rows are marked in vectors rows with NaN stay"].apply(replace(right, result=wrong))
    assert (after is not None) is known
    assert after is None or after.mismatches(Capabilities()) == right.mismatches(Capabilities())


@pytest.mark.parametrize(
    ("insert", "vectors", "known"),
    [("", "true", True), (" WHEN NOT MATCHED THEN INSERT *", "true", False), ("", "false", False)],
    ids=["matched-only", "with-insert", "no-vectors"],
)
def test_without_insert_a_row_with_nan_is_not_found(insert: str, vectors: str, *, known: bool) -> None:
    target = {**_WITH_NAN["target"], "properties": {"delta.enableDeletionVectors": vectors}}
    now = _judged(_case(_NAN_FOUND + insert, target=target, source=_WITH_NAN["source"]))
    after = READINGS["if rows are marked in vectors clauses do not find rows with NaN"].apply(now)
    assert (after is not None) is known
    assert after is None or after.case.sql.endswith(
        "WHEN MATCHED AND (t.id > 5) AND NOT (t.id <=> CAST('NaN' AS DOUBLE)) THEN UPDATE SET v = 9"
    )


_GENERATED = "generated columns of an INSERT are computed from values before their casts"
_OF_A_TABLE = {"schema": "k INT, d INT DEFAULT 7, n INT, g INT GENERATED ALWAYS AS (k * 10 + d + n)", "files": []}


@pytest.mark.parametrize(
    ("sql", "insert"),
    [
        (
            "INSERT (K) VALUES (s.k + 1)",
            "INSERT (K, g) VALUES (s.k + 1, (s.k + 1) * 10 + (7) + (CAST(NULL AS INT)))",
        ),
        ("INSERT *", "INSERT (k, n, g) VALUES (s.k, s.n, (s.k) * 10 + (7) + (s.n))"),
    ],
)
def test_generated_columns_are_written_over_the_given_values(sql: str, insert: str) -> None:
    """Names in another case are one column; what is not given is the default or NULL; an UPDATE stays as it is."""
    merge = f"{_MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET k = s.k".replace("E I", "E WITH SCHEMA EVOLUTION I")
    source = {"schema": "k DOUBLE, n BIGINT", "rows": [[2.75, 1]]}
    now = _judged(_case(f"{merge} WHEN NOT MATCHED THEN {sql}", target=_OF_A_TABLE, source=source))
    after = READINGS[_GENERATED].apply(now)
    assert after is not None
    assert after.case.sql == f"{merge} WHEN NOT MATCHED THEN {insert}"


@pytest.mark.parametrize("action", ["INSERT (k, g) VALUES (2.75, 27)", "INSERT (k, g, n) VALUES (1, 18, 1)"])
def test_a_generated_column_that_is_given_is_left_alone(action: str) -> None:
    sql = f"MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN {action}"
    now = _judged(_case(sql, target=_OF_A_TABLE, source={"schema": "k DOUBLE", "rows": [[2.75]]}))
    assert READINGS[_GENERATED].apply(now) is None


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
    sql = f"{_MERGE} t.id = s.id WHEN MATCHED AND {first} THEN DELETE WHEN NOT MATCHED AND {second} THEN INSERT *"
    table = {"schema": "id INT, v INT", "files": [[[1, 1]]], "properties": {"delta.enableDeletionVectors": vectors}}
    now = _judged(_case(sql, target=table))
    assert isinstance(now.result, Outcome)
    wrong = replace(now, result=replace(now.result, metrics={**now.result.metrics, "numSourceRows": 0}))
    after = READINGS["if no clause can apply source rows never count"].apply(wrong)
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
    now = _judged(_case(sql, target=target), file_faults=(fault,))
    after = READINGS["bounds of decimals are 64-bit integers or binary fractions"].apply(now)
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
    now = _judged(_case(sql, target=target), file_faults=(fault,))
    after = READINGS["empty maps count as NULL in the statistics of files with vectors"].apply(now)
    assert (after is not None) is known


def test_an_expectation_that_the_reference_fulfils_is_left_out() -> None:
    """What its author says of the rows is the reference's answer; an engine is not held against it a second time."""
    fulfilled = _case(expect={"rows": [[1, 5], [2, 2], [3, 6]]})
    other = _case(expect={"rows": [[1, 5], [2, 2]]})
    for case, kept in ((fulfilled, False), (other, True)):
        now = _judged(case)
        report = CaseReport(
            case=case,
            engine="e",
            engine_version="1",
            verdict=Verdict.MISMATCH,
            reference=now.reference,
            result=now.result,
        )
        found = judged(report)
        assert found is not None
        assert (found.case.expect is not None) is kept
        assert bool(found.mismatches(Capabilities(metrics=False))) is kept


def test_names_of_readings_are_in_the_documentation() -> None:
    text = Path("docs/deviations.md").read_text(encoding="utf-8")
    assert [name for name in READINGS if f"| {name} |" not in text] == []


_TWICE = "a deleted row counts once for every source row that matches it"
_DELETES = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def test_deletes_that_count_once_per_match_are_put_right() -> None:
    case = _case(_DELETES, source={"schema": "id INT", "rows": [[1], [1], [1], [3]]})
    wrong = {"numTargetRowsDeleted": 3, "numTargetRowsMatchedDeleted": 3}
    right = _judged(case)
    assert isinstance(right.result, Outcome)
    fault = "1 row ids are gone, but numTargetRowsDeleted 3"
    now = _judged(case, metrics={**right.result.metrics, **wrong}, row_id_faults=(fault, "another"))
    after = READINGS[_TWICE].apply(now)
    assert after is not None
    assert isinstance(after.result, TableOutcome)
    assert after.result.metrics == right.result.metrics
    assert after.result.row_id_faults == ("another",)


def test_deletes_of_single_matches_are_left_alone() -> None:
    assert READINGS[_TWICE].apply(_judged(_case(_DELETES))) is None
