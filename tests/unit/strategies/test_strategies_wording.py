"""Forms of a statement that real engines stumbled over: partial values, constant sources, wrong sides, brackets."""

from __future__ import annotations

from itertools import islice

import pytest

from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.types.data_types import BIGINT
from mergecheck.reference import MergeReference
from mergecheck.strategies import DrawnCase, Feature, Profile, samples
from mergecheck.strategies.syntax.expressions import CaseWhen, Comparison, Operator, Quotient, nodes

REFERENCE = MergeReference()


@pytest.fixture(scope="module")
def partial() -> tuple[DrawnCase, ...]:
    profile = Profile().favouring(Feature.PARTIAL_VALUES).without(Feature.INVALID)
    return tuple(each for each in islice(samples(71, profile=profile), 300) if "value:Quotient" in each.features)


def refused(rule: str, *, part: str = "", number: int) -> tuple[DrawnCase, ...]:
    """Draw cases that break a rule, with a part in their text."""
    # the reference abstains in time zones other than UTC
    profile = Profile(max_rows=3).without(Feature.TIME_ZONE)
    profile = profile.favouring(Feature.INVALID, Feature.INSERT, Feature.BY_SOURCE_UPDATE)
    drawn = islice(samples(74, profile=profile), 2_000)
    return tuple(islice((each for each in drawn if each.breaks == rule and part in each.case.sql), number))


@pytest.fixture(scope="module")
def constant() -> tuple[DrawnCase, ...]:
    profile = Profile(max_rows=4).favouring(Feature.SUBQUERY_SOURCE).without(Feature.INVALID, Feature.NESTED_TYPES)
    return tuple(each for each in islice(samples(72, profile=profile), 80) if "query:constants" in each.features)


def test_quotients_are_mostly_kept_from_zero(partial: tuple[DrawnCase, ...]) -> None:
    """A CASE around them or a condition of the clause; where neither is, the merge may fail."""
    assert len(partial) > 30
    guarded = bare = 0
    for clause in (clause for each in partial for clause in each.merge.statement.clauses):
        for value in (assignment.value for assignment in clause.assignments):
            if isinstance(value, CaseWhen) and isinstance(value.value, Quotient):
                guarded += 1
            elif isinstance(value, Quotient):
                tests = () if clause.condition is None else tuple(nodes(clause.condition))
                zero = [t for t in tests if isinstance(t, Comparison) and t.operator is Operator.NOT_EQUAL]
                guarded += any(test.left == value.right for test in zero)
                bare += not any(test.left == value.right for test in zero)
    assert guarded > 30
    assert 0 < bare < guarded / 4


def test_a_bare_quotient_goes_to_a_bigint(partial: tuple[DrawnCase, ...]) -> None:
    """Its failure must be the division's alone, not a cast's to a narrower column (R-252)."""
    for each in partial:
        schemas = each.merge.schemas
        # of two columns of one name the target's is assigned
        types = {column.name.lower(): column.type for column in (*schemas.source, *schemas.target)}
        for clause in each.merge.statement.clauses:
            for assignment in clause.assignments:
                if isinstance(assignment.value, Quotient) and not assignment.path:
                    assert types[assignment.column.lower()] == BIGINT


def test_partial_values_come_out_both_ways(partial: tuple[DrawnCase, ...]) -> None:
    """Most of these merges succeed, some divide by zero (R-254)."""
    answers = [REFERENCE.evaluate(each.case).answer for each in partial[:30]]
    assert sum(isinstance(answer, Prediction) for answer in answers) > 20
    assert all(answer.error_class != "INTERNAL_ERROR" for answer in answers if isinstance(answer, Rejection))


def test_a_source_may_be_written_out(constant: tuple[DrawnCase, ...]) -> None:
    """Both forms of constants, with the rows that the drawing saw and nothing behind them."""
    assert len(constant) > 12
    texts = [each.merge.query.text for each in constant if each.merge.query]
    assert any(" FROM VALUES (" in text for text in texts)
    assert any(" UNION ALL SELECT " in text and "VALUES" not in text for text in texts)
    for each in constant:
        assert each.case.source is not None
        assert not each.case.source.rows
        assert 1 <= len(each.merge.tables.source) <= 4


def test_the_reference_sees_the_written_rows(constant: tuple[DrawnCase, ...]) -> None:
    """As many source rows as were drawn (R-512)."""
    predicted = 0
    for each in constant[:16]:
        answer = REFERENCE.evaluate(each.case).answer
        if isinstance(answer, Prediction) and "numSourceRows" in answer.metrics:
            bounds = answer.metrics["numSourceRows"]
            predicted += str(len(each.merge.tables.source)) in str(bounds)
    assert predicted > 5


def test_on_stands_in_brackets_now_and_then() -> None:
    """In a part of the cases, whatever the condition is."""
    drawn = tuple(islice(samples(73), 120))
    assert 5 < sum(each.merge.statement.brackets for each in drawn) < 50
    assert all(" ON (" in each.case.sql for each in drawn if each.merge.statement.brackets and not each.breaks)


@pytest.mark.parametrize(("rule", "part", "number"), [("R-117", "", 6), ("R-133", " FROM source)", 2)])
def test_faults_of_sides_and_subqueries_are_refused(rule: str, part: str, number: int) -> None:
    """A column of a table without a row (R-117), a subquery over a table, in ON and in clauses alike (R-133)."""
    found = refused(rule, part=part, number=number)
    assert len(found) == number
    for each in found:
        assert isinstance(REFERENCE.evaluate(each.case).answer, Rejection)
