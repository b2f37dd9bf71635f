"""The time of a statement, written out: a time that a merge stores can be predicted only if it is known before."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlglot
from sqlglot.errors import SqlglotError

from mergecheck.harness.core.merge_text import with_texts_at
from mergecheck.reference.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot.tokens import Token

    from mergecheck.reference.case.model import Case

_BARE = {"CURRENT_TIMESTAMP": "TIMESTAMP", "CURRENT_DATE": "DATE", "LOCALTIMESTAMP": "TIMESTAMP_NTZ"}
_CALLED = {**_BARE, "NOW": "TIMESTAMP", "CURDATE": "DATE"}
_FORMS = {"TIMESTAMP": "%Y-%m-%d %H:%M:%S.%fZ", "DATE": "%Y-%m-%d", "TIMESTAMP_NTZ": "%Y-%m-%d %H:%M:%S.%f"}
_SETTINGS = {"spark.sql.session.timezone": "UTC", "spark.sql.timestamptype": "TIMESTAMP_LTZ"}


def with_fixed_time(case: Case, now: dt.datetime) -> Case | None:
    """Replace ``current_timestamp()`` and its like by literals of one time, as Spark does for a statement (R-136).

    Defaults are part of the statement's text: Spark reads them for a column that gets no value.

    Args:
        case: any case.
        now: the time that the statement takes for its own, in UTC.

    Returns:
        The case with another text, and other defaults; None if they ask for no time, or if the session's settings
        decide its type.
    """
    if any(_SETTINGS.get(key.lower(), value).upper() != value.upper() for key, value in case.conf.items()):
        return None
    literals = {word: f"{word} '{now.astimezone(dt.UTC).strftime(form)}'" for word, form in _FORMS.items()}
    schemas = (case.target.schema, *(() if case.source is None else (case.source.schema,)))
    columns = {name.upper() for schema in schemas for name in schema.names}
    sql = _with_literals(case.sql, columns, literals)
    schema = Schema(
        tuple(
            column
            if column.default is None
            else replace(column, default=_with_literals(column.default, set(), literals))
            for column in case.target.schema.columns
        )
    )
    if sql == case.sql and schema == case.target.schema:
        return None
    return replace(case, sql=sql, target=replace(case.target, schema=schema))


def _with_literals(text: str, columns: set[str], literals: Mapping[str, str]) -> str:
    """Replace the calls in a statement, or in a default, which sees no columns."""
    try:
        tokens = sqlglot.tokenize(text, read="databricks")
    except SqlglotError:
        return text
    places = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        found = _meant(before, token, [one.text for one in tokens[place + 1 : place + 3]], columns, literals)
        if found is not None:
            literal, num_tokens = found
            places.append((token.start, tokens[place + num_tokens - 1].end, literal))
    return with_texts_at(text, places) if places else text


def _meant(
    before: str, token: Token, behind: list[str], columns: set[str], literals: Mapping[str, str]
) -> tuple[str, int] | None:
    """Give the literal for a call and the number of its tokens; None if it is none."""
    word = token.text.upper()
    if word not in _CALLED or token.end - token.start + 1 != len(word) or before == ".":  # longer: quoted
        return None
    if behind == ["(", ")"]:
        return literals[_CALLED[word]], 3
    is_name = word in columns or before.upper() == "AS" or behind[:1] in (["."], ["("])
    return None if is_name or word not in _BARE else (literals[_BARE[word]], 1)
