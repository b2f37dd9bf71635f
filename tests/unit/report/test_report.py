"""The failure report: what stands in it, and that it never grows."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.store import Finding
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.explain import explain_lines
from mergecheck.harness.report.mismatch import MAX_LINES, WIDTH, mismatch_report
from mergecheck.harness.report.render import statement_lines, table_lines
from mergecheck.harness.report.sql_script import sql_script
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Bound, MergePath, Outcome, Prediction, Rejection
from mergecheck.model.types.data_types import Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

SCHEMA = parse_schema("id BIGINT, v STRING")
CASE = Case(
    id="k7Q2mD",
    target=Target(
        schema=SCHEMA, files=(((None, "a"),), ((2, "it's"),)), properties={"delta.enableChangeDataFeed": "true"}
    ),
    source=Source(schema=SCHEMA, rows=((None, "b"),)),
    sql="MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.v = 'WHEN THEN' THEN DELETE",
)
MISMATCHES = (
    Mismatch(
        check=Check.ROWS,
        against="reference",
        kind="missing_rows",
        lines=("1 row is missing in the engine", "  (NULL, 'b')", "1 row is extra", "  (NULL, 'a')"),
    ),
    Mismatch(
        check=Check.METRICS,
        against="expect",
        kind="numTargetRowsInserted",
        lines=("numTargetRowsInserted: expect 1, engine 0",),
    ),
)


def report(case: Case = CASE, mismatches: tuple[Mismatch, ...] = MISMATCHES) -> CaseReport:
    return CaseReport(
        case=case,
        engine="fake",
        engine_version="1.0",
        verdict=Verdict.MISMATCH,
        reference=Reference(
            answer=Prediction(
                schema=SCHEMA,
                rows=((2, "it's"), (None, "b")),
                metrics={"numTargetRowsInserted": Bound(1, 1), "numTargetFilesAdded": Bound(1, None)},
                cdf=((None, "b", "insert"),),
                committed=True,
                path=MergePath.D,
            )
        ),
        result=Outcome(schema=SCHEMA, rows=((None, "a"),), metrics={"numTargetRowsInserted": 0}, committed=True),
        mismatches=mismatches,
    )


def finding(found: CaseReport) -> Finding:
    mark = fingerprint(found)
    assert mark is not None
    return Finding(
        fingerprint=mark,
        report=found,
        original=CASE,
        seed=91823,
        num_cases=214,
        num_runs=97,
        seconds=9.2,
        cut_short=True,
    )


def test_report_of_a_finding(snapshot: SnapshotAssertion) -> None:
    """The whole report of a small finding."""
    text = mismatch_report(
        case_document(report(), finding=finding(report()), where=Path(".mergecheck/findings/k7Q2mD.json"))
    )
    assert text == snapshot


def test_explanation_of_a_case(snapshot: SnapshotAssertion) -> None:
    """The whole explanation that ``run`` prints."""
    assert "\n".join(explain_lines(case_document(report()))) == snapshot


def test_sql_script_of_a_case(snapshot: SnapshotAssertion) -> None:
    """A script with every type, ready to paste into Spark SQL."""
    schema = parse_schema(
        "b BOOLEAN, i BIGINT, f DOUBLE, d DECIMAL(5,2), s STRING, x BINARY, day DATE, at TIMESTAMP, "
        "local TIMESTAMP_NTZ, "
        "st STRUCT<a: INT, `b c`: STRING>, ar ARRAY<INT>, m MAP<STRING, INT>"
    )
    rows = (
        (True, -(2**63), float("nan"), Decimal("1.50"), "it's \\ \n é", b"\x00\xff", dt.date(2026, 1, 31),
         dt.datetime(2026, 1, 31, 23, 59, 59, 123456, tzinfo=dt.UTC), dt.datetime(1, 1, 1), (1, None), (), (("k", 1),)),  # noqa: DTZ001 - a type without zone
        (None,) * 12,
    )  # fmt: skip
    case = Case(
        id="types",
        target=Target(schema=schema, files=(rows, ()), partition_by=("i",), properties={"delta.appendOnly": "false"}),
        source=Source(schema=SCHEMA),
        sql=CASE.sql,
        conf={"spark.sql.ansi.enabled": "true"},
    )
    assert sql_script(case) == snapshot


RULED = Case(
    id="ruled",
    target=Target(
        schema=parse_schema(
            "id BIGINT NOT NULL, d INT DEFAULT 5, g BIGINT GENERATED ALWAYS AS (id + 1), "
            "s STRUCT<x: INT NOT NULL, `y z`: STRING>"
        ),
        files=(((1, 5, 2, (1, None)),),),
        properties={"delta.constraints.pos": "id > 0 AND d <> 7", "delta.enableChangeDataFeed": "true"},
    ),
    source=Source(schema=parse_schema("id BIGINT, new ARRAY<INT>"), rows=((1, (1, None)),)),
    sql="MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
)


def test_sql_script_of_a_table_with_rules(snapshot: SnapshotAssertion) -> None:
    """NOT NULL, DEFAULT and GENERATED in CREATE TABLE with the feature it needs, CHECK as ALTER TABLE."""
    assert sql_script(RULED) == snapshot


def test_explanation_of_an_evolution(snapshot: SnapshotAssertion) -> None:
    """Columns with all they have, constraints, and the new schema of engine and reference."""
    schema = Schema((*RULED.target.schema.columns, *parse_schema("new ARRAY<INT>").columns))
    rows = ((1, 5, 2, (1, None), (1, None)),)
    found = replace(
        report(RULED),
        result=Outcome(schema=RULED.target.schema, rows=RULED.target.rows),
        reference=Reference(
            answer=Prediction(schema=schema, rows=rows, metrics={}, cdf=None, committed=True, path=MergePath.D)
        ),
    )
    assert "\n".join(explain_lines(case_document(found))) == snapshot


def test_a_script_of_a_table_without_columns() -> None:
    """Spark has no empty list of columns."""
    empty = Case(id="e", target=Target(schema=parse_schema("")), source=CASE.source, sql=CASE.sql)
    assert "CREATE TABLE target USING delta;" in sql_script(empty).splitlines()


def test_a_report_never_names_control_characters_raw() -> None:
    """A value can neither move the cursor nor break a line of the report."""
    nasty = Case(
        id="n", target=Target(schema=SCHEMA, files=(((1, "\x1b[2J\n\u202e"),),)), source=None, sql="MERGE \x1b[0m"
    )
    text = mismatch_report(case_document(report(nasty), where="k.json"))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_rejected_merge_is_explained() -> None:
    """An error shows its class and its message."""
    rejected = Rejection(error_class="DELTA_X", message="no\nsuch thing")
    either = replace(rejected, other_classes=frozenset({"DELTA_Z", "DELTA_Y"}))
    lines = explain_lines(
        case_document(
            CaseReport(
                case=CASE,
                engine="e",
                engine_version="1",
                verdict=Verdict.BOTH_REJECTED,
                reference=Reference(answer=either),
                result=rejected,
            )
        )
    )
    assert "  rejected    DELTA_X" in lines
    assert "  rejected    DELTA_X or DELTA_Y or DELTA_Z" in lines
    assert lines[0].startswith("BOTH REJECTED")


@given(
    num_rows=st.integers(0, 300),
    num_files=st.integers(1, 40),
    cell=st.text(max_size=300),
    num_clauses=st.integers(0, 40),
    num_mismatches=st.integers(1, 30),
    num_lines=st.integers(0, 30),
)
def test_a_report_fits(
    *, num_rows: int, num_files: int, cell: str, num_clauses: int, num_mismatches: int, num_lines: int
) -> None:
    """Whatever the case, the report fits 40 lines of 100 columns and ends with the lines to reproduce."""
    files = tuple(tuple((i, cell) for i in range(num_rows)) for _ in range(num_files))
    clause = f" WHEN MATCHED AND t.v = '{'x' * len(cell)}' THEN UPDATE SET *"
    case = Case(
        id="big",
        target=Target(schema=SCHEMA, files=files, partition_by=("id",), properties={f"p{i}": cell for i in range(9)}),
        source=Source(schema=SCHEMA, rows=files[0]),
        sql="MERGE INTO target t USING source s ON t.id = s.id" + clause * num_clauses,
    )
    mismatch = Mismatch(check=Check.CDF, against="reference", kind="extra_rows", lines=("line " + cell,) * num_lines)
    lines = mismatch_report(
        case_document(report(case, (mismatch,) * num_mismatches), finding=finding(report()), where="k.json")
    ).split("\n")
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= WIDTH
    assert [line.split(":")[0].strip() for line in lines[-4:]] == ["Reproduce", "In pytest", "As SQL", "Smaller"]


def test_every_mismatch_keeps_a_line() -> None:
    """A long list of rows does not push the metrics out of the report."""
    rows = Mismatch(check=Check.ROWS, against="reference", kind="extra_rows", lines=("a row",) * 12)
    text = mismatch_report(case_document(report(mismatches=(rows, MISMATCHES[1])), where="k.json"))
    assert "numTargetRowsInserted" in text


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        (
            "merge into target using source on true when matched then delete;",
            ["merge into target using source on true", "  when matched then delete"],
        ),
        (
            (
                "MERGE INTO target t USING (SELECT s.a FROM source s JOIN source ON TRUE) s ON t.a = s.a\n"
                "WHEN MATCHED AND CASE WHEN t.b THEN TRUE END THEN DELETE "
                "WHEN NOT MATCHED THEN INSERT (a) VALUES (CASE WHEN s.a THEN 1 END)"
            ),
            [
                "MERGE INTO target t USING (SELECT s.a FROM source s JOIN source ON TRUE) s ON t.a = s.a",
                "  WHEN MATCHED AND CASE WHEN t.b THEN TRUE END THEN DELETE   -- clause 1",
                "  WHEN NOT MATCHED THEN INSERT (a) VALUES (CASE WHEN s.a THEN 1 END)   -- clause 2",
            ],
        ),
        ("no 'merge", ["no 'merge"]),
    ],
)
def test_statements_are_cut_at_their_clauses(sql: str, lines: list[str]) -> None:
    """WHEN, THEN and ON inside CASE, brackets and texts are no clauses; what Spark cannot read stays in one piece."""
    assert statement_lines(sql) == lines


def test_tables_stand_side_by_side_where_they_fit() -> None:
    """Narrow tables share lines, wide ones stand below each other; a self-merge is marked."""
    assert any("target" in line and "source" in line for line in table_lines(CASE))
    assert not any("target" in line and "source" in line for line in table_lines(CASE, width=50))
    alone = Case(id="s", target=CASE.target, source=None, sql=CASE.sql)
    assert any("source: the target itself" in line for line in table_lines(alone))
