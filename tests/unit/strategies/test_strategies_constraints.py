"""Unit tests of drawn constraints, defaults and generated columns."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.types.data_types import BIGINT, INT, STRING, StructType
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.syntax.columns import Column
from mergecheck.strategies.syntax.expressions import Cast, Coalesce, Literal, MergeTable, Reference, Sum
from mergecheck.strategies.syntax.statement import Action
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.constraints import substituted, with_computed

if TYPE_CHECKING:
    from mergecheck.strategies import DrawnCase

DEMANDS = (Feature.NOT_NULL, Feature.CHECKS, Feature.COLUMN_DEFAULTS, Feature.GENERATED_COLUMNS)
V = Reference(side=MergeTable.TARGET, name="v", qualified=False)
ONE = Literal(1, INT)


@pytest.fixture(scope="module")
def drawn() -> tuple[DrawnCase, ...]:
    return tuple(islice(samples(31, profile=Profile().favouring(*DEMANDS, percent=70)), 120))


def test_the_table_keeps_its_own_rules_at_first(drawn: tuple[DrawnCase, ...]) -> None:
    """Initial rows satisfy NOT NULL, CHECK and the generation expressions, or the table could not exist (R-740)."""
    for each in drawn:
        schemas = each.merge.schemas
        found = places(schemas.target, ())
        for row in each.case.target.rows:
            for place, column in enumerate(schemas.target):
                assert row[place] is not None or not column.not_null
                if column.computed is not None:
                    assert row[place] == evaluator(column.computed, found)(row, ())
            assert all(evaluator(check.condition, found)(row, ()) is True for check in schemas.checks)


def test_added_rows_of_large_tables_compute_their_generated_columns() -> None:
    """A generated column that holds small numbers is not varied as other numbers are."""
    profile = Profile().favouring(Feature.GENERATED_COLUMNS, Feature.LARGE_TABLES, percent=100)
    found = []
    for each in islice(samples(5, profile=profile), 60):
        schemas = each.merge.schemas
        at = places(schemas.target, ())
        computed = [(place, column.computed) for place, column in enumerate(schemas.target) if column.computed]
        for row in each.case.target.rows[1_000:1_010]:
            found += [row[place] == evaluator(expression, at)(row, ()) for place, expression in computed]
    assert len(found) > 50
    assert all(found)


def test_every_demand_reaches_the_case(drawn: tuple[DrawnCase, ...]) -> None:
    """NOT NULL, DEFAULT, GENERATED stand in the schema, CHECK in properties; new source columns may be NOT NULL."""
    columns = [column for each in drawn for column in each.case.target.schema.columns]
    assert any(not column.nullable for column in columns)
    assert any(column.default is not None for column in columns)
    assert any(column.generated is not None for column in columns)
    assert any(name.startswith("delta.constraints.") for each in drawn for name in each.case.target.properties)
    for each in drawn:
        for column in each.case.source.schema.columns if each.case.source else ():
            assert column.nullable or column.name not in each.case.target.schema.names
            assert column.default is None
            assert column.generated is None


def test_an_engine_may_have_generated_columns_and_no_values_for_them() -> None:
    """Neither a list nor a star then gives a generated column a value; the columns themselves stay."""
    favoured = Profile().favouring(*DEMANDS, percent=70)
    for profile, expected in ((favoured, {True, False}), (favoured.without(Feature.LISTED_GENERATED), {False})):
        given = [
            clause.star or name in {assignment.column for assignment in clause.assignments}
            for each in islice(samples(31, profile=profile), 100)
            for name in (column.name for column in each.merge.schemas.target if column.computed is not None)
            for clause in each.merge.statement.clauses
            if clause.action is not Action.DELETE
        ]
        assert len(given) > 50
        assert set(given) == expected


def test_generated_columns_come_after_what_they_use(drawn: tuple[DrawnCase, ...]) -> None:
    """The operands of a generated column are small, so that no sum overflows."""
    for each in drawn:
        for column in each.merge.schemas.target:
            if column.computed is not None:
                assert not column.bounded
                assert any(base.bounded for base in each.merge.schemas.target)


def test_empty_computed_cells_are_filled_and_wrong_ones_kept() -> None:
    """A cell that is there is wrong on purpose."""
    columns = (Column(name="v", type=INT), Column(name="g", type=INT, computed=Sum(left=V, right=ONE)))
    assert with_computed([(1, None), (None, None), (1, 9)], columns) == ((1, 2), (None, None), (1, 9))


def test_a_text_of_a_number_is_computed_too() -> None:
    """The one cast that changes the value's kind."""
    columns = (Column(name="v", type=INT), Column(name="g", type=STRING, computed=Cast(V, STRING)))
    assert with_computed([(-1, None), (None, None)], columns) == ((-1, "-1"), (None, None))


def test_substitution_goes_inside() -> None:
    """A listed generated column gets the expression over the values that the clause assigns (R-222, R-223)."""
    new = Reference(side=MergeTable.SOURCE, name="w")
    other = Reference(side=MergeTable.TARGET, name="k")
    given = Coalesce(Cast(Sum(left=V, right=other), BIGINT), V)
    expected = Coalesce(Cast(Sum(left=new, right=other), BIGINT), new)
    assert substituted(given, {"v": new}) == expected


def test_without_violations_nothing_is_null_that_must_not_be(drawn: tuple[DrawnCase, ...]) -> None:
    """An INSERT lists every column that wants a value and has no default (R-221)."""
    for each in drawn:
        required = {c.name.lower() for c in each.merge.schemas.target if c.not_null and c.default is None}
        if Feature.VIOLATIONS in each.enabled or not required:
            continue
        for clause in each.merge.statement.clauses:
            if clause.assignments and clause.action.value == "insert":
                assert required <= {assignment.column.lower() for assignment in clause.assignments}


def test_fields_are_not_null_where_the_table_keeps_to_it() -> None:
    """R-741: neither a field that must not be NULL nor the struct around it is."""
    profile = Profile().favouring(Feature.NOT_NULL_FIELDS, Feature.NESTED_TYPES)
    found = [each for each in islice(samples(33, profile=profile), 150) if "column:not-null-field" in each.features]
    assert len(found) > 5
    for each in found:
        for place, column in enumerate(each.case.target.schema.columns):
            assert isinstance(column.type, StructType) or column.type.ddl().count("NOT NULL") == 0
            strict = column.type.fields if isinstance(column.type, StructType) else ()
            for position in (i for i, field in enumerate(strict) if not field.nullable):
                assert all(row[place] is not None and row[place][position] is not None for row in each.case.target.rows)
