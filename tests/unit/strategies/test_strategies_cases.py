"""Unit tests of what every drawn case must keep to."""

from __future__ import annotations

from itertools import islice, permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, INT, STRING, TINYINT
from mergecheck.strategies import (
    Feature,
    Profile,
    cases,
    conditions,
    feature_sets,
    merges,
    samples,
    schemas,
    statements,
    tables,
)
from mergecheck.strategies.features import CLAUSE_FEATURES
from mergecheck.strategies.syntax.columns import Column, Domain, assignable
from mergecheck.strategies.syntax.expressions import (
    CaseWhen,
    Coalesce,
    FieldAccess,
    Literal,
    MergeTable,
    Reference,
    nodes,
)
from mergecheck.strategies.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.strategies import DrawnCase
    from mergecheck.strategies.syntax.expressions import Expression

RESERVED = {"_change_type", "_commit_version", "_commit_timestamp"}
FEW = settings(max_examples=30, deadline=None, database=None)


@pytest.fixture(scope="module")
def drawn() -> tuple[DrawnCase, ...]:
    wide = Profile().favouring(Feature.PARTITIONS, Feature.UNQUALIFIED_NAMES, Feature.EXPRESSIONS, percent=60)
    return (*islice(samples(11), 150), *islice(samples(12, profile=wide), 150))


def test_files_can_be_written_as_delta(drawn: tuple[DrawnCase, ...]) -> None:
    """Each file holds rows of one tuple of partition values, and some column is data (R-745)."""
    for case in (each.case for each in drawn):
        names = case.target.schema.names
        places = [names.index(name) for name in case.target.partition_by]
        assert len(places) < len(names) or not (names or case.target.files)
        for file in case.target.files:
            assert file
            assert len({repr([row[place] for place in places]) for row in file}) == 1


def test_tables_keep_to_their_bounds(drawn: tuple[DrawnCase, ...]) -> None:
    """At most 20 rows a table, but for large tables, and 5 files; every row has a cell per column."""
    for each in drawn:
        case, most = each.case, 20_000 if Feature.LARGE_TABLES in each.enabled else 20
        assert len(case.target.rows) <= most
        assert len(case.target.files) <= 5
        assert all(len(row) == len(case.target.schema.columns) for row in case.target.rows)
        if case.source is not None:
            assert len(case.source.rows) <= most
            assert all(len(row) == len(case.source.schema.columns) for row in case.source.rows)


def test_the_empty_string_reaches_a_partition_column_by_flag_only(drawn: tuple[DrawnCase, ...]) -> None:
    """Rows and assigned values bring the empty string there only where it was asked for (R-744)."""
    for each in drawn:
        schemas_ = each.merge.schemas
        strings = [name for name in schemas_.partition_by if schemas_.target_column(name).type == STRING]
        for name in strings:
            assert schemas_.target_column(name).domain is Domain.SMALL
            namesake = schemas_.namesake(name)
            assert namesake is None or namesake.domain is Domain.SMALL
            place = each.case.target.schema.names.index(name)
            allowed = Feature.AWKWARD_PARTITIONS in each.enabled
            assert allowed or all(row[place] != "" for row in each.case.target.rows)
            for value in (outcome for assigned in _assigned(each, name) for outcome in _outcomes(assigned)):
                assert not isinstance(value, FieldAccess)
                assert not isinstance(value, Reference) or _reads_small(each, value)
                assert allowed or not isinstance(value, Literal) or value.value != ""


def test_names_are_unique_in_any_case(drawn: tuple[DrawnCase, ...]) -> None:
    """No two columns of a table differ by case alone, none equals a plain alias or a name that Delta uses."""
    for case in (each.case for each in drawn):
        for table in (case.target, case.source):
            if table is not None:
                lowered = [name.lower() for name in table.schema.names]
                # twins have a flag of their own
                assert len(set(lowered)) == len(lowered) - lowered.count("twin") // 2
                assert not {"t", "s", "tgt", "src", "target", "source"}.intersection(lowered)
                # the change feed's names have a flag of their own (R-632), and so have the engines' names
                underscored = {name for name in lowered if name.startswith("_") and "__delta_rs_" not in name}
                assert underscored <= RESERVED


def test_only_the_last_clause_of_a_kind_lacks_a_condition(drawn: tuple[DrawnCase, ...]) -> None:
    """The rule that the parser enforces (R-107), for at most four clauses of a kind."""
    for each in drawn:
        for kind in ClauseKind:
            clauses = each.merge.statement.of_kind(kind)
            assert len(clauses) <= 4
            assert all(clause.condition is not None for clause in clauses[:-1])


def test_clauses_refer_to_columns_in_scope(drawn: tuple[DrawnCase, ...]) -> None:
    """NOT MATCHED clauses see the source only, NOT MATCHED BY SOURCE clauses the target only (R-115)."""
    allowed = {
        ClauseKind.MATCHED: {MergeTable.TARGET, MergeTable.SOURCE},
        ClauseKind.NOT_MATCHED: {MergeTable.SOURCE},
        ClauseKind.NOT_MATCHED_BY_SOURCE: {MergeTable.TARGET},
    }
    for each in drawn:
        for clause in each.merge.statement.clauses:
            parts = [assignment.value for assignment in clause.assignments]
            for expression in parts if clause.condition is None else [clause.condition, *parts]:
                assert {ref.side for ref in _references(expression)} <= allowed[clause.kind]


def test_unqualified_names_are_unambiguous(drawn: tuple[DrawnCase, ...]) -> None:
    """In ON and in MATCHED clauses a bare name stands on one side only (R-118)."""
    bare = 0
    for each in drawn:
        sides = [column.name.lower() for column in (*each.merge.schemas.target, *each.merge.schemas.source)]
        statement = each.merge.statement
        matched = [clause.condition for clause in statement.of_kind(ClauseKind.MATCHED) if clause.condition]
        for expression in (statement.condition, *matched):
            for reference in _references(expression):
                if not reference.qualified:
                    bare += 1
                    assert sides.count(reference.name.lower()) == 1
    assert bare > 0


def test_a_star_finds_every_column_in_the_source(drawn: tuple[DrawnCase, ...]) -> None:
    """A star without schema evolution needs every target column by name (R-201)."""
    for each in drawn:
        if each.merge.schemas.evolves or each.breaks or each.merge.query is not None:
            continue
        if any(clause.star for clause in each.merge.statement.clauses) and each.case.source is not None:
            source = {name.lower() for name in each.case.source.schema.names}
            assert source.issuperset(name.lower() for name in each.case.target.schema.names)


def test_no_set_list_assigns_a_column_twice(drawn: tuple[DrawnCase, ...]) -> None:
    """No path in a SET or INSERT list equals another or leads to one, as the session reads names (R-210, R-225)."""
    for each in drawn:
        fold = str if Feature.CASE_SENSITIVE in each.enabled else str.lower
        for clause in each.merge.statement.clauses:
            paths = [tuple(map(fold, (a.column, *a.path))) for a in clause.assignments]
            for one, other in permutations(paths, 2):
                assert one != other[: len(one)]


def test_ids_come_from_the_contents(drawn: tuple[DrawnCase, ...]) -> None:
    """Equal cases have equal ids, different cases different ones."""
    by_id = {each.case.id: each.case for each in drawn}
    assert len(by_id) == len({repr(each.case) for each in drawn})


def test_ambiguous_cases_carry_the_flag(drawn: tuple[DrawnCase, ...]) -> None:
    """Without the flag no drawn case must be rejected (R-320)."""
    for each in drawn:
        if Feature.AMBIGUOUS not in each.enabled:
            assert "outcome:ambiguous" not in each.features


@pytest.mark.parametrize(
    ("origin", "column", "to_partition", "expected"),
    [
        (Column(name="a", type=INT), Column(name="b", type=TINYINT), False, True),
        (Column(name="a", type=INT, domain=Domain.WIDE), Column(name="b", type=TINYINT), False, False),
        (Column(name="a", type=TINYINT, domain=Domain.WIDE), Column(name="b", type=BIGINT), False, True),
        (Column(name="a", type=STRING, domain=Domain.WIDE), Column(name="b", type=STRING), True, False),
        (Column(name="a", type=STRING), Column(name="b", type=STRING), True, True),
        (Column(name="a", type=STRING), Column(name="b", type=INT), False, False),
    ],
)
def test_assignments_fit_without_loss(origin: Column, column: Column, to_partition: bool, expected: bool) -> None:  # noqa: FBT001 - columns of the table above
    """Small integers fit everywhere, extreme ones upwards only, text only text (R-251)."""
    assert assignable(origin, column, to_partition=to_partition) is expected


@FEW
@given(st.data())
def test_each_strategy_draws_alone(data: st.DataObject) -> None:
    """The strategies of the public API work without the others and shrink to something."""
    assert data.draw(feature_sets()).intersection(CLAUSE_FEATURES)
    assert data.draw(schemas()).keys
    columns, rows = data.draw(tables())
    assert all(len(row) == len(columns.target) for row in rows.target)
    assert data.draw(statements()).startswith(("MERGE INTO target", "MERGE WITH SCHEMA EVOLUTION INTO target"))
    assert data.draw(merges()).statement.clauses
    assert data.draw(conditions(kind=ClauseKind.NOT_MATCHED)) is not None


@FEW
@given(cases())
def test_a_case_is_a_plain_strategy(case: object) -> None:
    """``@given(cases())`` works with all of Hypothesis' health checks on."""
    assert "INTO target" in repr(case)


def _references(expression: Expression) -> Iterator[Reference]:
    return (node for node in nodes(expression) if isinstance(node, Reference))


def _assigned(each: DrawnCase, name: str) -> list[Expression]:
    clauses = each.merge.statement.clauses
    return [a.value for clause in clauses for a in clause.assignments if a.column.lower() == name.lower()]


def _outcomes(value: Expression) -> Iterator[Expression]:
    """Yield the parts of a value that may become the value."""
    match value:
        case CaseWhen(_, first, second) | Coalesce(first, second):
            yield from _outcomes(first)
            yield from _outcomes(second)
        case _:
            yield value


def _reads_small(each: DrawnCase, reference: Reference) -> bool:
    columns = each.merge.schemas.target if reference.side is MergeTable.TARGET else each.merge.schemas.source
    return next(c for c in columns if c.name.lower() == reference.name.lower()).domain is Domain.SMALL
