"""CHAR columns while Spark pads them: cases neither judged nor merged (R-822). All else is in the saved cases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("k INT, c CHAR(3)")
MERGE = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED"
PLAIN = Case(
    id="char",
    target=Target(schema=SCHEMA, files=(((1, "a"), (2, "b")),)),
    source=Source(schema=parse_schema("k INT, c STRING"), rows=((1, "x"),)),
    sql=f"{MERGE} AND s.c = 'x' THEN UPDATE SET c = s.c",
)
GENERATED = parse_schema("k INT, c CHAR(3), g STRING GENERATED ALWAYS AS (concat(c, 'x'))")
INVARIANT = parse_schema("k INT INVARIANT (c IS NOT NULL), c CHAR(3)")
UNPADDED = {"spark.sql.readSideCharPadding": "false"}


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    engine = PySparkEngine()
    yield engine
    engine.close()


def test_a_statement_over_other_columns_is_judged(engine: PySparkEngine) -> None:
    assert check_case(PLAIN, engine).verdict is Verdict.AGREE


@pytest.mark.parametrize(
    "case",
    [
        replace(PLAIN, sql=f"{MERGE} AND t.c = 'a' THEN DELETE"),
        replace(PLAIN, sql=f"{MERGE} THEN UPDATE SET c = concat(c, s.c)".replace("concat(c", "concat(t.c")),
        replace(PLAIN, sql="MERGE INTO target t USING source s ON t.c = s.c WHEN MATCHED THEN DELETE"),
        replace(PLAIN, target=replace(PLAIN.target, properties={"delta.constraints.some": "c <> 'z'"})),
        replace(PLAIN, target=replace(PLAIN.target, schema=GENERATED, files=())),
        replace(PLAIN, target=replace(PLAIN.target, schema=INVARIANT)),
        replace(PLAIN, target=replace(PLAIN.target, partition_by=("c",))),
        replace(PLAIN, source=None, sql=f"{MERGE} THEN DELETE".replace("source s", "target s")),
    ],
    ids=["condition", "value", "ON", "CHECK", "generated", "invariant", "partition", "self-merge"],
)
def test_what_would_see_the_spaces_is_neither_judged_nor_merged(engine: PySparkEngine, case: Case) -> None:
    answers = evaluate(case).answer, engine.run(case)
    assert [(type(answer), "CHAR" in getattr(answer, "reason", "")) for answer in answers] == [(Unsupported, True)] * 2


def test_without_padding_a_statement_over_it_is_judged(engine: PySparkEngine) -> None:
    case = replace(PLAIN, sql=f"{MERGE} AND t.c = 'a' THEN DELETE", conf=UNPADDED)
    assert check_case(case, engine).verdict is Verdict.AGREE
