"""Unit tests of calls of Spark's function library in random cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.model.types.data_types import BINARY, STRING
from mergecheck.strategies import DrawnCase, Profile, sample
from mergecheck.strategies.expression.function_calls import FUNCTION_CALLS
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Aliases

SEED, NUM_CASES = 61, 150


def calls(each: DrawnCase) -> list[e.LibraryCall]:
    statement = each.merge.statement
    values = [assignment.value for clause in statement.clauses for assignment in clause.assignments]
    conditions = [clause.condition for clause in statement.clauses if clause.condition is not None]
    return [node for part in (*values, *conditions) for node in e.nodes(part) if isinstance(node, e.LibraryCall)]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[DrawnCase, DrawnCase]]:
    """Cases that may have calls, each with the case of the same number without them."""
    always = Profile(function_calls_percent=100)
    return [(sample(SEED, index, profile=always), sample(SEED, index)) for index in range(NUM_CASES)]


def test_calls_are_drawn_last(pairs: list[tuple[DrawnCase, DrawnCase]]) -> None:
    """A case with calls is the case of its number in everything but one clause; by default no case has calls."""
    with_calls = [(each, plain) for each, plain in pairs if calls(each)]
    assert len(with_calls) > NUM_CASES / 2
    for each, plain in pairs:
        assert not calls(plain)
        found, wanted = each.case, plain.case
        # as texts: NaN equals nothing
        assert repr((found.target, found.source, found.conf)) == repr((wanted.target, wanted.source, wanted.conf))
        drawn, clauses = each.merge.statement.clauses, plain.merge.statement.clauses
        assert sum(one != other for one, other in zip(drawn, clauses, strict=True)) == bool(calls(each))


def test_values_and_conditions_call_functions(pairs: list[tuple[DrawnCase, DrawnCase]]) -> None:
    """Both occur, and so do calls over columns of either table."""
    texts = {call.texts for each, _ in pairs for call in calls(each)}
    sides = {part.side for each, _ in pairs for call in calls(each) for part in call.operands if hasattr(part, "side")}
    labels = {label for each, _ in pairs for label in each.features}
    assert len(texts) > 40
    assert sides == {e.MergeTable.TARGET, e.MergeTable.SOURCE}
    assert {"value:LibraryCall", "condition-node:LibraryCall"} <= labels


def test_cases_with_calls_are_harmless(pairs: list[tuple[DrawnCase, DrawnCase]]) -> None:
    """A finding with a call can be replayed without --trust; that holds for every call that may be drawn."""
    for each, _ in pairs:
        require_harmless(each.case, "a drawn case")
    for call in FUNCTION_CALLS:
        operands = tuple(e.Literal(None, each) for each in call.operand_types)
        text = expression_text(call.over(operands), Aliases())
        sql = f"MERGE INTO target t USING source s ON TRUE WHEN NOT MATCHED AND ({text}) IS NULL THEN INSERT *"
        require_harmless(replace(pairs[0][0].case, sql=sql), "a call")


@pytest.mark.parametrize(
    ("result", "operand", "written"), [(STRING, "name", "upper(t.`name`)"), (BINARY, "b", "encode(t.`b`, 'UTF-8')")]
)
def test_a_call_is_written_around_its_operands(result: object, operand: str, written: str) -> None:
    first = next(call for call in FUNCTION_CALLS if call.result == result)
    call = first.over((e.Reference(side=e.MergeTable.TARGET, name=operand),))
    assert expression_text(call, Aliases()) == written.replace("`", "")
