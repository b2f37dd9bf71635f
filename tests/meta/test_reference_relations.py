"""Metamorphic relations of the reference (P-15 to P-28) on drawn cases: it is tested without any engine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.compare.invariants import invariant_mismatches
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.oracles.relations.oracle import RELATIONS
from mergecheck.harness.properties.facts import facts_of
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature, Profile, Stream, samples
from mergecheck.strategies import cases as case_strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.oracles.relations.relation import Relation
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.reference.answer import Reference

REFERENCE = MergeReference()


NUM_CASES = 45
NUM_EVOLVING = 30
# Shares of the drawn cases that are in a relation's domain, where more than a few must be.
LEAST_APPLIED = {
    "P-15": 0.8,
    "P-16-file-per-row": 0.7,
    "P-16-one-file": 0.7,
    "P-22-and-true": 0.8,
    "P-22-or-false": 0.8,
    "P-22-true-and": 0.8,
    "P-25": 1 / 3,
    "P-28": 0.1,
}
CHANGES_CLAUSES = frozenset({"source-halves", "target-halves"})
# With these a statement is rarely legal without evolution, or the old columns change too.
NEEDS_EVOLUTION = (
    Feature.EXPLICIT,
    Feature.GENERATED_COLUMNS,
    Feature.MISSING_SOURCE_COLUMNS,
    Feature.NESTED_TYPES,
    Feature.RENAMED_SOURCE_COLUMNS,
)
AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Case, Reference]]:
    """Draw cases once, with the reference's answer."""
    # statements broken on purpose and times of day, which the reference cannot compute alone, are in no domain
    profile = Profile().without(Feature.INVALID, Feature.TIME_ZONE)
    found = [drawn.case for drawn in itertools.islice(samples(2031, start=NUM_CASES, profile=profile), NUM_CASES)]
    return [(case, REFERENCE.evaluate(case)) for case in found]


@pytest.fixture(scope="module")
def drawn_with_evolution() -> list[tuple[Case, Reference]]:
    """Draw cases that evolve the schema by columns that only the source has, in statements of stars."""
    profile = Profile().favouring(Feature.SCHEMA_EVOLUTION, Feature.EXTRA_SOURCE_COLUMNS).without(*NEEDS_EVOLUTION)
    stream = Stream(case_strategy(profile=profile))
    drawn = [stream.draw(2026, number) for number in range(NUM_EVOLVING)]
    return [(case, REFERENCE.evaluate(case)) for case in drawn]


def predictions(drawn: list[tuple[Case, Reference]]) -> Iterator[tuple[Case, Prediction]]:
    """Pass over the cases that must be rejected."""
    for case, reference in drawn:
        if isinstance(reference.answer, Prediction):
            yield case, reference.answer


def test_most_drawn_cases_are_predicted(drawn: list[tuple[Case, Reference]]) -> None:
    """The relations below would be empty on rejected cases; of long streams four in five are predicted."""
    assert sum(1 for _ in predictions(drawn)) >= 0.8 * NUM_CASES


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.name)
def test_relations_hold(relation: Relation, drawn: list[tuple[Case, Reference]]) -> None:
    """The reference, too, keeps the relations that engines are asked without it."""

    def run(changed: Case) -> EngineResult:
        answer = REFERENCE.evaluate(changed).answer
        # Only a relation that changes the clauses' effect may leave the statements that must succeed.
        assert isinstance(answer, Prediction) or relation.name in CHANGES_CLAUSES, (changed.sql, answer)
        return answered(answer)

    num_applied = 0
    for case, answer in predictions(drawn):
        found = relation.check(case, answered(answer), run)
        assert not found, (case.sql, [line for mismatch in found for line in mismatch.lines])
        num_applied += found is not None
    assert num_applied > NUM_CASES * LEAST_APPLIED.get(relation.name, 0.05)


def test_predictions_conserve_rows(drawn: list[tuple[Case, Reference]]) -> None:
    """P-5 to P-14: counts add up, and the feed replays to the table."""
    for case, reference in drawn:
        outcome = answered(reference.answer)
        if isinstance(outcome, Outcome):
            assert invariant_mismatches(case, outcome, facts_of(case, reference).clauses_present) == (), case.sql


def test_evolution_only_adds(drawn_with_evolution: list[tuple[Case, Reference]]) -> None:
    """P-29: without evolution a statement that is legal then gives the same rows in the old columns."""
    num_compared = 0
    for case, answer in predictions(drawn_with_evolution):
        without = replace(
            case,
            sql=case.sql.replace(" WITH SCHEMA EVOLUTION", ""),
            conf={name: value for name, value in case.conf.items() if name != AUTO_MERGE},
        )
        fixed = REFERENCE.evaluate(without).answer
        old = case.target.schema
        nested = [c.type for c in answer.schema.columns[: len(old.columns)]] != [c.type for c in old.columns]
        if answer.schema != old and not nested and isinstance(fixed, Prediction):
            projected = tuple(row[: len(old.columns)] for row in answer.rows)
            assert same_rows(projected, fixed.rows, old), case.sql
            num_compared += 1
    assert num_compared > NUM_EVOLVING / 10


def test_ambiguous_merges_are_a_minority_of_the_drawn_cases(drawn: list[tuple[Case, Reference]]) -> None:
    """A generator whose cases are rejected tests nothing but analysis."""
    rejected = [r.answer.error_class for _, r in drawn if isinstance(r.answer, Rejection)]
    assert len(rejected) <= NUM_CASES / 5, rejected
