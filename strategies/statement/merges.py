"""Merges: tables and a statement over them, with its clauses, conditions and actions (R-005, R-101, R-107)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance, weighted
from mergecheck.strategies.expression.conditions import conditions_over
from mergecheck.strategies.expression.file_predicates import draw_file_predicate
from mergecheck.strategies.expression.scopes import Scope, clause_scope, whole_scope
from mergecheck.strategies.expression.slots import guarded
from mergecheck.strategies.features import CLAUSE_FEATURES, Feature
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile, feature_sets, uses
from mergecheck.strategies.statement.assignments import draw_insert_list, draw_set_list
from mergecheck.strategies.statement.joins import OnForm, draw_on_condition
from mergecheck.strategies.statement.matches import disambiguated, meeting, only_matched, roused, selective
from mergecheck.strategies.statement.source_queries import draw_source_query
from mergecheck.strategies.statement.unusual import (
    draw_bare_insert,
    draw_column_alias,
    draw_without_columns,
    interleaved,
    with_statement_time,
)
from mergecheck.strategies.syntax.expressions import FALSE, UNKNOWN, And
from mergecheck.strategies.syntax.spark_sql import statement_text
from mergecheck.strategies.syntax.statement import Action, Clause, ClauseKind, Statement
from mergecheck.strategies.table.names import draw_aliases
from mergecheck.strategies.table.rows import Tables, draw_tables, visible_source
from mergecheck.strategies.table.schemas import draw_schemas

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.statement.source_queries import SourceQuery
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression

_ACTIONS: dict[ClauseKind, tuple[tuple[Feature, Action], ...]] = {
    ClauseKind.MATCHED: ((Feature.MATCHED_UPDATE, Action.UPDATE), (Feature.MATCHED_DELETE, Action.DELETE)),
    ClauseKind.NOT_MATCHED: ((Feature.INSERT, Action.INSERT),),
    ClauseKind.NOT_MATCHED_BY_SOURCE: (
        (Feature.BY_SOURCE_UPDATE, Action.UPDATE),
        (Feature.BY_SOURCE_DELETE, Action.DELETE),
    ),
}
# Conditions do not make a match unambiguous, and they allow files to be skipped: without conditions a
# case shows neither.
_SELDOM_UNCONDITIONAL_PERCENT = 30
_AMBIGUOUS_UNCONDITIONAL_PERCENT = 35
_NEVER_TRUE_PERCENT = 55
_FALSE_FIRST_PERCENT = 25
_ONE_PERCENT = 20
_OTHER_CLAUSES = frozenset(CLAUSE_FEATURES) - {Feature.INSERT}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnMerge:
    """A statement with its tables, the form of its ON condition, and the query that is its source, if any."""

    schemas: Schemas
    tables: Tables
    statement: Statement
    on_form: OnForm
    query: SourceQuery | None = None


@st.composite
def merges(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> DrawnMerge:
    """Statements together with the tables that they merge."""
    return draw_merge(draw, draw(feature_sets(profile=profile)), profile, insert_only_optimised=True)


@st.composite
def statements(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> str:
    """MERGE statements as Spark SQL text."""
    return statement_text(draw(merges(profile=profile)).statement)


def draw_merge(
    draw: DrawFn,
    features: frozenset[Feature],
    profile: Profile,
    *,
    insert_only_optimised: bool,
    auto_merge: bool = False,
) -> DrawnMerge:
    """Draw tables and a statement over them; they shrink to one clause without a condition over ``t.id = s.id``.

    Args:
        draw: given by Hypothesis.
        features: the features that the case may use.
        profile: bounds of the tables and of the number of clauses.
        insert_only_optimised: insert-only merges do not check for ambiguous matches (R-320, R-402).
        auto_merge: the session has schema evolution on, so that the statement need not ask for it.
    """
    schemas = draw_schemas(draw, features)
    tables = draw_tables(draw, features, schemas, profile)
    aliases = draw_aliases(draw, features)
    bare = draw_without_columns(draw, features, schemas, tables, auto_merge=auto_merge)
    if bare is not None:
        insert = draw_bare_insert(draw, aliases, asks=bare[0].evolves and not auto_merge)
        return DrawnMerge(schemas=bare[0], tables=bare[1], statement=insert, on_form=OnForm.CONSTANT)
    aliases = draw_column_alias(draw, features, schemas, aliases)
    scope = whole_scope(features, schemas, tables)
    on_form, condition = draw_on_condition(draw, scope, schemas)
    condition = meeting(draw, condition, schemas, target=tables.target, source=visible_source(schemas, tables))
    clauses = tuple(clause for kind in ClauseKind for clause in _draw_kind(draw, kind, scope, schemas, profile))
    statement = Statement(
        condition=condition,
        clauses=interleaved(draw, features, clauses),
        aliases=aliases,
        self_merge=schemas.self_merge,
        with_schema_evolution=schemas.evolves and (not auto_merge or chance(draw, 20)),
        brackets=chance(draw, 15),
    )
    statement = with_statement_time(draw, features, statement)
    exempt = statement.sole_unconditional_delete or (statement.insert_only and insert_only_optimised)
    if not exempt and Feature.AMBIGUOUS not in features:
        tables = disambiguated(condition, schemas, tables)
    if Feature.ALL_MATCHED in features:
        tables = only_matched(condition, schemas, tables)
    if features.isdisjoint((Feature.LAYOUT_AMBIGUITY, Feature.NEVER_TRUE)):
        source = visible_source(schemas, tables)
        statement = roused(statement, schemas, target=tables.target, source=source)
        if Feature.CONDITIONS in features and statement.insert_only and len(statement.clauses) == 1:
            statement = selective(draw, statement, scope, schemas, target=tables.target, source=source)
    query = draw_source_query(draw, features, schemas, tables, max_rows=profile.max_rows)
    if query is not None:
        # a query has no name of its own
        aliases = aliases if aliases.source is not None else replace(aliases, source="s")
        statement = replace(statement, source_query=query.text, aliases=aliases)
    return DrawnMerge(schemas=schemas, tables=tables, statement=statement, on_form=on_form, query=query)


def _draw_kind(draw: DrawFn, kind: ClauseKind, scope: Scope, schemas: Schemas, profile: Profile) -> tuple[Clause, ...]:
    features = scope.features
    actions = tuple(action for feature, action in _ACTIONS[kind] if feature in features)
    if not actions:
        return ()
    if kind is ClauseKind.MATCHED and Feature.LONE_DELETE in features and Action.DELETE in actions:
        return (Clause(kind=kind, action=Action.DELETE),)
    # only the last clause of a kind may have no condition
    ends_bare = Feature.CONDITIONS not in features or chance(draw, _unconditional_percent(kind, features))
    if ends_bare:
        # an ambiguous row comes to the last clause, and others apply to other rows
        features -= {Feature.AMBIGUOUS}
    clause = _clauses(kind, actions, clause_scope(replace(scope, features=features), kind), schemas)
    is_one = Feature.SEVERAL_CLAUSES not in features or (_may_be_idle(kind, features) and chance(draw, _ONE_PERCENT))
    most = 1 if is_one else profile.max_clauses
    clauses = draw(st.lists(clause, min_size=1, max_size=most))
    if _may_be_idle(kind, features) and chance(draw, _FALSE_FIRST_PERCENT) and len(clauses) < most:
        clauses = [replace(draw(clause), condition=FALSE), *clauses]
    clauses = [guarded(clause) for clause in clauses]
    last = clauses[-1]
    if ends_bare:
        bare = replace(last, condition=None)
        # now and then a quotient divides by zero, and the merge fails
        last = bare if chance(draw, 25) else guarded(bare)
    return (*clauses[:-1], last)


def _unconditional_percent(kind: ClauseKind, features: frozenset[Feature]) -> float:
    if not features.isdisjoint((Feature.LAYOUT_AMBIGUITY, Feature.NEVER_TRUE)):
        return 0
    if _only_inserts(features):
        return _SELDOM_UNCONDITIONAL_PERCENT
    if kind is ClauseKind.MATCHED and Feature.FILE_PRUNING in features:
        return _SELDOM_UNCONDITIONAL_PERCENT
    if kind is ClauseKind.MATCHED and Feature.AMBIGUOUS in features:
        return _AMBIGUOUS_UNCONDITIONAL_PERCENT
    return 68


def _may_be_idle(kind: ClauseKind, features: frozenset[Feature]) -> bool:
    """Return whether clauses may apply to no row: the merge is refused for its ambiguous rows even so (R-320)."""
    return kind is ClauseKind.MATCHED and Feature.AMBIGUOUS in features and Feature.LAYOUT_AMBIGUITY not in features


def _only_inserts(features: frozenset[Feature]) -> bool:
    return features.isdisjoint(_OTHER_CLAUSES)


@st.composite
def _clauses(draw: DrawFn, kind: ClauseKind, actions: tuple[Action, ...], scope: Scope, schemas: Schemas) -> Clause:
    """Clauses of one kind, each with a condition; they shrink to the first action, TRUE and one assignment."""
    action = draw(st.sampled_from(actions))
    condition = _condition(draw, kind, scope)
    if action is Action.DELETE:
        return Clause(kind=kind, action=action, condition=condition)
    if _draws_star(draw, kind, scope.features, schemas):
        return Clause(kind=kind, action=action, condition=condition, star=True)
    draw_list = draw_set_list if action is Action.UPDATE else draw_insert_list
    return Clause(kind=kind, action=action, condition=condition, assignments=draw_list(draw, scope, schemas))


def _condition(draw: DrawFn, kind: ClauseKind, scope: Scope) -> Expression:
    if Feature.NEVER_TRUE in scope.features:
        return draw(_never_true(scope))
    # files are skipped only if every clause allows it
    by_layout = Feature.LAYOUT_AMBIGUITY in scope.features
    percent = 100 if by_layout else 60
    if _may_be_idle(kind, scope.features) and chance(draw, _NEVER_TRUE_PERCENT):
        return draw(_never_true(scope))
    seeks_null = chance(draw, _null_percent(scope.features))
    if seeks_null and not by_layout:
        # a NULL condition is not TRUE, on the path of insert-only merges neither
        unknown = tuple(found for found in scope.candidates if None in found.cells)
        return draw(conditions_over(replace(scope, candidates=unknown or scope.candidates)))
    prunes = kind is ClauseKind.MATCHED and uses(draw, scope.features, Feature.FILE_PRUNING, percent=percent)
    if prunes:
        return draw_file_predicate(draw, scope)
    return draw(conditions_over(scope))


def _never_true(scope: Scope) -> st.SearchStrategy[Expression]:
    """Conditions that are FALSE or NULL: nothing changes, and a merge with an ambiguous row is refused even so."""
    mixed = conditions_over(scope).map(lambda each: And(each, UNKNOWN))
    return weighted((4, st.just(FALSE)), (3, st.just(UNKNOWN)), (1, mixed))


def _null_percent(features: frozenset[Feature]) -> float:
    return 60 if _only_inserts(features) else 20


def _draws_star(draw: DrawFn, kind: ClauseKind, features: frozenset[Feature], schemas: Schemas) -> bool:
    if kind is ClauseKind.NOT_MATCHED_BY_SOURCE or not schemas.allows_star or Feature.STAR not in features:
        return False
    return Feature.EXPLICIT not in features or draw(st.booleans())
