"""Cases: everything drawn for one MERGE, put into the form that engines and the reference read."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reference.case import Case, Source, Target
from strategies.columns import table_schema, target_schema
from strategies.features import DEFAULT_PROFILE, Feature, Profile, draw_features, uses
from strategies.invalid import draw_broken
from strategies.labels import labels
from strategies.settings import DROP_NULL_COLUMNS, auto_merges, draw_conf, insert_only_optimised, table_properties
from strategies.spark_sql import statement_text
from strategies.statements import DrawnMerge, draw_merge
from strategies.unusual import draw_twins, draw_void

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from strategies.statement import Statement

_ID_BYTES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCase:
    """A case with what the drawing knows of it.

    Attributes:
        merge: the statement as values and the rows and columns it was drawn over.
        enabled: the swarm flags that were on; what they led to is in ``features``.
        breaks: number of the rule that the case breaks on purpose, so that it must be refused; ``merge`` then holds
            the statement as it was before. None for a valid one.
        features: labels of what the case really contains, such as ``clause:matched/update``, ``on:equality`` or
            ``files:3``; what a run counts to know what it tested.
    """

    case: Case
    merge: DrawnMerge
    enabled: frozenset[Feature]
    features: frozenset[str]
    breaks: str | None = None


@st.composite
def drawn_cases(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> DrawnCase:
    """Draw cases together with labels of what they contain.

    Args:
        draw: given by Hypothesis.
        profile: bounds of the tables, features left out or favoured.
    """
    enabled = draw_features(draw, profile)
    conf = draw_conf(draw, enabled)
    merge = draw_merge(
        draw,
        enabled,
        profile,
        insert_only_optimised=insert_only_optimised(conf),
        auto_merge=auto_merges(conf),
    )
    broken = draw_broken(draw, merge.statement, merge.schemas) if uses(draw, enabled, Feature.INVALID) else None
    statement = merge.statement if broken is None else broken.statement
    breaks = None if broken is None else broken.rule
    source = _source(merge)
    if source is not None and merge.query is None:
        source = draw_twins(draw, enabled, source)
        void = draw_void(draw, enabled, statement, source)
        if void is not None:
            source, conf, breaks = void, {**conf, DROP_NULL_COLUMNS: "true"}, "R-144"
    properties = table_properties(draw, enabled, merge.schemas.checks, insert_only=statement.insert_only)
    case = _case(merge, source, statement, conf, properties)
    return DrawnCase(
        case=case, merge=merge, enabled=enabled, features=labels(merge, case, breaks=breaks), breaks=breaks
    )


@st.composite
def cases(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> Case:
    """Draw MERGE cases; about seven in a hundred must be rejected, as ambiguous (R-320), failing or not valid.

    Args:
        draw: given by Hypothesis.
        profile: bounds of the tables, features left out or favoured.
    """
    return draw(drawn_cases(profile=profile)).case


def _case(
    merge: DrawnMerge, source: Source | None, statement: Statement, conf: dict[str, str], properties: dict[str, str]
) -> Case:
    schemas, tables = merge.schemas, merge.tables
    target = Target(
        schema=target_schema(schemas.target),
        files=tables.files,
        partition_by=schemas.partition_by,
        properties=properties,
    )
    sql = statement_text(statement)
    # the name comes from the contents, so that one case has one name wherever it is drawn
    digest = blake2b(repr((target, source, sql, conf)).encode(errors="surrogatepass"), digest_size=_ID_BYTES)
    return Case(id=f"drawn-{digest.hexdigest()}", target=target, source=source, sql=sql, conf=conf)


def _source(merge: DrawnMerge) -> Source | None:
    """Return the table that the statement reads: behind a query another one than the rows that it sees."""
    if merge.schemas.self_merge:
        return None
    if merge.query is None:
        return Source(schema=table_schema(merge.schemas.source), rows=merge.tables.source)
    return Source(schema=table_schema(merge.query.columns), rows=merge.query.rows)
