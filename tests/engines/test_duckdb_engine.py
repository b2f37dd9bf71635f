"""DuckDB's own MERGE as an engine: its statements, its answers, its refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engine import PrecheckingEngine
from mergecheck.harness.engines.duckdb.engine import DuckDbEngine, error_class
from mergecheck.harness.engines.duckdb.options import CONF_DOMAIN, parse_options
from mergecheck.harness.engines.duckdb.plain_sql import with_bound_fields, with_plain_casts, without_lambdas
from mergecheck.harness.engines.duckdb.preparation import prepare
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Outcome, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

_UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
_CDF = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDbEngine]:
    engine = DuckDbEngine()
    yield engine
    engine.close()


def _case(sql: str = _UPSERT, **parts: object) -> Case:
    document = {
        "format_version": 1,
        "id": "duckdb",
        "target": {"schema": "id INT, v STRING", "rows": [[1, "a"], [2, None], [2, None]], "properties": _CDF},
        "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [9, "y"]]},
        "sql": sql,
        **parts,
    }
    return case_from_json(document, where="test")


def _merge(case: Case, tmp_path: Path) -> str:
    return prepare(case, parse_options(case), tmp_path).merge


def test_what_cannot_be_said_is_refused_beforehand(engine: DuckDbEngine) -> None:
    """With the words of the run, which then need not begin; what only the run shows is not."""
    assert isinstance(engine, PrecheckingEngine)
    target = {"schema": "id INT, v STRING, g INT GENERATED ALWAYS AS (id + 1)", "rows": [[1, "a", 2]]}
    case = _case(
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET g = s.id", target=target
    )
    assert engine.unsupported_reason(case) == engine.run(case) == Unsupported("a value assigned to a generated column")
    doubled = _case(conf={"duckdb.index": "primary-key"})
    assert engine.unsupported_reason(doubled) is None
    assert engine.run(doubled) == Unsupported("rows that no primary key allows")


@pytest.mark.parametrize("source", ["", "parquet"])
def test_a_case_may_run_twice(engine: DuckDbEngine, source: str) -> None:
    """The second run uses all that was prepared for the first one, files too."""
    case = _case(conf={"duckdb.database": "file", **({"duckdb.source": source} if source else {})})
    assert engine.run(case) == engine.run(case)
    assert isinstance(engine.run(case), Outcome)


def test_rows_counts_and_change_rows_agree(engine: DuckDbEngine) -> None:
    sql = (
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.v IS NULL THEN DELETE"
    )
    report = check_case(_case(sql), engine)
    assert report.verdict is Verdict.AGREE
    assert isinstance(report.result, Outcome)
    assert report.result.metrics == {
        "numTargetRowsInserted": 1,
        "numTargetRowsUpdated": 1,
        "numTargetRowsDeleted": 2,
    }
    assert sorted(change[-1] for change in report.result.cdf or ()) == [
        "delete", "delete", "insert", "update_postimage", "update_preimage"
    ]  # fmt: skip


def test_every_type_comes_back_exactly(engine: DuckDbEngine) -> None:
    schema = (
        "id INT, f FLOAT, d DOUBLE, n DECIMAL(38,10), b BINARY, ts TIMESTAMP, "
        "s STRUCT<a: TIMESTAMP, `x y`: ARRAY<DOUBLE>>, m MAP<STRING, INT>"
    )
    row = [
        1, "-0.0", "NaN", "1234567890123456789012345678.0000000001", "AP8=", "2024-02-29T12:00:00.000001Z",
        {"a": "1969-12-31T23:59:59.999999Z", "x y": ["-0.0", None, "Infinity"]}, [["k", None], ["", 2]],
    ]  # fmt: skip
    case = _case(target={"schema": schema, "rows": []}, source={"schema": schema, "rows": [row]})
    assert check_case(case, engine).verdict is Verdict.AGREE


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CONF_DOMAIN.items() for value in values])
def test_no_setting_of_its_own_changes_the_answer(engine: DuckDbEngine, name: str, value: str) -> None:
    case = _case(
        target={"schema": "id INT, v STRING", "rows": [[1, "a"], [2, None], [3, "b"]], "properties": _CDF},
        conf={name: value},
    )
    assert check_case(case, engine).verdict is Verdict.AGREE


def test_nothing_of_a_case_reaches_the_next(engine: DuckDbEngine) -> None:
    """Its temporary table is gone and its settings are taken back, also after a merge that failed."""
    conf = {"duckdb.database": "temporary-table", "duckdb.threads": "4"}
    failing = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = CAST(s.v AS INT)"
    narrow = {"schema": "id INT", "rows": [[1]], "properties": _CDF}
    for sql in (_UPSERT, failing):
        engine.run(_case(sql, conf=conf))
        report = check_case(_case(target=narrow, source={"schema": "id INT", "rows": [[1], [9]]}), engine)
        assert report.verdict is Verdict.AGREE, report.mismatches


@pytest.mark.parametrize(
    ("conf", "number"),
    [
        ({}, 1),
        ({"duckdb.transaction": "explicit"}, 1),
        ({"duckdb.transaction": "rolled-back-before"}, 2),
        ({"duckdb.database": "temporary-table"}, 2),
        ({"duckdb.database": "file"}, 4),  # which is opened again to be read
    ],
)
def test_the_second_merge_has_a_new_table(tmp_path: Path, conf: dict[str, str], number: int) -> None:
    """And a new database, unless the first left nothing behind but tables in memory."""
    case = _case(conf=conf)
    preparation = prepare(case, parse_options(case), tmp_path)
    both = [preparation.steps(returning=returning) for returning in (False, True)]
    assert sum(step["do"] == "open" for steps in both for step in steps) == number
    assert all(sum(step.get("sql") == preparation.create for step in steps) == 1 for steps in both)


def test_an_unknown_setting_is_not_ignored(engine: DuckDbEngine) -> None:
    assert engine.run(_case(conf={"duckdb.index": "bitmap"})) == Unsupported("setting duckdb.index=bitmap")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target": {"schema": "id INT, v STRING", "rows": [], "partition_by": ["v"]}}, "feature partitions"),
        (
            {"sql": _UPSERT.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"),
             "source": {"schema": "id INT, v STRING, w INT", "rows": []}},
            "feature schema evolution",
        ),
        ({"conf": {"spark.sql.storeAssignmentPolicy": "STRICT"}}, "feature strict store assignment"),
        ({"target": {"schema": "id INT, v STRUCT<a: INT NOT NULL>", "rows": []}}, "a struct field that is NOT NULL"),
        ({"source": {"schema": "id INT, v VOID", "rows": []}}, "a value of type VOID"),
        (
            {"target": {"schema": "id INT, ID INT, v STRING", "rows": []}},
            "a target whose column names differ in case only",
        ),
    ],
)  # fmt: skip
def test_what_duckdb_cannot_say_is_unsupported_with_a_reason(
    engine: DuckDbEngine, changes: dict[str, object], reason: str
) -> None:
    assert engine.run(_case(**changes)) == Unsupported(reason)


def test_constraints_defaults_and_generated_columns_are_duckdbs_own(engine: DuckDbEngine) -> None:
    target = {
        "schema": "id INT NOT NULL, v STRING DEFAULT 'none', g INT GENERATED ALWAYS AS (id + 1)",
        "rows": [[1, "a", 2]],
        "properties": {"delta.constraints.positive": "id > 0"},
    }
    good = "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    report = check_case(_case(good, target=target), engine)
    assert report.verdict is Verdict.AGREE
    assert isinstance(report.result, Outcome)
    assert (9, "none", 10) in report.result.rows
    bad = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = {}"
    for value in ("0", "CAST(NULL AS INT)"):  # NULL violates NOT NULL
        assert check_case(_case(bad.format(value), target=target), engine).verdict is Verdict.BOTH_REJECTED


def test_a_stored_value_that_is_not_computed_is_unsupported(engine: DuckDbEngine) -> None:
    """Delta keeps the value of a file; DuckDB computes the column whenever it is read."""
    target = {"schema": "id INT, g INT GENERATED ALWAYS AS (id + 1), v STRING", "rows": [[1, 2, "a"], [2, 0, "b"]]}
    delete = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"
    reason = "a stored value that its generated column does not compute"
    assert engine.run(_case(delete, target=target)) == Unsupported(reason)


def test_statements_that_break_a_rule_are_handed_over_as_they_are(tmp_path: Path) -> None:
    merge = "MERGE INTO target t USING source s ON t.id = s.id "
    wrong_side = f"{merge}WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, t.v)"
    assert _merge(_case(wrong_side), tmp_path).endswith('INSERT ("id", "v") VALUES ("s"."id", t.v)')
    early = f"{merge}WHEN MATCHED THEN DELETE WHEN MATCHED AND v = 'a' THEN DELETE"
    assert "WHEN MATCHED THEN DELETE WHEN MATCHED AND" in _merge(_case(early), tmp_path)
    bare = f"{merge}WHEN NOT MATCHED THEN INSERT (id, v) VALUES (id, V)"
    assert _merge(_case(bare), tmp_path).endswith('VALUES ("id", "V")')


def test_stars_stay_stars_where_they_mean_the_same(tmp_path: Path) -> None:
    assert _merge(_case(), tmp_path).endswith("UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    other_order = {"schema": "v STRING, id INT", "rows": []}
    assert _merge(_case(source=other_order), tmp_path).endswith("UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME")
    more = {"schema": "v STRING, id INT, w INT", "rows": []}
    assert _merge(_case(source=more), tmp_path).endswith('INSERT ("id", "v") VALUES ("s"."id", "s"."v")')


def test_a_child_that_dies_is_the_answer(engine: DuckDbEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "dying.py"
    script.write_text(
        "import os, sys\nprint('{}', flush=True)\nsys.stdin.readline()\nsys.stdin.readline()\nos.abort()\n"
    )
    python = Path(engine._worker._command[0])
    monkeypatch.setattr(engine, "_worker", WorkerProcess(python, script))
    result = engine.run(_case())
    assert isinstance(result, Rejection)
    assert result.error_class == "CRASHED"
    assert result.unchanged is None


def test_a_merge_that_fails_leaves_the_table(engine: DuckDbEngine) -> None:
    source = {"schema": "id INT, v STRING", "rows": [[1, "x"], [1, "y"]]}
    result = engine.run(_case(source=source))
    assert isinstance(result, Rejection)
    assert result.unchanged is True
    assert result.error_class == "INVALID_INPUT: MERGE INTO command cannot affect the same target row"


def test_what_duckdb_allows_beyond_delta_is_not_held_against_it(engine: DuckDbEngine) -> None:
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND (SELECT 1) = 1 THEN DELETE"
    assert engine.run(_case(sql)) == Unsupported("DuckDB knows subqueries in conditions")


def test_a_tables_name_is_the_value_of_its_row_in_duckdb(engine: DuckDbEngine) -> None:
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s IS NOT NULL THEN DELETE"
    assert engine.run(_case(sql)) == Unsupported("DuckDB knows a table's name as the value of its row")


def test_a_subquery_that_reads_the_row_is_not_held_against_it(engine: DuckDbEngine) -> None:
    value = "(SELECT max(x.v) FROM source x WHERE x.id = s.id)"
    sql = f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {value}"
    assert engine.run(_case(sql)) == Unsupported("DuckDB knows subqueries that read the row of a clause")


@pytest.mark.parametrize(
    "text", ["array(s.id, 1)[1] = 1", "substring(s.v, s.id) = 'p.'", "size(sequence(s.id, 3)) > 0"]
)
def test_bound_operands_in_conditions(text: str, engine: DuckDbEngine) -> None:
    """DuckDB 2.0 fails on ``p.field`` in a lambda of a condition."""
    sql = f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND {text} THEN DELETE"
    assert isinstance(engine.run(_case(sql)), Outcome)


def test_names_in_any_case_are_not_held_against_it(engine: DuckDbEngine) -> None:
    """DuckDB knows no session whose names are case-sensitive; its merges then break no rule of its own."""
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.ID = s.ID"
    assert engine.run(_case(sql, conf={"spark.sql.caseSensitive": "true"})) == Unsupported(
        "DuckDB knows names in any case"
    )


def test_errors_are_named_by_their_words_alone() -> None:
    message = 'INTERNAL Error: Failed to bind column reference "id" [17.0] (bindings: {#[16.0]})'
    assert (
        error_class({"class": "InternalException", "message": message}) == "INTERNAL: Failed to bind column reference"
    )


def test_plain_sql_means_the_same_without_lambdas() -> None:
    sql = (
        "(list_transform([(list_transform([n + 1], lambda x: CASE WHEN x > 2 THEN NULL ELSE x END)[1])], "
        "lambda x: CASE WHEN x IS NULL THEN 'x' ELSE CAST(x AS VARCHAR) || 'y' END)[1])"
    )
    values = "FROM (VALUES (0), (1), (2), (NULL)) AS v(n)"
    assert "lambda" not in without_lambdas(sql).lower()
    with_lambdas = duckdb.sql(f"SELECT {sql} {values}").fetchall()
    assert with_lambdas == duckdb.sql(f"SELECT {without_lambdas(sql)} {values}").fetchall()
    assert with_bound_fields("""p.a + "p.b" || 'p.c' || "t"."p" """) == """(p).a + "p.b" || 'p.c' || "t"."p" """
    assert with_plain_casts('(list_transform(["a b"], lambda x: CAST(x AS BIGINT))[1])') == 'CAST("a b" AS BIGINT)'


def test_known_deviations_still_describe_this_version(engine: DuckDbEngine) -> None:
    deviations = load_deviations()
    assert len(deviations.of(engine)) >= 2
    deviations.check_examples(engine, check_case)


def test_a_field_of_a_struct_keeps_its_zero(engine: DuckDbEngine) -> None:
    """As a column does; random cases found it."""
    case = _case(
        "MERGE INTO target t USING source s ON t.n.a = s.k WHEN MATCHED THEN UPDATE SET n = STRUCT(4 AS a, 0.0D AS y)",
        target={"schema": "n STRUCT<a: INT, y: DOUBLE>", "rows": [[{"a": 0, "y": "-0.0"}]]},
        source={"schema": "k INT", "rows": [[0], [None]]},
    )
    report = check_case(case, engine)
    assert report.verdict is Verdict.MISMATCH
    assert [entry.id for entry in load_deviations().explain(report, engine.capabilities)] == ["duckdb-negative-zero"]


FINDINGS = sorted(Path("docs/findings/cases").glob("duckdb-*.json"))
TWO_UPDATES = Path("docs/findings/cases/duckdb-two-updates-of-a-row.json")


@pytest.mark.parametrize("path", [path for path in FINDINGS if path != TWO_UPDATES], ids=lambda path: path.stem)
def test_findings_can_be_seen(engine: DuckDbEngine, path: Path) -> None:
    case = case_from_json(json.loads(path.read_text()), where=path.name)
    assert len(case.target.rows) <= 3
    assert case.source is None or len(case.source.rows) <= 3
    assert check_case(replace(case, conf={}), engine).verdict is Verdict.MISMATCH


def test_two_updates_of_a_row_are_refused(engine: DuckDbEngine) -> None:
    """By the locked release; 2.0.1 makes both, see the finding."""
    case = case_from_json(json.loads(TWO_UPDATES.read_text()), where=TWO_UPDATES.name)
    assert check_case(case, engine).verdict is Verdict.BOTH_REJECTED
