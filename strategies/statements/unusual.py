"""Schemas and names that few merges have: no columns at all, VOID, twins in the source, an alias that is a column.

Each is put onto what was drawn as ever (R-141, R-144, R-823, R-824), so that it goes when its flag goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.reference.case.model import Source
from mergecheck.reference.types.data_types import INT, STRING, TIMESTAMP_NTZ, VOID, Field, Schema
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature, uses
from mergecheck.strategies.syntax.columns import Schemas
from mergecheck.strategies.syntax.expressions import FALSE, TRUE
from mergecheck.strategies.syntax.statement import Action, Aliases, Clause, ClauseKind, Statement
from mergecheck.strategies.tables.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value

_NO_COLUMNS_PERCENT = 30
_VOID_PERCENT = 20
_EVOLVING_PERCENT = 75
_REFER_TO_ALL = frozenset({Feature.SCHEMA_EVOLUTION, Feature.SUBQUERY_SOURCE, Feature.INVALID})
"""Features under which a statement may refer to every column of the source."""


def draw_without_columns(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, tables: Tables, *, auto_merge: bool
) -> tuple[Schemas, Tables] | None:
    """Take the target's columns away: evolution then gives it the source's, without it the merge is refused (R-141).

    None where the drawn tables stay.
    """
    wanted = uses(draw, features, Feature.UNUSUAL_SCHEMAS, percent=_NO_COLUMNS_PERCENT)
    if not wanted or schemas.self_merge or Feature.SCHEMA_EVOLUTION not in features:
        return None
    kept = [place for place, c in enumerate(schemas.source) if not c.nested and c.type != TIMESTAMP_NTZ]
    source = tuple(replace(schemas.source[place], computed=None) for place in kept)
    rows = tuple(tuple(row[place] for place in kept) for row in tables.source)
    evolves = auto_merge or chance(draw, _EVOLVING_PERCENT)
    bare = Schemas(
        target=(), source=source, keys=(), namesakes=(), evolves=evolves, case_sensitive=schemas.case_sensitive
    )
    return bare, Tables(files=(), source=rows)


def draw_bare_insert(draw: DrawFn, aliases: Aliases, *, asks: bool) -> Statement:
    """Draw a statement for a target without columns: all there is to do is to insert (R-141)."""
    insert = Clause(kind=ClauseKind.NOT_MATCHED, action=Action.INSERT, star=True)
    return Statement(
        condition=pick(draw, (FALSE, TRUE)), clauses=(insert,), aliases=aliases, with_schema_evolution=asks
    )


def draw_column_alias(draw: DrawFn, features: frozenset[Feature], schemas: Schemas, aliases: Aliases) -> Aliases:
    """Call the source as one of its columns (R-824).

    Only as an atomic one: ``v.x`` is then no field of a struct ``v``, whichever of the two is looked for first.
    """
    if not uses(draw, features, Feature.ALIAS_OF_COLUMN) or schemas.self_merge:
        return aliases
    nested = {c.name.lower() for c in (*schemas.target, *schemas.source) if c.nested}
    taken = {"target", (aliases.target or "target").lower()}
    names = [c.name for c in schemas.source if c.name.lower() not in nested | taken]
    return replace(aliases, source=pick(draw, names)) if names else aliases


def draw_twins(draw: DrawFn, features: frozenset[Feature], source: Source) -> Source:
    """Add two columns whose names differ in case only; nobody refers to them, so they do no harm (R-823)."""
    if not features.isdisjoint(_REFER_TO_ALL) or not uses(draw, features, Feature.DUPLICATE_SOURCE_NAMES):
        return source
    return _with_columns(source, {Field("twin", INT): 1, Field("TWIN", STRING): "x"})


def draw_void(draw: DrawFn, features: frozenset[Feature], statement: Statement, source: Source) -> Source | None:
    """Add a column of type VOID that a star under evolution would add (R-144); None where there is nothing to refuse.

    The refusal needs a setting, see ``mergecheck.strategies.settings.settings.DROP_NULL_COLUMNS``.
    """
    adds = Feature.SCHEMA_EVOLUTION in features and any(clause.star for clause in statement.clauses)
    if not adds or not uses(draw, features, Feature.UNUSUAL_SCHEMAS, percent=_VOID_PERCENT):
        return None
    return _with_columns(source, {Field("nothing", VOID): None})


def _with_columns(source: Source, added: Mapping[Field, Value]) -> Source:
    rows = tuple((*row, *added.values()) for row in source.rows)
    return Source(schema=Schema((*source.schema.columns, *added)), rows=rows)
