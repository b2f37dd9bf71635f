"""Statements that only Spark can evaluate, judged on both engines on Spark; a wrong value is still found."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.search.session import reference_for
from mergecheck.harness.verdict import Expressions, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.strategies.expression.function_calls import FUNCTION_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

pytestmark = pytest.mark.spark

_HEAD = "MERGE INTO target t USING source s ON t.id = s.id"
_QUERY = "MERGE INTO target t USING (SELECT id, v FROM source WHERE soundex(v) = 'R163' LIMIT 9) s ON t.id = s.id"
_FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture(scope="module", params=[PySparkEngine, DeltaSparkEngine], ids=["pyspark", "delta-spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    started = request.param(start_session())
    yield started
    started.close()


def case_of(sql: str, *, properties: dict[str, str] | None = None) -> Case:
    document = {
        "format_version": 1,
        "id": "spark-values",
        "target": {
            "schema": "id INT, v STRING",
            "files": [[[1, "a"], [2, "b"]], [[3, None]]],
            "properties": properties or _FEED,
        },
        "source": {"schema": "id INT, v STRING", "rows": [[1, "Robert"], [9, "y"]]},
        "sql": sql,
    }
    return parse_cases(json.dumps(document), name="test", lines=False)[0]


def test_spark_gives_every_call_its_type() -> None:
    """The calls of random cases are valid, and their results need no cast."""
    constants = {
        "STRING": "CAST('a b' AS STRING)",
        "INT": "1",
        "BIGINT": "2L",
        "DOUBLE": "1.5D",
        "BOOLEAN": "true",
        "DATE": "DATE '2020-01-02'",
        "TIMESTAMP": "TIMESTAMP '2020-01-01 00:00:00Z'",
        "BINARY": "X'61'",
    }
    values = (re.sub(r"\{([A-Z]+)\}", lambda found: constants[found[1]], call.text) for call in FUNCTION_CALLS)
    answer = start_session().sql("SELECT " + ", ".join(f"{value} AS c{place}" for place, value in enumerate(values)))
    types = [field.dataType.simpleString().upper() for field in answer.schema]
    assert types == [call.result.ddl() for call in FUNCTION_CALLS]
    assert len(answer.collect()) == 1


def test_a_new_row_may_break_not_null_inside_a_struct(engine: Engine) -> None:
    """Spark is shown the row for the generated column all the same."""
    document = {
        "format_version": 1,
        "id": "required-field",
        "target": {
            "schema": "k INT, n STRUCT<a: INT, e: ARRAY<INT> NOT NULL>, "
            "g BIGINT GENERATED ALWAYS AS (CAST(k AS BIGINT))",
            "files": [],
        },
        "source": {"schema": "k INT, n STRUCT<a: INT>", "rows": [[1, {"a": 1}]]},
        "sql": "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
        "conf": {"spark.sql.ansi.enabled": "false"},
    }
    (case,) = parse_cases(json.dumps(document), name="test", lines=False)
    reference = reference_for(engine).evaluate
    assert check_case(case, engine, reference=reference).verdict is Verdict.BOTH_REJECTED


@pytest.mark.parametrize(
    ("sql", "properties", "verdict"),
    [
        (f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)", None, Verdict.AGREE),
        (
            f"{_HEAD} WHEN MATCHED AND soundex(s.v) = 'R163' THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            None,
            Verdict.AGREE,
        ),
        (f"{_HEAD} OR soundex(t.v) = soundex(s.v) WHEN MATCHED THEN UPDATE SET *", None, Verdict.AGREE),
        (f"{_QUERY} WHEN MATCHED THEN UPDATE SET *", None, Verdict.AGREE),
        (
            f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = s.v",
            {"delta.constraints.sound": "coalesce(soundex(v), '') <> 'R163'"},
            Verdict.BOTH_REJECTED,
        ),
        (f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = raise_error(s.v)", None, Verdict.BOTH_REJECTED),
        (f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = no_such_function(s.v)", None, Verdict.BOTH_REJECTED),
    ],
    ids=["value", "condition", "search-condition", "source-query", "check", "failing-value", "unknown-function"],
)
def test_engine_is_judged_by_values_from_spark(
    engine: Engine, sql: str, properties: dict[str, str] | None, verdict: Verdict
) -> None:
    report = check_case(case_of(sql, properties=properties), engine, reference=reference_for(engine).evaluate)
    assert report.verdict is verdict, (report.reason, report.mismatches)
    assert verdict is not Verdict.AGREE or report.reference.asked


class WrongValue:
    """An engine that changes one cell."""

    def __init__(self, inner: Engine) -> None:
        self.name, self.version, self.capabilities = inner.name, inner.version, inner.capabilities
        self._inner = inner

    def run(self, case: Case) -> EngineResult:
        result = self._inner.run(case)
        assert isinstance(result, Outcome)
        wrong = tuple((row[0], "wrong") if row[0] == 1 else row for row in result.rows)
        return replace(result, rows=wrong)

    def close(self) -> None:
        """Leave the inner engine open."""


def test_wrong_value_is_found(engine: Engine) -> None:
    case = case_of(f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)")
    report = check_case(case, WrongValue(engine), reference=reference_for(engine).evaluate)
    assert report.verdict is Verdict.MISMATCH


def test_duckdb_alone_does_not_ask(engine: Engine) -> None:
    case = case_of(f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)")
    reference = reference_for(engine, Expressions.DUCKDB).evaluate(case)
    assert isinstance(reference.answer, Unsupported)
    assert reference.asked == ()


class WithoutSpark:
    """An engine that needs no Spark; its answers do not matter here."""

    name, version, capabilities = "without-spark", "1", Capabilities()

    def run(self, case: Case) -> EngineResult:
        raise NotImplementedError(case)

    def close(self) -> None:
        """Nothing is open."""


def test_spark_starts_for_an_engine_without_it_if_that_is_allowed() -> None:
    case = case_of(f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)")
    alone, helped = (reference_for(WithoutSpark(), starts_spark=starts).evaluate(case) for starts in (False, True))
    assert isinstance(alone.answer, Unsupported)
    assert isinstance(helped.answer, Prediction)
    assert sorted(helped.answer.rows, key=repr) == [(1, "R163"), (2, "b"), (3, None)]
    assert helped.asked == ("soundex(s.v)",)


def test_spark_and_duckdb_answer_alike(engine: Engine) -> None:
    case = case_of(f"{_HEAD} AND t.id > 0 WHEN MATCHED THEN UPDATE SET v = upper(s.v) WHEN NOT MATCHED THEN INSERT *")
    by_spark = reference_for(engine, Expressions.SPARK).evaluate(case)
    assert len(by_spark.asked) == 2
    assert by_spark.answer == MergeReference().evaluate(case).answer


def test_no_view_and_no_setting_is_left() -> None:
    session = start_session()
    taken = [session.newSession()]
    evaluator = SparkEvaluator(lambda: session)
    case = replace(
        case_of(f"{_HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)"), conf={"spark.sql.ansi.enabled": "false"}
    )
    MergeReference(evaluator).evaluate(case)
    with evaluator.opened({}, {}) as opened:
        opened.type_of("1", ())
        used = opened.close()
    assert used is not None
    assert [table.name for table in used.catalog.listTables()] == []
    assert used.conf.get("spark.sql.ansi.enabled") == taken[0].conf.get("spark.sql.ansi.enabled")
