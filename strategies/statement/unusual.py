"""What few merges have: no columns, VOID, twin columns, an alias that is a column, other orders of clauses.

Each is added after the usual drawing, so that it goes when its feature goes while a case shrinks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.case import Source
from mergecheck.model.types.data_types import INT, STRING, TIMESTAMP_NTZ, VOID, Field, Schema, has_type
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax.columns import Schemas
from mergecheck.strategies.syntax.expressions import FALSE, TRUE, And, Or, Verbatim
from mergecheck.strategies.syntax.statement import Action, Aliases, Clause, ClauseKind, Statement
from mergecheck.strategies.table.rows import Tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Value
    from mergecheck.strategies.syntax.expressions import Expression

_PAST = ("2001-01-01", "1969-12-31")
_FUTURE = ("9000-01-01",)
_REFER_TO_ALL = frozenset({Feature.SCHEMA_EVOLUTION, Feature.SUBQUERY_SOURCE, Feature.INVALID})
"""Features with which a statement may refer to every column of the source."""


def draw_without_columns(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, tables: Tables, *, auto_merge: bool
) -> tuple[Schemas, Tables] | None:
    """Remove the target's columns: evolution adds the source's, without evolution the merge is refused (R-141).

    Returns columns and rows of both tables, None if the drawn tables stay.
    """
    wanted = uses(draw, features, Feature.UNUSUAL_SCHEMAS, percent=30)
    if not wanted or schemas.self_merge or Feature.SCHEMA_EVOLUTION not in features:
        return None
    kept = [place for place, c in enumerate(schemas.source) if not c.nested and c.type != TIMESTAMP_NTZ]
    source = tuple(replace(schemas.source[place], computed=None) for place in kept)
    rows = tuple(tuple(row[place] for place in kept) for row in tables.source)
    evolves = auto_merge or chance(draw, 75)
    bare = Schemas(
        target=(), source=source, keys=(), namesakes=(), evolves=evolves, case_sensitive=schemas.case_sensitive
    )
    return bare, Tables(files=(), source=rows)


def draw_bare_insert(draw: DrawFn, aliases: Aliases, *, asks: bool) -> Statement:
    """Draw a statement for a target without columns, which can only insert (R-141)."""
    insert = Clause(kind=ClauseKind.NOT_MATCHED, action=Action.INSERT, star=True)
    return Statement(
        condition=draw(st.sampled_from((FALSE, TRUE))), clauses=(insert,), aliases=aliases, with_schema_evolution=asks
    )


def draw_column_alias(draw: DrawFn, features: frozenset[Feature], schemas: Schemas, aliases: Aliases) -> Aliases:
    """Set the source's alias to a column name of the source (R-824).

    The column is atomic: ``v.x`` is no field of a struct ``v`` then, whichever of the two an engine looks for first.
    """
    if not uses(draw, features, Feature.ALIAS_OF_COLUMN) or schemas.self_merge:
        return aliases
    nested = {c.name.lower() for c in (*schemas.target, *schemas.source) if c.nested}
    taken = {"target", (aliases.target or "target").lower()}
    names = [c.name for c in schemas.source if c.name.lower() not in nested | taken]
    return replace(aliases, source=draw(st.sampled_from(names))) if names else aliases


def draw_twins(draw: DrawFn, features: frozenset[Feature], source: Source) -> Source:
    """Add two columns whose names differ in case only; no statement refers to them, so they do no harm (R-823)."""
    if not features.isdisjoint(_REFER_TO_ALL) or not uses(draw, features, Feature.DUPLICATE_SOURCE_NAMES):
        return source
    return _with_columns(source, {Field("twin", INT): 1, Field("TWIN", STRING): "x"})


def draw_void(draw: DrawFn, features: frozenset[Feature], statement: Statement, source: Source) -> Source | None:
    """Add a column of type VOID that a star under evolution would add (R-144); None if there is nothing to refuse.

    The refusal needs a setting, see ``mergecheck.strategies.settings.DROP_NULL_COLUMNS``.
    """
    adds = Feature.SCHEMA_EVOLUTION in features and any(clause.star for clause in statement.clauses)
    if not adds or not uses(draw, features, Feature.UNUSUAL_SCHEMAS, percent=35):
        return None
    return _with_columns(source, {Field("nothing", VOID): None})


def draw_timestamp_ntz(
    draw: DrawFn, features: frozenset[Feature], statement: Statement, source: Source, target: Schema
) -> Source | None:
    """Add a column of type TIMESTAMP_NTZ that a star under evolution would add to a table without one (R-704)."""
    adds = Feature.SCHEMA_EVOLUTION in features and any(clause.star for clause in statement.clauses)
    if not adds or has_type(target, TIMESTAMP_NTZ) or not uses(draw, features, Feature.UNUSUAL_SCHEMAS, percent=20):
        return None
    return _with_columns(source, {Field("moment", TIMESTAMP_NTZ): None})


def _with_columns(source: Source, added: Mapping[Field, Value]) -> Source:
    rows = tuple((*row, *added.values()) for row in source.rows)
    return Source(schema=Schema((*source.schema.columns, *added)), rows=rows)


def interleaved(draw: DrawFn, features: frozenset[Feature], clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Mix the kinds of clauses; clauses of one kind keep their order, so the meaning stays (R-102)."""
    if Feature.INTERLEAVED not in features or len({clause.kind for clause in clauses}) == 1:
        return clauses
    waiting = {kind: [clause for clause in clauses if clause.kind is kind] for kind in ClauseKind}
    kinds = draw(st.permutations([clause.kind for clause in clauses]))
    return tuple(waiting[kind].pop(0) for kind in kinds)


def with_statement_time(draw: DrawFn, features: frozenset[Feature], statement: Statement) -> Statement:
    """Add a test of the statement's time to ON or to some clause, with a moment that no run comes near (R-136)."""
    if not uses(draw, features, Feature.STATEMENT_TIME):
        return statement
    place = draw(st.sampled_from((None, *range(len(statement.clauses)))))
    if place is None:
        return replace(statement, condition=_decided(draw, statement.condition))
    clause = statement.clauses[place]
    return statement.with_clause(place, replace(clause, condition=_decided(draw, clause.condition)))


def _decided(draw: DrawFn, condition: Expression | None) -> Expression:
    """Add a conjunct that is always TRUE, or a disjunct that is always FALSE."""
    never = condition is not None and chance(draw, 30)
    test = _test(draw, holds=not never)
    if condition is None:
        return test
    return Or(condition, test) if never else And(condition, test)


def _test(draw: DrawFn, *, holds: bool) -> Verbatim:
    """Draw a comparison of the statement's time with a given result."""
    later = draw(st.booleans())
    day = draw(st.sampled_from(_FUTURE if later else _PAST))
    operator = "<" if later is holds else ">"
    call = draw(st.sampled_from(("current_date()", "current_timestamp()", "now()")))
    literal = f"DATE '{day}'" if call == "current_date()" else f"TIMESTAMP '{day} 00:00:00+00:00'"
    return Verbatim(f"({call} {operator} {literal})", holds)
