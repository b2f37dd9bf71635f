"""Candidates for a case with plainer names: a column called ``dou"ble`` hides what a finding is about."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.core.merge_text import renamed_in, words_of
from mergecheck.reference.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Case

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def plainer_names(case: Case) -> Iterator[Case]:
    """Yield cases in which one column that needs backticks has a letter for its name, wherever it is named.

    Texts of constraints, defaults and generation expressions stay as they are; if they name the column, the case
    no longer shows its finding, and is not taken.
    """
    source = case.source.schema.names if case.source is not None else ()
    names = dict.fromkeys((*case.target.schema.names, *source))
    taken = {name.lower() for name in names} | words_of(case.sql)
    free = [letter for letter in string.ascii_lowercase if letter not in taken]
    for name in names:
        if free and not _PLAIN.fullmatch(name):
            yield _renamed(case, name, free[0])


def _renamed(case: Case, old: str, new: str) -> Case:
    target = case.target
    layout = target.layout
    target = replace(
        target,
        schema=_with_name(target.schema, old, new),
        partition_by=tuple(new if name == old else name for name in target.partition_by),
        layout=replace(layout, added_columns=tuple(new if name == old else name for name in layout.added_columns)),
    )
    source = case.source
    if source is not None:
        source = replace(source, schema=_with_name(source.schema, old, new))
    return replace(case, target=target, source=source, sql=renamed_in(case.sql, old, new))


def _with_name(schema: Schema, old: str, new: str) -> Schema:
    return Schema(tuple(replace(column, name=new) if column.name == old else column for column in schema.columns))
