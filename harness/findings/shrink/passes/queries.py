"""Candidates for a case whose source is a table: with the rows that its source query gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import merge_text
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.model.case import Source
from mergecheck.model.types.data_types import INT, VOID, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case
    from mergecheck.reference.queries.source_query import SourceRelation

_SOURCE = "source"


def without_query(case: Case, relation: SourceRelation | None) -> Iterator[Case]:
    """Yield the case whose source table holds the source query's rows, or the target's if the target is the source.

    Args:
        case: the case.
        relation: the source as the reference has evaluated it; None if it did not come to that.
    """
    if relation is None:
        return
    text = merge_text(case.sql)
    if text is None or (text.is_source_table and source_table(case) is case.source):
        return
    columns = relation.schema.columns
    # An untyped NULL needs a type, and only columns of a target have defaults and generation expressions.
    plain = (
        replace(column, type=INT if column.type == VOID else column.type, default=None, generated=None, nullable=True)
        for column in columns
    )
    source = Source(schema=Schema(tuple(plain)), rows=relation.rows)
    alias = text.source_alias or (text.source if text.query is None and text.ctes is not None else None)
    changed = replace(text, ctes=None, source=_SOURCE, source_alias=alias)
    if columns:
        yield replace(case, source=source, sql=changed.sql())
