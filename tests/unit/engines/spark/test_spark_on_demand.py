"""Spark as an evaluator that starts with the first question: where it does not start, and where it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark_values.on_demand import SparkNotStarted, SparkOnDemand
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = parse_schema("id INT, v STRING")


def case_of(value: str) -> Case:
    return Case(
        id="on-demand",
        target=Target(schema=SCHEMA, files=(((1, "a"),),)),
        source=Source(schema=SCHEMA, rows=((1, "x"),)),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {value}",
    )


def test_without_java_the_reason_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    reference = MergeReference(SparkOnDemand())
    for _ in range(2):  # the second question gets the same answer
        answer = reference.evaluate(case_of("soundex(s.v)")).answer
        assert isinstance(answer, Unsupported)
        assert answer.reason.endswith("Spark does not start: Spark needs Java 17 or newer, and no java was found.")


def test_without_java_what_duckdb_evaluates_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert isinstance(MergeReference(SparkOnDemand()).evaluate(case_of("upper(s.v)")).answer, Prediction)


def test_the_reason_names_the_option_that_asks_spark() -> None:
    answer = MergeReference(SparkNotStarted()).evaluate(case_of("soundex(s.v)")).answer
    assert answer == Unsupported("DuckDB does not evaluate soundex(s.v); --expressions spark has Spark evaluate it")
