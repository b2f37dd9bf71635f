"""Bug models that ask another question: an engine's behaviour as other statements and other tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reading_cases import MERGE, NAN_FOUND, UPSERT, WITH_NAN, case_of, judged_case, with_copies

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.deviations.bug_models.judged import Judged, judged
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from mergecheck.reference.dialects import DATABRICKS

if TYPE_CHECKING:
    from mergecheck.model.case import Row


@pytest.mark.parametrize("name", BUG_MODELS)
def test_no_repair_changes_a_right_answer(name: str) -> None:
    """A rewrite may ask another question, but it may not touch the answer; a repair finds nothing to do."""
    now = judged_case(case_of())
    after = BUG_MODELS[name].apply(now)
    assert after is None or after.result == now.result


_READ = "MERGE INTO target AS t USING source AS s ON"
_ZEROS, _LISTS = "of a conditional between zeros one branch is left", "IN lists are intersected by their texts"


@pytest.mark.parametrize(
    ("name", "sql", "rewritten"),
    [
        (
            "conditions are cast to BOOLEAN",
            f"{MERGE} t.id WHEN MATCHED AND 5 THEN DELETE",
            f"{MERGE} CAST((t.id) AS BOOLEAN) WHEN MATCHED AND CAST((5) AS BOOLEAN) THEN DELETE",
        ),
        (
            _ZEROS,
            f"{MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = CASE WHEN t.v = 2 THEN 3 WHEN TRUE THEN 0.0 ELSE -0.0 END",
            f"{_READ} TRUE WHEN MATCHED THEN UPDATE SET v = CASE WHEN t.v = 2 THEN 3 ELSE -0.0 END",
        ),
        (
            _ZEROS,
            f"{MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = IF(t.v > 1, 0.0, -0.0)".replace(
                "E I", "E WITH SCHEMA EVOLUTION I"
            ),
            f"{_READ} TRUE WHEN MATCHED THEN UPDATE SET v = 0.0".replace("E I", "E WITH SCHEMA EVOLUTION I"),
        ),
        (
            "clauses that can have no row are not looked at",
            f"{MERGE} t.id = 1 WHEN MATCHED AND t.id > 1 THEN UPDATE SET v = ARRAY(1)",
            f"{MERGE} t.id = 1 WHEN MATCHED THEN DELETE",
        ),
        (
            "DEFAULT of a column without a default is NULL",
            f"{MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = DEFAULT WHEN NOT MATCHED THEN INSERT (v) VALUES (default)",
            f"{MERGE} TRUE WHEN MATCHED THEN UPDATE SET v = NULL WHEN NOT MATCHED THEN INSERT (v) VALUES (NULL)",
        ),
        (
            _LISTS,
            f"{MERGE} t.id IN (s.id, 8) AND t.id IN (-1, 8) WHEN MATCHED THEN DELETE",
            f"{_READ} t.id IN (8) AND TRUE WHEN MATCHED THEN DELETE",
        ),
        (
            _LISTS,
            f"{MERGE} t.id IN (s.id) AND (t.id = 1 OR t.id = 8) WHEN MATCHED THEN DELETE",
            f"{_READ} FALSE AND TRUE WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_a_statement_is_rewritten(name: str, sql: str, rewritten: str) -> None:
    after = BUG_MODELS[name].apply(judged_case(case_of(sql)))
    assert after is not None
    assert after.case.sql == rewritten


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        (
            "of a conditional between zeros one branch is left",
            UPSERT.replace("SET *", "SET v = IF(t.v > 1, 0.0, 0.07)"),
        ),
        ("IN lists are intersected by their texts", UPSERT.replace("t.id = s.id", "t.id IN (1) AND t.id IN (1, 8)")),
        ("clauses that can have no row are not looked at", UPSERT),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            UPSERT.replace("MATCHED THEN U", "MATCHED AND 5 THEN U"),
        ),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            f"{MERGE} t.id = s.id AND FALSE WHEN MATCHED AND 5 THEN DELETE",
        ),
        (
            "conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
            f"{MERGE} t.id = s.id AND FALSE WHEN NOT MATCHED BY SOURCE AND 5 THEN DELETE",
        ),
    ],
)
def test_a_statement_without_the_cause_is_left_alone(name: str, sql: str) -> None:
    """Other values than zeros, literals only, a source with rows, a row that is touched, MATCHED clauses only."""
    assert BUG_MODELS[name].apply(judged_case(case_of(sql))) is None


_FORGOTTEN = "columns of the source are not NOT NULL any more"
_OF_SOURCE = "clauses take NOT NULL columns from the source"


@pytest.mark.parametrize(
    ("clause", "source", "rows", "agrees"),
    [
        ("NOT MATCHED THEN INSERT (id) VALUES (s.v)", "id INT, v INT", ((1, 1), (0, None)), True),
        ("NOT MATCHED THEN INSERT (id) VALUES (s.v)", "id INT, v INT", ((1, 1), (9, None)), False),
        ("NOT MATCHED THEN INSERT (id) VALUES (s.v)", "x INT, v INT", ((1, 1), (0, None)), False),
        ("MATCHED THEN UPDATE SET id = s.v, v = 5", "id INT, v INT", ((0, 5),), True),
        ("MATCHED THEN UPDATE SET id = s.v, v = 5", "id INT, v INT", ((9, 5),), False),
    ],
    ids=["insert", "assigned-value", "no-such-column", "update", "assigned-by-update"],
)
def test_a_column_that_loses_not_null_is_taken_from_the_source(
    clause: str, source: str, rows: tuple[Row, ...], *, agrees: bool
) -> None:
    """The assigned value breaks the constraint, the source's does not, and nothing but the source's is explained."""
    matches = "FALSE" if clause.startswith("NOT") else "TRUE"
    case = case_of(
        f"{MERGE.replace('E I', 'E WITH SCHEMA EVOLUTION I')} {matches} WHEN {clause}",
        target={
            "schema": "id INT NOT NULL, v INT",
            "files": [[[1, 1]]],
            "properties": {"delta.constraints.small": "id <= 2"},
        },
        source={"schema": source, "rows": [[0, 9]]},
    )
    result = Outcome(schema=parse_schema("id INT, v INT"), rows=rows, metrics={}, cdf=None, committed=True)
    now = Judged(given=case, case=case, reference=evaluate(case), result=result)
    assert isinstance(now.reference.answer, Rejection)
    for name in (_FORGOTTEN, _OF_SOURCE):
        now = BUG_MODELS[name].apply(now) or now
    assert (now.mismatches(Capabilities(metrics=False)) == ()) is agrees


def test_what_the_reference_does_not_know_explains_nothing() -> None:
    """An answer cannot be held against "unsupported"; every answer would do."""
    now = judged_case(case_of())
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
    after = BUG_MODELS["fields of NULL structs are zeros in values"].apply(judged_case(case_of(sql, source=source)))
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert sorted(after.reference.answer.rows, key=str) == [(1, 1), (10, 3), (2, 2), (7, 0), (8, 0), (9, None)]
    assert BUG_MODELS["fields of NULL structs are zeros in ON"].apply(judged_case(case_of(sql, source=source))) is None


def test_columns_that_stand_for_fields_are_not_added_to_the_table() -> None:
    """A star with evolution takes every column of the source."""
    sql = (
        f"{MERGE} t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.n.a "
        "WHEN NOT MATCHED AND s.id = 3 THEN INSERT * WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.n.a)"
    ).replace("E I", "E WITH SCHEMA EVOLUTION I")
    source = {"schema": "id INT, v INT, n STRUCT<a: INT>", "rows": [[1, 5, None], [3, 6, None], [4, 7, {"a": 8}]]}
    after = BUG_MODELS["fields of NULL structs are zeros in values"].apply(judged_case(case_of(sql, source=source)))
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert after.reference.answer.schema.names == ("id", "v", "n")
    assert sorted(after.reference.answer.rows) == [(1, 0, None), (2, 2, None), (3, 6, None), (4, 8, None)]


def test_fields_of_null_structs_in_several_places_do_not_meet() -> None:
    """Each bug model adds columns of its own; none of them reaches the table by a star."""
    sql = f"{MERGE} t.id = s.n.a WHEN MATCHED THEN UPDATE SET v = s.n.b WHEN NOT MATCHED THEN INSERT *".replace(
        "E I", "E WITH SCHEMA EVOLUTION I"
    )
    target = {"schema": "id INT, v INT", "rows": [[0, 1], [2, 2]]}
    source = {"schema": "id INT, n STRUCT<a: INT, b: INT>", "rows": [[1, None], [9, {"a": 9, "b": 3}]]}
    after: Judged | None = judged_case(case_of(sql, target=target, source=source))
    for place in ("ON", "values"):
        assert after is not None
        after = BUG_MODELS[f"fields of NULL structs are zeros in {place}"].apply(after)
    assert after is not None
    assert isinstance(after.reference.answer, Prediction)
    assert after.reference.answer.schema.names == ("id", "v", "n")
    assert sorted(after.reference.answer.rows) == [(0, 0, None), (2, 2, None), (9, None, (9, 3))]


@pytest.mark.parametrize(
    ("insert", "vectors", "known"),
    [("", "true", True), (" WHEN NOT MATCHED THEN INSERT *", "true", False), ("", "false", False)],
    ids=["matched-only", "with-insert", "no-vectors"],
)
def test_without_insert_a_row_with_nan_is_not_found(insert: str, vectors: str, *, known: bool) -> None:
    target = {**WITH_NAN["target"], "properties": {"delta.enableDeletionVectors": vectors}}
    now = judged_case(case_of(NAN_FOUND + insert, target=target, source=WITH_NAN["source"]))
    after = BUG_MODELS["if rows are marked in vectors clauses do not find rows with NaN"].apply(now)
    assert (after is not None) is known
    assert after is None or after.case.sql.endswith(
        "WHEN MATCHED AND (t.id > 5) AND NOT (t.id <=> CAST('NaN' AS DOUBLE)) THEN UPDATE SET v = 9"
    )


_NOT_FOUND_BY_ON = "conditions of ON on the table alone do not find rows with NaN"


@pytest.mark.parametrize(
    ("condition", "known"),
    [
        ("t.id <=> s.id AND t.id > 5", True),
        ("(t.id <=> s.id AND (t.id = CAST('NaN' AS DOUBLE)))", True),
        ("t.id <=> s.id AND t.v > 0", False),
        ("t.id <=> s.id AND t.id > s.v", False),
    ],
)
def test_a_merge_that_only_inserts_does_not_find_nan_by_a_condition_on_its_column(
    condition: str, *, known: bool
) -> None:
    case = case_of(f"{MERGE} {condition} WHEN NOT MATCHED THEN INSERT *", **WITH_NAN)
    after = BUG_MODELS[_NOT_FOUND_BY_ON].apply(judged_case(case))
    assert (after is not None) is known
    if after is not None:
        assert isinstance(after.reference.answer, Prediction)
        assert after.reference.answer.metrics["numTargetRowsInserted"].low == 2


@pytest.mark.parametrize(
    ("clauses", "vectors", "known"),
    [
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", "true", True),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", "false", False),
        ("WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE", "true", False),
        ("WHEN MATCHED THEN DELETE", "true", False),
    ],
    ids=["marks-and-inserts", "rewrites-files", "needs-all-rows", "matched-only"],
)
def test_a_merge_that_marks_rows_does_not_find_nan_by_a_condition_of_on(
    clauses: str, vectors: str, *, known: bool
) -> None:
    target = {**WITH_NAN["target"], "properties": {"delta.enableDeletionVectors": vectors}}
    case = case_of(f"{MERGE} t.id <=> s.id AND t.id > 5 {clauses}", target=target, source=WITH_NAN["source"])
    assert (BUG_MODELS[_NOT_FOUND_BY_ON].apply(judged_case(case)) is not None) is known


_NULL_HIDES = "a match whose conditions give NULL does not count"
_DELETED_AND_COPIED = "WHEN MATCHED AND s.v > 1 THEN DELETE"


@pytest.mark.parametrize(
    ("clauses", "source", "vectors", "copies"),
    [
        (_DELETED_AND_COPIED, [[2, None], [2, 5]], "false", [(2, 2)]),
        (_DELETED_AND_COPIED, [[2, None], [2, 5], [1, None], [1, None]], "false", None),  # more rows than before
        (_DELETED_AND_COPIED, [[2, None], [2, 5]], "true", []),
        ("WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = 9", [[2, None], [2, 5]], "false", None),
        ("WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = 9", [[2, None], [2, 5]], "true", []),
        ("WHEN MATCHED AND s.v > 9 THEN UPDATE SET v = 9", [[2, None], [2, 5]], "false", []),
    ],
)
def test_matches_with_null_are_not_counted(
    clauses: str, source: list[list[int | None]], vectors: str, copies: list[tuple[int, int]] | None
) -> None:
    """A copy per further match is written if the file is rewritten; ``copies`` None: the record numbers decide."""
    target = {
        "schema": "id INT, v INT",
        "files": [[[1, 1], [2, 2]]],
        "properties": {"delta.enableDeletionVectors": vectors},
    }
    sources = {"schema": "id INT, v INT", "rows": source}
    case = case_of(f"{MERGE} t.id = s.id {clauses}", target=target, source=sources)
    allowed = judged_case(case, DATABRICKS)
    assert isinstance(allowed.result, TableOutcome)
    found = with_copies(allowed.result, copies or [])
    after = BUG_MODELS[_NULL_HIDES].apply(replace(judged_case(case), result=found))
    assert after is not None
    if copies is None:
        assert isinstance(after.reference.answer, Rejection)
        assert after.reference.answer.error_class == "DELTA_NUM_RECORDS_MISMATCH"
    else:
        assert after.mismatches(Capabilities(metric_names=frozenset(found.metrics))) == ()


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
    """Names in another case are one column; a missing value is the default or NULL; an UPDATE stays as it is."""
    merge = f"{MERGE} t.k = s.k WHEN MATCHED THEN UPDATE SET k = s.k".replace("E I", "E WITH SCHEMA EVOLUTION I")
    source = {"schema": "k DOUBLE, n BIGINT", "rows": [[2.75, 1]]}
    now = judged_case(case_of(f"{merge} WHEN NOT MATCHED THEN {sql}", target=_OF_A_TABLE, source=source))
    after = BUG_MODELS[_GENERATED].apply(now)
    assert after is not None
    assert after.case.sql == f"{merge} WHEN NOT MATCHED THEN {insert}"


@pytest.mark.parametrize("action", ["INSERT (k, g) VALUES (2.75, 27)", "INSERT (k, g, n) VALUES (1, 18, 1)"])
def test_a_generated_column_that_is_given_is_left_alone(action: str) -> None:
    sql = f"MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN {action}"
    now = judged_case(case_of(sql, target=_OF_A_TABLE, source={"schema": "k DOUBLE", "rows": [[2.75]]}))
    assert BUG_MODELS[_GENERATED].apply(now) is None


def test_an_expectation_that_the_reference_fulfils_is_left_out() -> None:
    """The rows that its author expects are the reference's answer; an engine is not compared with them again."""
    fulfilled = case_of(expect={"rows": [[1, 5], [2, 2], [3, 6]]})
    other = case_of(expect={"rows": [[1, 5], [2, 2]]})
    for case, kept in ((fulfilled, False), (other, True)):
        now = judged_case(case)
        report = CaseReport(
            case=case,
            engine="e",
            engine_version="1",
            verdict=Verdict.MISMATCH,
            reference=now.reference,
            result=now.result,
        )
        found = judged(report, now.ask)
        assert found is not None
        assert (found.case.expect is not None) is kept
        assert bool(found.mismatches(Capabilities(metrics=False))) is kept


def test_names_of_readings_are_in_the_documentation() -> None:
    text = Path("docs/deviations.md").read_text(encoding="utf-8")
    assert [name for name in BUG_MODELS if f"| {name} |" not in text] == []
