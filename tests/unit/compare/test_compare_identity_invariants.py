"""Generated values of identity columns: any that keep to R-226 are right, and each broken rule is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.log_invariants.identity_invariants import next_mark
from mergecheck.harness.engine import Capabilities
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.types.data_types import Identity, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

ALWAYS = "k INT, id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 3 HIGH WATER MARK 13)"
CASE = Case(
    id="c",
    target=Target(
        schema=parse_schema(ALWAYS),
        files=(((1, 10), (2, 13)),),
        properties={"delta.enableChangeDataFeed": "true"},
    ),
    source=Source(schema=parse_schema("k INT"), rows=((2,), (3,), (3,))),
    sql="MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
)
SHOWS_ALL = Capabilities(metrics=False, cdf=True, schema=True)


def mismatches(values: tuple[int | None, int | None], *, mark: int | None, key: int = 3) -> list[str]:
    """Compare an engine's answer that has some generated values with the reference's."""
    prediction = evaluate(CASE).answer
    assert isinstance(prediction, Prediction)
    column = prediction.schema.columns[1]
    assert column.identity is not None
    moved = replace(column, identity=replace(column.identity, mark=mark))
    inserted = tuple((key, value) for value in values)
    outcome = Outcome(
        schema=Schema((prediction.schema.columns[0], moved)),
        rows=((1, 10), *inserted),
        cdf=((2, 13, "delete"), *((*row, "insert") for row in inserted)),
    )
    compared = compare_outcome(prediction, outcome, capabilities=SHOWS_ALL)
    return [line for mismatch in compared.mismatches for line in mismatch.lines]


@pytest.mark.parametrize(("values", "mark"), [((16, 19), 19), ((16, 22), 22), ((700, 16), 700)])
def test_any_values_that_keep_to_the_rule_are_right(values: tuple[int, int], mark: int) -> None:
    """R-226: they may come in any order and with gaps."""
    assert mismatches(values, mark=mark) == []


@pytest.mark.parametrize(
    ("values", "mark", "said"),
    [
        ((16, 16), 16, "16 was generated 2 times"),
        ((16, 20), 22, "20 was generated, but it is not 10 plus a multiple of 3"),
        ((13, 16), 16, "13 was generated, but the next value was 16"),
        ((None, 16), 16, "a value was to be generated, but it is NULL"),
        ((16, 19), 16, "the high-water mark is 16, but the values written make it 19"),
        ((16, 19), None, "the high-water mark is absent, but"),
        ((16, 19), 22, "the high-water mark is 22, but"),
    ],
)
def test_broken_rules_are_found(values: tuple[int | None, int], mark: int | None, said: str) -> None:
    """R-226: each of them by one line."""
    (line,) = mismatches(values, mark=mark)
    assert said in line


def test_all_other_columns_are_compared() -> None:
    """A generated value excuses no other cell."""
    assert any("k: reference 3, engine 4" in line for line in mismatches((16, 19), mark=19, key=4))


@pytest.mark.parametrize(
    ("identity", "written", "mark"),
    [
        (Identity(10, 3), [10, 13], 13),
        (Identity(10, 3), [12], 13),
        (Identity(10, 3), [9], None),
        (Identity(10, 3, mark=19), [12], 19),
        (Identity(10, 3, mark=4), [5], 7),
        (Identity(10, -3), [5, 8], 4),
        (Identity(10, -3), [11], None),
        (Identity(10, 3, mark=13), [None], 13),
    ],
)
def test_marks(identity: Identity, written: list[int | None], mark: int | None) -> None:
    """R-226: the furthest value, or the next of the sequence; not before the start, and never back."""
    assert next_mark(identity, written) == mark
