"""Candidates for a case whose source is a table: with the rows that its source query gives."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import bracketed, cut_merge
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.model.case import Source
from mergecheck.model.types.data_types import INT, VOID, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case
    from mergecheck.reference.queries.source_query import SourceRelation

_SOURCE = "source"
_USING_TARGET = re.compile(r"\bUSING\s+`?target`?(?![\w`])", re.IGNORECASE)


def without_query(case: Case, relation: SourceRelation | None) -> Iterator[Case]:
    """Yield the case whose source table holds the source query's rows, or the target's if the target is the source.

    Args:
        case: the case.
        relation: the source as the reference has evaluated it; None if it did not come to that.
    """
    if relation is None:
        return
    text = cut_merge(case.sql)
    query = bracketed(text.head)
    if query is not None:
        start, end = query
        head = text.head[:start] + _SOURCE + text.head[end + 1 :]
    elif source_table(case) is not case.source:  # the target, or another table
        head = _USING_TARGET.sub(f"USING {_SOURCE}", text.head, count=1)
    else:
        return
    columns = relation.schema.columns
    # An untyped NULL needs a type, and only columns of a target have defaults and generation expressions.
    plain = (
        replace(column, type=INT if column.type == VOID else column.type, default=None, generated=None, nullable=True)
        for column in columns
    )
    source = Source(schema=Schema(tuple(plain)), rows=relation.rows)
    if head != text.head and columns:
        yield replace(case, source=source, sql=replace(text, head=head).sql())
