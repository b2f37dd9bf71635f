"""Unit tests of what few merges have: odd schemas and names, other wordings, array functions."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.types.data_types import STRING, VOID, ArrayType, StructType
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.features import CLAUSE_FEATURES
from mergecheck.strategies.settings import APPEND_ONLY, CASE_SENSITIVE, DROP_NULL_COLUMNS
from mergecheck.strategies.syntax.expressions import ArrayCall, Verbatim, nodes
from mergecheck.strategies.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.strategies import DrawnCase
    from mergecheck.strategies.syntax.expressions import Expression

SEED = 61


def drawn(*features: Feature, number: int = 100, without: tuple[Feature, ...] = ()) -> tuple[DrawnCase, ...]:
    profile = Profile().favouring(*features, percent=97).without(*without)
    return tuple(islice(samples(SEED, profile=profile), number))


def expressions(each: DrawnCase) -> Iterator[Expression]:
    statement = each.merge.statement
    found = [statement.condition]
    for clause in statement.clauses:
        found += [assigned.value for assigned in clause.assignments]
        found += [] if clause.condition is None else [clause.condition]
    for expression in found:
        yield from nodes(expression)


def test_kinds_are_interleaved_and_each_keeps_its_order() -> None:
    """Some statements have an earlier kind behind a later one; only the last of a kind has no condition (R-102)."""
    mixed = 0
    order = list(ClauseKind)
    for each in drawn(Feature.INTERLEAVED, without=(Feature.INVALID,)):
        clauses = each.merge.statement.clauses
        mixed += any(order.index(a.kind) > order.index(b.kind) for a, b in pairwise(clauses))
        for kind in ClauseKind:
            assert all(clause.condition is not None for clause in each.merge.statement.of_kind(kind)[:-1])
    assert mixed > 20


def test_the_time_of_a_statement_is_compared_with_far_away_moments() -> None:
    """Conditions have it, with its value; assigned values have not (R-136)."""
    seen = set()
    for each in drawn(Feature.STATEMENT_TIME, without=(Feature.INVALID,)):
        for node in expressions(each):
            if isinstance(node, Verbatim):
                match = re.fullmatch(r"\((\w+)\(\) ([<>]) \w+ '(\d+)-.*'\)", node.text)
                assert match is not None
                call, operator, year = match.groups()
                assert node.value is ((operator == ">") == (int(year) < 2020))
                seen.add((call, node.value))
        assert not any(
            isinstance(node, Verbatim)
            for clause in each.merge.statement.clauses
            for assigned in clause.assignments
            for node in nodes(assigned.value)
        )
    assert {call for call, _ in seen} == {"current_date", "current_timestamp", "now"}
    assert {holds for _, holds in seen} == {True, False}


def test_a_target_may_lack_columns_and_a_source_a_type() -> None:
    """Into an empty target there is only INSERT * (R-141); VOID comes with the setting that refuses it (R-144)."""
    bare, evolving, void = 0, set(), 0
    for each in drawn(Feature.UNUSUAL_SCHEMAS):
        assert each.case.source is not None
        if not each.case.target.schema.columns:
            bare += 1
            evolving.add(each.merge.schemas.evolves)
            assert each.case.target.rows == ()
            assert each.case.sql.endswith("WHEN NOT MATCHED THEN INSERT *")
        types = [column.type for column in each.case.source.schema.columns]
        assert (VOID in types) == (each.breaks == "R-144") == (DROP_NULL_COLUMNS in each.case.conf)
        void += VOID in types
    assert bare > 10
    assert evolving == {True, False}
    assert void > 5


def test_case_sensitive_sessions_spell_names_as_the_schemas_do() -> None:
    """Every reference has the exact name of a column; some source columns differ in case from the target's (R-120)."""
    variants = 0
    for each in drawn(Feature.CASE_SENSITIVE, Feature.OTHER_CASE, without=(Feature.INVALID,)):
        schemas = each.merge.schemas
        assert (each.case.conf.get(CASE_SENSITIVE) == "true") == (Feature.CASE_SENSITIVE in each.enabled)
        if Feature.CASE_SENSITIVE not in each.enabled:
            continue
        variants += any(a != b and a.lower() == b.lower() for a, b in schemas.namesakes)
        known = {column.name for column in (*schemas.target, *schemas.source)}
        assert {node.name for node in expressions(each) if hasattr(node, "name")} <= known
    assert variants > 5


def test_names_of_change_columns_stand_beside_no_feed() -> None:
    """The target has them only without a change data feed; evolution may try to add one to any table (R-632)."""
    target, added = 0, 0
    for each in drawn(Feature.RESERVED_NAMES):
        reserved = {"_change_type", "_commit_version"}.intersection(each.case.target.schema.names)
        target += bool(reserved)
        assert not (reserved and each.case.target.properties.get(CDF_PROPERTY) == "true")
        added += any(column.name == "_commit_timestamp" for column in each.merge.schemas.new_columns)
    assert target > 20
    assert added > 3


def test_append_only_is_a_table_property() -> None:
    """Tables where rows are only added have it nearly always, others now and then (R-743)."""
    others = [
        each for each in drawn(Feature.APPEND_ONLY, without=(Feature.INVALID,)) if not each.merge.statement.insert_only
    ]
    adding = drawn(Feature.APPEND_ONLY, without=(Feature.INVALID, *set(CLAUSE_FEATURES) - {Feature.INSERT}))
    assert sum(APPEND_ONLY in each.case.target.properties for each in adding) / len(adding) > 0.6
    assert 0.03 < sum(APPEND_ONLY in each.case.target.properties for each in others) / len(others) < 0.7


def test_twins_in_the_source_are_never_referred_to() -> None:
    """Two names differ in case only, and no statement mentions them (R-823)."""
    seen = 0
    for each in drawn(Feature.DUPLICATE_SOURCE_NAMES, number=120):
        names = [] if each.case.source is None else [name.lower() for name in each.case.source.schema.names]
        if len(set(names)) < len(names):
            seen += 1
            assert "twin" not in each.case.sql.lower()
            assert each.case.source is not None
            assert all(len(row) == len(names) for row in each.case.source.rows)
    assert seen > 30


def test_an_alias_may_be_a_column_that_is_no_struct() -> None:
    """The source is called as an atomic column, so that its qualified names mean columns alone (R-824)."""
    seen = 0
    for each in drawn(Feature.ALIAS_OF_COLUMN, Feature.NESTED_TYPES):
        alias = each.merge.statement.aliases.source
        columns = (*each.merge.schemas.target, *each.merge.schemas.source)
        named = [column for column in columns if alias is not None and column.name.lower() == alias.lower()]
        seen += bool(named)
        assert not any(column.nested for column in named)
    assert seen > 50


def test_partition_columns_may_hold_the_empty_string() -> None:
    """Target rows have it, and values that flow in (R-744); a column that must not be NULL has it not."""
    target, source = 0, 0
    for each in drawn(Feature.PARTITIONS, Feature.AWKWARD_PARTITIONS, number=150):
        schemas = each.merge.schemas
        for name in schemas.partition_by:
            column = schemas.target_column(name)
            if column.type == STRING and name not in {key for key, _ in schemas.keys}:
                place = schemas.target.index(column)
                found = any(row[place] == "" for row in each.case.target.rows)
                assert not (found and column.required)
                target += found
                meant = schemas.namesake(name)
                if meant is not None:
                    place = schemas.source.index(meant)
                    source += any(row[place] == "" for row in each.merge.tables.source)
    assert target > 5
    assert source > 5


def test_array_functions_take_arrays_of_one_type() -> None:
    """Each occurs, over text, whole numbers or structs of them, also of other fields than the target (R-246)."""
    cases = drawn(Feature.NESTED_TYPES, Feature.EXPRESSIONS, Feature.EXPLICIT, Feature.CASTS, number=600)
    calls = [node for each in cases for node in expressions(each) if isinstance(node, ArrayCall)]
    assert {call.function for call in calls} == {
        *("array_distinct", "array_union", "array_except", "array_intersect", "array_remove")
    }
    assert all(len(call.arguments) == (1 if call.function == "array_distinct" else 2) for call in calls)
    variants = [
        column
        for each in cases
        if any(isinstance(node, ArrayCall) for node in expressions(each))
        for column in each.merge.schemas.source
        if column.feeds is not None and isinstance(column.type, ArrayType)
    ]
    assert any(
        isinstance(column.type, ArrayType) and isinstance(column.type.element, StructType) for column in variants
    )


@pytest.mark.parametrize("by_source", [True, False])
def test_a_field_that_only_the_source_has_is_assigned(by_source: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Unqualified or by the source's alias, never by the target's (R-231, R-233)."""
    seen = 0
    for each in drawn(Feature.SCHEMA_EVOLUTION, Feature.NESTED_UPDATE, number=240):
        types = {column.name.lower(): column.type for column in each.merge.schemas.target}
        for clause in each.merge.statement.clauses:
            for assigned in clause.assignments:
                struct = types.get(assigned.column.lower())
                if len(assigned.path) == 1 and isinstance(struct, StructType):
                    own = {field.name.lower() for field in struct.fields}
                    if assigned.path[0].lower() not in own:
                        assert not assigned.qualified
                        seen += assigned.by_source is by_source
    assert seen > 0


def test_ambiguity_may_hide_in_files_that_conditions_leave_out() -> None:
    """Then nothing but MATCHED clauses stand, each with a condition, beside several matches (R-322)."""
    cases = drawn(Feature.LAYOUT_AMBIGUITY, without=(Feature.COLUMN_DEFAULTS, Feature.UNUSUAL_SCHEMAS))
    pruned = [each for each in cases if {"prunes:clauses", "outcome:ambiguous"} <= each.features]
    assert len(pruned) > 20
