"""The engine ``delta-spark`` for real: Delta Lake's own MERGE, its observables, its errors, its known deviations."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.cli.export.formats import Format, exported
from mergecheck.harness.deviations.audit import confirm
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.findings.corpus import SavedCase
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.report.sql_script import sql_statements
from mergecheck.harness.search.session import WARM_UP
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

pytestmark = pytest.mark.spark

_FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture(scope="module")
def engine() -> Iterator[DeltaSparkEngine]:
    started = DeltaSparkEngine(start_session())
    yield started
    started.close()


def _case(sql: str, **changes: object) -> Case:
    document = {
        "format_version": 1,
        "id": "c",
        "target": {"schema": "id INT, v STRING", "files": [[[1, "a"], [2, "b"]], [[3, None]]], "properties": _FEED},
        "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [9, "y"]]},
        "sql": sql,
        **changes,
    }
    return parse_cases(json.dumps(document), name="test", lines=False)[0]


_UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def test_rows_metrics_and_changes_of_a_merge(engine: DeltaSparkEngine) -> None:
    outcome = engine.run(_case(_UPSERT))
    assert isinstance(outcome, Outcome)
    assert sorted(outcome.rows) == [(1, "x"), (2, "b"), (3, None), (9, "y")]
    assert outcome.committed is True
    assert outcome.metrics["numTargetRowsCopied"] == 1  # the other file is not touched: the case's layout is kept
    assert len(outcome.metrics) == 22
    assert outcome.cdf is not None
    assert sorted(outcome.cdf) == [
        (1, "a", "update_preimage"),
        (1, "x", "update_postimage"),
        (9, "y", "insert"),
    ]


def test_a_merge_agrees_with_the_reference_in_all_it_can_say(engine: DeltaSparkEngine) -> None:
    report = check_case(WARM_UP, engine)
    assert report.verdict is Verdict.AGREE
    assert report.unsupported_checks == (Check.LOG,)
    assert "dataChange" in report.unsupported_reasons["log"]


@pytest.mark.parametrize(
    ("sql", "error_class"),
    [
        (_UPSERT.replace("s.id", "s.nope"), "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        (_UPSERT.replace("ON t.id = s.id", "ON TRUE"), "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"),
        ("MERGE INTO target t USING source s ON t.id = s.id", "MERGE_WITHOUT_WHEN"),
        ("MERGE INTO target t USING source s ON CASE WHEN t.id = 1 THEN TRUE END", "MERGE_WITHOUT_WHEN"),
        (_UPSERT.replace("UPDATE SET *", "UPDATE SET id = 'x'"), "CAST_INVALID_INPUT"),
    ],
)
def test_errors_have_delta_s_and_spark_s_classes(engine: DeltaSparkEngine, sql: str, error_class: str) -> None:
    rejection = engine.run(_case(sql))
    assert isinstance(rejection, Rejection)
    assert rejection.error_class == error_class
    assert rejection.unchanged is True
    assert check_case(_case(sql), engine).verdict is Verdict.BOTH_REJECTED


def test_an_overflow_inside_a_task_is_named_not_its_wrapper(engine: DeltaSparkEngine) -> None:
    case = _case(_UPSERT, source={"schema": "id BIGINT, v STRING", "rows": [[3_000_000_000, "x"]]})
    rejection = engine.run(case)
    assert isinstance(rejection, Rejection)
    assert rejection.error_class == "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


def test_interleaved_kinds_are_sorted_for_sql(engine: DeltaSparkEngine) -> None:
    sql = (
        "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES "
        "(s.id, CASE WHEN s.v = 'y' THEN 'new' END) WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = s.v"
    )
    assert check_case(_case(sql), engine).verdict is Verdict.AGREE


def test_evolution_and_settings_reach_delta(engine: DeltaSparkEngine) -> None:
    case = _case(
        _UPSERT,
        source={"schema": "id INT, v STRING, w INT", "rows": [[1, "x", 5]]},
        conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"},
    )
    outcome = engine.run(case)
    assert isinstance(outcome, Outcome)
    assert outcome.schema.names == ("id", "v", "w")
    assert check_case(case, engine).verdict is Verdict.AGREE


def test_no_commit_is_seen(engine: DeltaSparkEngine) -> None:
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND t.v = 'nothing' THEN DELETE"
    outcome = engine.run(_case(sql))
    assert isinstance(outcome, Outcome)
    assert outcome.committed is False
    assert outcome.cdf == ()


def test_moments_in_partitions_are_those_of_the_case_in_any_time_zone(engine: DeltaSparkEngine) -> None:
    moment = "2020-01-01T00:00:00Z"
    case = _case(
        _UPSERT.replace("t.id = s.id", "t.p = s.p").replace("SET *", "SET v = 9"),
        target={"schema": "v INT, p TIMESTAMP", "partition_by": ["p"], "files": [[[1, moment]]]},
        source={"schema": "v INT, p TIMESTAMP", "rows": [[5, moment]]},
        conf={"spark.sql.session.timeZone": "Asia/Kolkata"},
    )
    outcome = engine.run(case)
    assert isinstance(outcome, Outcome)
    assert outcome.rows == ((9, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),)


def test_settings_that_are_not_spark_s_are_unsupported(engine: DeltaSparkEngine) -> None:
    assert engine.run(_case(_UPSERT, conf={"duckdb.threads": "1"})) == Unsupported("setting duckdb.threads")


def test_one_session_serves_both_engines_on_spark(engine: DeltaSparkEngine) -> None:
    ours = PySparkEngine(start_session())
    assert check_case(_case(_UPSERT), ours).verdict is Verdict.AGREE
    assert check_case(_case(_UPSERT), engine).verdict is Verdict.AGREE


def test_known_deviations_still_describe_this_release(engine: DeltaSparkEngine) -> None:
    deviations = load_deviations()
    assert deviations.of(engine)
    confirm(deviations, engine, pytest.fail)


def test_a_lost_row_may_be_all_that_was_to_be_written(engine: DeltaSparkEngine) -> None:
    """Then Delta adds no file, and the entry explains that as well."""
    files = [[[1, "deleted"], [None, "lost"]]]
    source = {"schema": "id INT", "rows": [[1], [None], [None], [1]]}
    sql = (
        "MERGE INTO target t USING source s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id > 0 THEN INSERT (id) VALUES (s.id)"
    )
    target = {"schema": "id INT, v STRING", "files": files, "properties": _FEED}
    report = check_case(_case(sql, target=target, source=source), engine)
    assert report.verdict is Verdict.MISMATCH
    found = load_deviations().explain(report, engine.capabilities)
    assert [entry.id for entry in found] == ["delta-spark-lost-row"]


def test_exported_scripts_run_on_spark(engine: DeltaSparkEngine) -> None:
    """The statements of delta-sql, and the script for PySpark in the active session, come to the reference's rows."""
    case = _case(
        _UPSERT,
        target={
            "schema": "id INT, `a'b\"\\c` STRING",
            "files": [[[1, "it's \\ \n"], [2, "\U0001f600"]], [[3, None]]],
        },
        source={"schema": "id INT, `a'b\"\\c` STRING", "rows": [[1, "x'\"`"], [9, "y"]]},
    )
    wanted = [(1, "x'\"`"), (2, "\U0001f600"), (3, None), (9, "y")]
    session = engine.session().newSession()
    for statement in sql_statements(case):
        session.sql(statement)
    assert sorted(map(tuple, session.table("target").collect())) == wanted
    session.sql("DROP TABLE target")
    script = exported(SavedCase(case=case, path=Path("case.json")), Format.PYSPARK)
    body = script[script.index("spark.sql(") :]
    names = {"spark": session}
    exec(compile(body, "case.py", "exec"), names)  # noqa: S102 - the exported script
    assert sorted(map(tuple, names["rows"])) == wanted
    session.sql("DROP TABLE target")
