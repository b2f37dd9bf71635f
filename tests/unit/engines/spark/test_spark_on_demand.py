"""Spark as an evaluator that starts with the first question: where it does not start, and where it must not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark_values.on_demand import SparkNotStarted, SparkOnDemand
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    import pytest

SCHEMA = parse_schema("id INT, v STRING")


def case_of(value: str) -> Case:
    return Case(
        id="on-demand",
        target=Target(schema=SCHEMA, files=(((1, "a"),),)),
        source=Source(schema=SCHEMA, rows=((1, "x"),)),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {value}",
    )


ASKS_TWICE = """
from mergecheck.harness.engines.spark_values.on_demand import SparkOnDemand
from mergecheck.reference import MergeReference
from test_spark_on_demand import case_of

reference = MergeReference(SparkOnDemand())
for _ in range(2):
    print(reference.evaluate(case_of("soundex(s.v)")).answer.reason)
"""


def test_without_java_the_reason_names_it(tmp_path: Path) -> None:
    """In a process of its own: a session that runs needs no Java to start. The second question gets the same answer."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    ended = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", ASKS_TWICE],
        env={**environment, "PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    reasons = ended.stdout.splitlines()
    assert len(reasons) == 2
    for reason in reasons:
        assert reason.endswith("Spark does not start: Spark needs Java 17 or newer, and no java was found.")


def test_without_java_what_duckdb_evaluates_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert isinstance(MergeReference(SparkOnDemand()).evaluate(case_of("upper(s.v)")).answer, Prediction)


def test_the_reason_names_the_option_that_asks_spark() -> None:
    answer = MergeReference(SparkNotStarted()).evaluate(case_of("soundex(s.v)")).answer
    assert answer == Unsupported("DuckDB does not evaluate soundex(s.v); --expressions spark has Spark evaluate it")
