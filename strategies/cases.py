"""Cases: everything drawn for one MERGE, put into the form that engines and the reference read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.case.model import Case, Source, Target
from mergecheck.strategies.choices.features import DEFAULT_PROFILE, Feature, Profile, draw_features
from mergecheck.strategies.choices.identity import case_id
from mergecheck.strategies.faults.invalid import draw_broken
from mergecheck.strategies.labels.labels import labels
from mergecheck.strategies.settings.settings import (
    DROP_NULL_COLUMNS,
    auto_merges,
    draw_conf,
    insert_only_optimised,
    table_properties,
)
from mergecheck.strategies.settings.strict_fields import with_strict_fields
from mergecheck.strategies.statements.large_tables import grown
from mergecheck.strategies.statements.statements import DrawnMerge, draw_merge
from mergecheck.strategies.statements.unusual import draw_twins, draw_void
from mergecheck.strategies.syntax.columns import table_schema, target_schema
from mergecheck.strategies.syntax.spark_sql import statement_text
from mergecheck.strategies.tables.layouts import draw_source_layout, draw_target_layout

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.tables.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCase:
    """A case with what the drawing knows of it.

    Attributes:
        merge: the statement as values and the rows and columns it was drawn over.
        enabled: the swarm flags that were on; what they led to is in ``features``.
        breaks: number of the rule that the case breaks on purpose, so that it must be refused; ``merge`` then holds
            the statement as it was before. None for a valid one.
    """

    case: Case
    merge: DrawnMerge
    enabled: frozenset[Feature]
    breaks: str | None = None

    @property
    def features(self) -> frozenset[str]:
        """Labels of what the case really contains, such as ``clause:matched/update``, ``on:equality``, ``files:3``."""
        return labels(self.merge, self.case, breaks=self.breaks)


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
    tables = grown(draw, enabled, merge)
    broken = draw_broken(draw, enabled, merge.statement, merge.schemas)
    statement = merge.statement if broken is None else broken.statement
    breaks = None if broken is None else broken.rule
    source = _source(merge, tables)
    if source is not None and merge.query is None:
        source = draw_twins(draw, enabled, source)
        void = draw_void(draw, enabled, statement, source)
        if void is not None:
            source, conf, breaks = void, {**conf, DROP_NULL_COLUMNS: "true"}, "R-144"
    properties = table_properties(draw, enabled, merge.schemas.checks, insert_only=statement.insert_only)
    if source is not None:
        source = replace(source, layout=draw_source_layout(draw, enabled, num_rows=len(source.rows)))
    target = Target(
        schema=with_strict_fields(
            draw, enabled, target_schema(merge.schemas.target), (row for file in tables.files for row in file)
        ),
        files=tables.files,
        partition_by=merge.schemas.partition_by,
        properties=properties,
        layout=draw_target_layout(
            draw, enabled, added_columns=tables.added_columns, num_rows=max(map(len, tables.files), default=0)
        ),
    )
    case = Case(id="", target=target, source=source, sql=statement_text(statement), conf=conf)
    case = replace(case, id=case_id(case))
    return DrawnCase(case=case, merge=merge, enabled=enabled, breaks=breaks)


@st.composite
def cases(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> Case:
    """Draw MERGE cases; about one in eight must be rejected, as ambiguous (R-320), failing or not valid.

    Args:
        draw: given by Hypothesis.
        profile: bounds of the tables, features left out or favoured.
    """
    return draw(drawn_cases(profile=profile)).case


def _source(merge: DrawnMerge, tables: Tables) -> Source | None:
    """Return the table that the statement reads: behind a query another one than the rows that it sees."""
    if merge.schemas.self_merge:
        return None
    if merge.query is None:
        return Source(schema=table_schema(merge.schemas.source), rows=tables.source)
    return Source(schema=table_schema(merge.query.columns), rows=merge.query.rows)
