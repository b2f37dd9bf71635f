"""Cases: everything drawn for one MERGE, in the form that engines and the reference read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.case import Case, Source, Target
from mergecheck.strategies.expression.function_calls import draw_function_calls
from mergecheck.strategies.faults.invalid import draw_broken
from mergecheck.strategies.labels.labels import labels
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile, feature_sets
from mergecheck.strategies.settings import (
    DROP_NULL_COLUMNS,
    auto_merges,
    draw_session_settings,
    draw_table_properties,
    draw_transactions,
    insert_only_optimised,
)
from mergecheck.strategies.statement.large_tables import draw_large_tables
from mergecheck.strategies.statement.merges import DrawnMerge, draw_merge
from mergecheck.strategies.statement.unusual import draw_timestamp_ntz, draw_twins, draw_void
from mergecheck.strategies.statement.written_sources import draw_third_tables, draw_written_source
from mergecheck.strategies.statement.written_values import draw_written_values
from mergecheck.strategies.syntax.columns import table_schema, target_schema
from mergecheck.strategies.syntax.spark_sql import statement_text
from mergecheck.strategies.table.constraints import with_strict_fields
from mergecheck.strategies.table.layouts import draw_source_layout, draw_target_layout
from mergecheck.strategies.table_features.drawing import draw_table_features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.strategies.features import Feature
    from mergecheck.strategies.table.rows import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCase:
    """A case with facts known from the drawing.

    Attributes:
        case: the case.
        merge: the statement as values, and the rows and columns that it was drawn over.
        enabled: the features that the case may use; ``features`` are the ones that it really contains.
        breaks: number of the rule that the case breaks on purpose, so that it must be refused; ``merge`` then has the
            statement as it was before. None for a valid case.
    """

    case: Case
    merge: DrawnMerge
    enabled: frozenset[Feature]
    breaks: str | None = None

    @property
    def features(self) -> frozenset[str]:
        """Labels of the case's actual contents, such as ``clause:matched/update``, ``on:equality``, ``files:3``."""
        return labels(self.merge, self.case, breaks=self.breaks)


@st.composite
def drawn_cases(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> DrawnCase:
    """MERGE cases with facts known from the drawing; they shrink as the cases of ``cases`` do."""
    enabled = draw(feature_sets(profile=profile))
    conf = draw_session_settings(draw, enabled)
    merge = draw_merge(
        draw, enabled, profile, insert_only_optimised=insert_only_optimised(conf), auto_merge=auto_merges(conf)
    )
    tables = draw_large_tables(draw, enabled, merge, boundary=profile.boundary)
    statement, breaks = draw_broken(draw, enabled, merge.statement, merge.schemas)
    source = _source(merge, tables)
    if source is not None and merge.query is None:
        source = draw_twins(draw, enabled, source)
        void = draw_void(draw, enabled, statement, source)
        if void is not None:
            source, conf, breaks = void, {**conf, DROP_NULL_COLUMNS: "true"}, "R-144"
        elif breaks is None:
            moment = draw_timestamp_ntz(draw, enabled, statement, source, target_schema(merge.schemas.target))
            source, breaks = (source, None) if moment is None else (moment, "R-704")
    properties = draw_table_properties(draw, enabled, merge.schemas.checks, insert_only=statement.insert_only)
    if source is not None:
        source = replace(
            source, layout=draw_source_layout(draw, enabled, num_rows=len(source.rows), boundary=profile.boundary)
        )
    target = Target(
        schema=with_strict_fields(
            draw, enabled, target_schema(merge.schemas.target), tuple(row for file in tables.files for row in file)
        ),
        files=tables.files,
        partition_by=merge.schemas.partition_by,
        properties=properties,
        layout=draw_target_layout(
            draw,
            enabled,
            added_columns=tables.added_columns,
            num_rows=max(map(len, tables.files), default=0),
            profile=profile,
        ),
        transactions=draw_transactions(draw, conf),
    )
    if breaks is None:
        statement = draw_function_calls(
            draw, statement, merge.schemas, merge.tables, percent=profile.function_calls_percent
        )
        merge = replace(merge, statement=statement)
    evolves = statement.with_schema_evolution or auto_merges(conf)
    target, source, changed, for_features = draw_table_features(
        draw,
        profile,
        target,
        source,
        statement,
        source_names=tuple(column.name for column in merge.schemas.source),
        evolves=evolves,
    )
    if breaks is None:
        statement = changed
        merge = replace(merge, statement=statement)
    conf = {**conf, **for_features}
    tables_read: Mapping[str, Source] = {}
    if breaks is None:
        source, statement = draw_written_source(draw, profile, merge, target, source)
        merge = replace(merge, statement=statement)
        target, statement = draw_written_values(draw, profile, merge.schemas, target, statement)
        merge = replace(merge, statement=statement)
        tables_read, source, statement = draw_third_tables(draw, profile, merge, target, source)
        merge = replace(merge, statement=statement)
    case = Case(id="", target=target, source=source, sql=statement_text(statement), conf=conf, tables=tables_read)
    return DrawnCase(case=with_id(case), merge=merge, enabled=enabled, breaks=breaks)


def cases(*, profile: Profile = DEFAULT_PROFILE) -> SearchStrategy[Case]:
    """Return a strategy of MERGE cases; about one in eight must be rejected (ambiguous, R-320, failing or not valid).

    They shrink to one INSERT clause over ``t.id = s.id``, with few rows of simple values, one file and no settings.

    Args:
        profile: which features cases have, and how large their tables are.
    """
    return drawn_cases(profile=profile).map(attrgetter("case"))


def with_id(case: Case) -> Case:
    """Return a case with an id made from its contents, so that equal cases have one id wherever they are drawn."""
    tables = (dict(case.tables),) if case.tables else ()
    contents = repr((case.target, case.source, case.sql, dict(case.conf), *tables))
    digest = blake2b(contents.encode(errors="surrogatepass"), digest_size=5).hexdigest()
    return replace(case, id=f"drawn-{digest}")


def _source(merge: DrawnMerge, tables: Tables) -> Source | None:
    """Return the table that the statement reads; behind a query it has other rows than the statement sees."""
    if merge.schemas.self_merge:
        return None
    if merge.query is None:
        return Source(schema=table_schema(merge.schemas.source), rows=tables.source)
    return Source(schema=table_schema(merge.query.columns), rows=merge.query.rows)
