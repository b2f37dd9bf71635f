"""Metamorphic relations of the reference (semantics.md 9.4) on drawn cases: it is tested without any engine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from harness.compare_rows import same_rows
from harness.conservation import conservation_mismatches
from harness.identity import row_identifier
from harness.statement_text import ClauseText, MergeText, cut_merge
from reference import evaluate
from reference.case import CDF_PROPERTY, Source, Target
from reference.case_file import change_schema
from reference.outcome import Outcome, Prediction, Reference, Rejection
from reference.types import Field, Schema
from strategies import Feature, Profile, Stream, samples
from strategies import cases as case_strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference.case import Case

NUM_CASES = 90
NUM_EVOLVING = 40
# With these a statement is rarely legal without evolution, or the old columns change too.
NEEDS_EVOLUTION = (
    Feature.EXPLICIT,
    Feature.GENERATED_COLUMNS,
    Feature.MISSING_SOURCE_COLUMNS,
    Feature.NESTED_TYPES,
    Feature.RENAMED_SOURCE_COLUMNS,
)
AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
# Functions of tables, statement and settings only, not of the layout of files.
ROW_METRICS = (
    "numSourceRows",
    "numTargetRowsInserted",
    "numTargetRowsMatchedUpdated",
    "numTargetRowsNotMatchedBySourceUpdated",
    "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceDeleted",
)


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Case, Reference]]:
    """Draw cases once, with the reference's answer."""
    found = [drawn.case for drawn in itertools.islice(samples(2026), NUM_CASES)]
    return [(case, evaluate(case)) for case in found]


@pytest.fixture(scope="module")
def drawn_with_evolution() -> list[tuple[Case, Reference]]:
    """Draw cases that evolve the schema by columns that only the source has, in statements of stars."""
    profile = Profile().favouring(Feature.SCHEMA_EVOLUTION, Feature.EXTRA_SOURCE_COLUMNS).without(*NEEDS_EVOLUTION)
    stream = Stream(case_strategy(profile=profile))
    drawn = [stream.draw(2026, number) for number in range(NUM_EVOLVING)]
    return [(case, evaluate(case)) for case in drawn]


def predictions(drawn: list[tuple[Case, Reference]]) -> Iterator[tuple[Case, Prediction]]:
    """Pass over the cases that must be rejected."""
    for case, reference in drawn:
        if isinstance(reference.answer, Prediction):
            yield case, reference.answer


def assert_same(before: Prediction, changed: Case) -> None:
    """Require the same rows, change rows and row metrics of a changed case."""
    after = evaluate(changed).answer
    assert isinstance(after, Prediction), (changed.sql, after)
    assert before.schema == after.schema, changed.sql
    assert same_rows(before.rows, after.rows, before.schema), changed.sql
    if before.cdf is not None and after.cdf is not None:
        assert same_rows(before.cdf, after.cdf, change_schema(before.schema)), changed.sql
    for name in ROW_METRICS:
        assert before.metrics[name] == after.metrics[name], (name, changed.sql)


def test_most_drawn_cases_are_predicted(drawn: list[tuple[Case, Reference]]) -> None:
    """The relations below would be empty on rejected cases."""
    assert sum(1 for _ in predictions(drawn)) >= 0.85 * NUM_CASES


def test_order_and_layout_of_rows_do_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-16: permuted rows, one row a file, all rows in one file."""
    for case, answer in predictions(drawn):
        rows = case.target.rows
        layouts = [(tuple(reversed(rows)),), tuple((row,) for row in rows), (rows,)]
        for files in layouts:
            target = replace(case.target, files=tuple(file for file in files if file))
            source = None if case.source is None else replace(case.source, rows=tuple(reversed(case.source.rows)))
            assert_same(answer, replace(case, target=target, source=source))


def test_switches_do_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-15, P-17: the change feed and the layout-related settings change no row."""
    for case, answer in predictions(drawn):
        feed = "false" if case.target.change_data_feed else "true"
        properties = {**case.target.properties, CDF_PROPERTY: feed}
        assert_same(answer, replace(case, target=replace(case.target, properties=properties)))
        if not holds_empty_text(case):  # in a partition column it is stored as NULL
            assert_same(answer, replace(case, target=replace(case.target, partition_by=())))


def test_predictions_conserve_rows(drawn: list[tuple[Case, Reference]]) -> None:
    """P-5 to P-14: counts add up, and the feed replays to the table."""
    for case, reference in drawn:
        answer = reference.answer
        if isinstance(answer, Prediction):
            exact = {name: bound.low for name, bound in answer.metrics.items() if bound.exact}
            outcome = Outcome(
                schema=answer.schema,
                rows=answer.rows,
                metrics=exact,
                cdf=answer.cdf,
                committed=answer.committed,
                path=answer.path,
            )
            assert conservation_mismatches(case, outcome, reference.facts) == (), case.sql


def holds_empty_text(case: Case) -> bool:
    """Tell whether an empty text stands in a cell or in the statement."""
    source = () if case.source is None else case.source.rows
    return "''" in case.sql or any("" in row for row in (*case.target.rows, *source))


def with_dead_clauses(text: MergeText) -> MergeText:
    """Put a clause that never fires in front of the clauses of each kind that is there (P-18)."""
    actions = {"WHEN MATCHED": "DELETE", "WHEN NOT MATCHED BY SOURCE": "DELETE", "WHEN NOT MATCHED": "INSERT *"}
    clauses: list[ClauseText] = []
    for clause in text.clauses:
        when = clause.when.upper().replace(" BY TARGET", "")
        if when in actions and "INSERT" not in actions[when]:
            clauses.append(ClauseText(when=when, condition="FALSE", action=actions.pop(when)))
        clauses.append(clause)
    return MergeText(head=text.head, condition=text.condition, clauses=tuple(clauses))


def test_dead_clauses_do_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-18: outside of ambiguous matches, a clause with condition FALSE changes nothing."""
    for case, reference in drawn:
        if isinstance(reference.answer, Prediction) and not reference.facts.multi_matched:
            text = with_dead_clauses(cut_merge(case.sql))
            assert_same(reference.answer, replace(case, sql=text.sql()))


def test_redundant_on_does_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-22: ON p, p AND TRUE, p OR FALSE are one condition."""
    for case, answer in predictions(drawn):
        text = cut_merge(case.sql)
        for condition in (
            f"({text.condition}) AND TRUE",
            f"TRUE AND ({text.condition})",
            f"({text.condition}) OR FALSE",
        ):
            assert_same(answer, replace(case, sql=replace(text, condition=condition).sql()))


def split_conditions(text: MergeText) -> MergeText:
    """Split every conditional clause ``c`` into ``c AND d`` and ``c AND (d IS NOT TRUE)`` (P-20)."""
    clauses: list[ClauseText] = []
    for clause in text.clauses:
        if clause.condition is None:
            clauses.append(clause)
            continue
        first, second = f"({clause.condition}) AND (1 = 0)", f"({clause.condition}) AND ((1 = 0) IS NOT TRUE)"
        clauses += [replace(clause, condition=first), replace(clause, condition=second)]
    return replace(text, clauses=tuple(clauses))


def test_split_clauses_do_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-20: a clause split by a further condition is the same two clauses."""
    for case, answer in predictions(drawn):
        assert_same(answer, replace(case, sql=split_conditions(cut_merge(case.sql)).sql()))


def test_sync_makes_the_target_equal_to_the_source(drawn: list[tuple[Case, Reference]]) -> None:
    """P-25: update all, insert all, delete by source, on keys that are unique on both sides."""
    num_synced = 0
    for case, _ in predictions(drawn):
        schema = Schema(tuple(Field(column.name, column.type) for column in case.target.schema.columns))
        if not schema.columns:
            continue
        key = schema.columns[0]
        if case.target.partition_by or key.type.ddl().startswith(("STRUCT", "ARRAY", "MAP")):
            continue
        unique = {row_identifier(schema)((row[0],)): row for row in case.target.rows if is_plain_key(row[0])}
        rows = tuple(unique.values())
        wanted = tuple((row[0], *other[1:]) for row, other in zip(rows, rows[1:] + rows[:1], strict=True))[1:]
        name = f"`{key.name.replace('`', '``')}`"
        sync = replace(
            case,
            target=Target(schema=schema, files=(rows[::2],) if rows else ()),
            source=Source(schema=schema, rows=wanted),
            sql=f"MERGE INTO target t USING source s ON t.{name} = s.{name} WHEN MATCHED THEN UPDATE SET * "
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE",
            conf={},
        )
        answer = evaluate(sync).answer
        assert isinstance(answer, Prediction), answer
        assert same_rows(wanted, answer.rows, schema)
        num_synced += 1
    assert num_synced > NUM_CASES / 3


def is_plain_key(value: object) -> bool:
    """Leave out NULL, which matches nothing, and zeros, of which floats have two that match (R-308, R-802)."""
    return value is not None and not (isinstance(value, float) and value == 0)


def test_evolution_that_adds_nothing_does_not_matter(drawn: list[tuple[Case, Reference]]) -> None:
    """P-28: where the source has the target's columns and fields, and no others, evolution changes nothing."""
    num_same = 0
    for case, answer in predictions(drawn):
        source = case.target.schema if case.source is None else case.source.schema
        types = {column.name.lower(): column.type for column in source.columns}
        same = {column.name.lower(): column.type for column in case.target.schema.columns} == types
        if same and "USING (" not in case.sql and "EVOLUTION" not in case.sql:
            assert_same(answer, replace(case, conf={**case.conf, AUTO_MERGE: "true"}))
            num_same += 1
    assert num_same > NUM_CASES / 10


def test_evolution_only_adds(drawn_with_evolution: list[tuple[Case, Reference]]) -> None:
    """P-29: without evolution a statement that is legal then gives the same rows in the old columns."""
    num_compared = 0
    for case, answer in predictions(drawn_with_evolution):
        without = replace(
            case,
            sql=case.sql.replace(" WITH SCHEMA EVOLUTION", ""),
            conf={name: value for name, value in case.conf.items() if name != AUTO_MERGE},
        )
        fixed = evaluate(without).answer
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
