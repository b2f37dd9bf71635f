"""Candidates for a case with plain names: columns k, v, w, ..., tables t and s, each wherever it is named."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import merge_text, renamed_in, words_of
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.schema_json import is_constraint
from mergecheck.model.types.data_types import Schema
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import Field

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY, _OTHERS = "k", "vwxyz" + string.ascii_lowercase
_TARGET, _SOURCE = "t", "s"


def plainer_names(case: Case) -> Iterator[Case]:
    """Yield cases with plain names: of both tables, of all columns, of one column that needs backticks.

    The columns that ON compares come first. If ON compares none or several of one table, its first column is the key.
    """
    yield from _with_plain_tables(case)
    names = _wanted(case)
    if any(old != new for old, new in names.items()):
        yield _renamed(case, names)
    taken = {name.lower() for name in names} | words_of(case.sql)
    free = [letter for letter in string.ascii_lowercase if letter not in taken]
    for name in names:
        if free and not _PLAIN.fullmatch(name):
            yield _renamed(case, {name: free[0]})


def _wanted(case: Case) -> dict[str, str]:
    """Choose the new names of all columns, by their old ones; spellings that differ in case share one."""
    names = list(dict.fromkeys(name for schema in case.relations.values() for name in schema.names))
    text = merge_text(case.sql)
    in_on = frozenset() if text is None else words_of(text.on)
    names.sort(key=lambda name: name.lower() not in in_on)
    free = iter(dict.fromkeys(letter for letter in (_KEY, *_OTHERS) if letter not in (_TARGET, _SOURCE)))
    new: dict[str, str] = {}
    for name in names:
        if name.lower() not in new:
            letter = next(free, None)
            if letter is None:
                return {}
            new[name.lower()] = letter
    return {name: new[name.lower()] for name in names}


def _with_plain_tables(case: Case) -> Iterator[Case]:
    """Yield the case with ``target t`` and ``source s``, if both tables have other aliases or write AS."""
    try:
        statement = parse_statement(case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return
    old_target, old_source = statement.target_alias, statement.source_alias
    if old_target is None or old_source is None or statement.source_query is not None:
        return
    text = merge_text(case.sql)
    tables: dict[str, str | None] = {old_target.lower(): _TARGET, old_source.lower(): _SOURCE}
    if text is None or len(tables) == 1 or statement.source.lower() not in case.relations:
        return
    using = statement.source.lower()
    text = replace(text, target="target", target_alias=_TARGET, source=using, source_alias=_SOURCE)
    sql = renamed_in(text.sql(), {}, qualifiers=tables)
    if sql != case.sql:
        yield replace(case, sql=sql)


def _renamed(case: Case, names: Mapping[str, str]) -> Case:
    lower = {old.lower(): new for old, new in names.items()}
    target = case.target
    layout = target.layout
    taken = {name.lower() for name in names.values()}
    properties = {
        key: renamed_in(text, lower) if is_constraint(key) else text for key, text in target.properties.items()
    }
    target = replace(
        target,
        schema=_with_names(target.schema, names, lower),
        partition_by=tuple(names.get(name, name) for name in target.partition_by),
        properties=properties,
        layout=replace(
            layout,
            added_columns=tuple(names.get(name, name) for name in layout.added_columns),
            dropped_columns=tuple(name for name in layout.dropped_columns if name.lower() not in taken),
            cluster_by=tuple(names.get(name, name) for name in layout.cluster_by),
            widened_columns={names.get(name, name): kind for name, kind in layout.widened_columns.items()},
        ),
    )
    source = case.source
    if source is not None:
        source = replace(source, schema=_with_names(source.schema, names, lower))
    tables = {n: replace(t, schema=_with_names(t.schema, names, lower)) for n, t in case.tables.items()}
    # A name before a dot is a table's if it is among these: an alias may have the name of a column.
    kept = dict.fromkeys(_aliases(case))
    return replace(case, target=target, source=source, tables=tables, sql=renamed_in(case.sql, lower, qualifiers=kept))


def _aliases(case: Case) -> list[str]:
    try:
        statement = parse_statement(case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return [_TARGET, _SOURCE]
    found = (statement.target_alias, statement.source_alias, statement.target, statement.source)
    return [name.lower() for name in found if name]


def _with_names(schema: Schema, names: Mapping[str, str], lower: Mapping[str, str]) -> Schema:
    return Schema(tuple(_with_name(column, names, lower) for column in schema.columns))


def _with_name(column: Field, names: Mapping[str, str], lower: Mapping[str, str]) -> Field:
    return replace(
        column,
        name=names.get(column.name, column.name),
        default=None if column.default is None else renamed_in(column.default, lower),
        generated=None if column.generated is None else renamed_in(column.generated, lower),
    )
