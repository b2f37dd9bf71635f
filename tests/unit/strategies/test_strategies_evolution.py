"""Unit tests of drawn schema evolution and nested data."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, INT, STRING, ArrayType, Field, MapType, StructType
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.settings import AUTO_MERGE
from mergecheck.strategies.syntax.expressions import MergeTable, Reference
from mergecheck.strategies.table.nested import (
    comparable,
    feeding,
    field_paths,
    fields_below,
    has_constants,
    variants,
)

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies import DrawnCase

FEW = settings(max_examples=40, deadline=None, database=None)
INNER = StructType((Field("x", BIGINT), Field("y", STRING)))
OUTER = StructType((Field("a", INT), Field("c", INNER), Field("e", ArrayType(INT))))
FORBIDDEN = set(" ,;{}()\n\t=")


@pytest.fixture(scope="module")
def drawn() -> tuple[DrawnCase, ...]:
    profile = Profile().favouring(Feature.SCHEMA_EVOLUTION, Feature.NESTED_UPDATE, Feature.SPACED_NAMES)
    return tuple(islice(samples(41, profile=profile), 120))


def test_evolution_is_asked_for_by_statement_or_session(drawn: tuple[DrawnCase, ...]) -> None:
    """Either is there whenever evolution is on, and neither otherwise."""
    both = set()
    for each in drawn:
        by_text = " WITH SCHEMA EVOLUTION " in each.case.sql
        by_session = each.case.conf.get(AUTO_MERGE) == "true"
        assert (by_text or by_session) == each.merge.schemas.evolves
        both.add((by_text, by_session))
    assert {(True, False), (False, True)} <= both


def test_no_evolved_schema_has_names_that_delta_refuses(drawn: tuple[DrawnCase, ...]) -> None:
    """Without column mapping a changed schema cannot hold them, so a run of them would test nothing else."""
    for each in drawn:
        if each.merge.schemas.evolves:
            names = {column.name for column in (*each.merge.schemas.target, *each.merge.schemas.source)}
            assert not any(FORBIDDEN.intersection(name) for name in names)


def test_new_columns_are_assigned_without_the_targets_alias(drawn: tuple[DrawnCase, ...]) -> None:
    """A new column has a namesake in the source and is not qualified by the target (R-231)."""
    seen = 0
    for each in drawn:
        own = {column.name.lower() for column in each.merge.schemas.target}
        source = {column.name.lower() for column in each.merge.schemas.source}
        for clause in each.merge.statement.clauses:
            for assignment in clause.assignments:
                if assignment.column.lower() not in own:
                    seen += 1
                    assert each.merge.schemas.evolves
                    assert assignment.column.lower() in source
                    assert not assignment.qualified
                    assert clause.kind.value != "not_matched_by_source"
    assert seen > 0


def test_nested_paths_lead_through_structs_only(drawn: tuple[DrawnCase, ...]) -> None:
    """Each path names fields of the target's type; several depths occur (R-212, R-214)."""
    depths = set()
    for each in drawn:
        types = {column.name.lower(): column.type for column in each.merge.schemas.target}
        for clause in each.merge.statement.clauses:
            for assignment in clause.assignments:
                found: DataType | None = types.get(assignment.column.lower(), INT)
                for name in assignment.path:
                    assert isinstance(found, StructType)
                    found = next((field.type for field in found.fields if field.name.lower() == name.lower()), None)
                # only evolution may name a field that the target lacks, see tests of unusual cases
                assert found is not None or (each.merge.schemas.evolves and not assignment.qualified)
                depths.add(len(assignment.path))
    assert depths >= {0, 1, 2}


@FEW
@given(st.data())
def test_a_variant_without_evolution_has_the_same_fields(data: st.DataObject) -> None:
    """Order, case and leaf types may differ; the set of fields must not (R-243)."""
    features = frozenset({Feature.CASTS, Feature.OTHER_CASE})
    variant = data.draw(variants(OUTER, features))
    assert isinstance(variant, StructType)
    assert sorted(field.name.lower() for field in variant.fields) == ["a", "c", "e"]


@FEW
@given(st.data())
def test_values_of_a_variant_have_its_shape(data: st.DataObject) -> None:
    """A struct value has a part for each field of the source's type, also inside arrays and maps."""
    features = frozenset({Feature.SCHEMA_EVOLUTION})
    to = MapType(STRING, ArrayType(OUTER))
    variant = data.draw(variants(to, features))
    assert isinstance(variant, MapType)
    assert isinstance(variant.value, ArrayType)
    assert isinstance(variant.value.element, StructType)
    for _, elements in data.draw(feeding(variant, to, misfits=False)):
        for element in elements or ():
            assert element is None or len(element) == len(variant.value.element.fields)


@FEW
@given(st.data())
def test_no_drawn_path_is_a_prefix_of_another(data: st.DataObject) -> None:
    """Several fields of one struct go together only so (R-210, R-215)."""
    paths = [path for path, _ in data.draw(field_paths(OUTER))]
    assert paths
    for one in paths:
        assert sum(other[: len(one)] == one for other in paths) == 1


def test_fields_are_found_at_every_depth() -> None:
    """Each with the way to its value; NULL on the way is NULL."""
    leaves = {leaf.path: leaf for leaf in fields_below(Reference(side=MergeTable.TARGET, name="n"), OUTER)}
    assert list(leaves) == [("a",), ("c",), ("c", "x"), ("c", "y"), ("e",)]
    assert leaves["c", "y"].value((1, (2, "t"), None)) == "t"
    assert leaves["c", "y"].value((1, None, None)) is None


@pytest.mark.parametrize(
    ("data_type", "equality", "constants"),
    [
        (INT, True, True),
        (INNER, True, True),
        (OUTER, True, False),
        (ArrayType(INNER), True, False),
        (StructType((Field("m", MapType(INT, INT)),)), False, False),
    ],
)
def test_what_nested_types_allow(data_type: StructType, equality: bool, constants: bool) -> None:  # noqa: FBT001 - columns of the table above
    """Nothing with a map inside compares (R-807); arrays and maps have no constants here."""
    assert (comparable(data_type), has_constants(data_type)) == (equality, constants)
