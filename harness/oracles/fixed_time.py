"""The time of a statement, written out: a time that a merge stores can be predicted only if it is known before."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import with_texts_at
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import Schema
from mergecheck.reference.syntax.merge_text import plain_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Case

_BARE = {"CURRENT_TIMESTAMP": "TIMESTAMP", "CURRENT_DATE": "DATE"}
_CALLED = {**_BARE, "LOCALTIMESTAMP": "TIMESTAMP_NTZ", "NOW": "TIMESTAMP", "CURDATE": "DATE"}
_FORMS = {"TIMESTAMP": "%Y-%m-%d %H:%M:%S.%fZ", "DATE": "%Y-%m-%d", "TIMESTAMP_NTZ": "%Y-%m-%d %H:%M:%S.%f"}
_SETTINGS = {"spark.sql.session.timezone": "UTC", "spark.sql.timestamptype": "TIMESTAMP_LTZ"}


def with_fixed_time(case: Case, now: dt.datetime) -> Case | None:
    """Replace ``current_timestamp()`` and its like by literals of one time, as Spark does for a statement (R-136).

    A name without brackets that some table, or some alias of the statement, gives to a column is left alone (R-123).
    Defaults are part of the statement's text: Spark reads them for a column that gets no value.

    Args:
        case: any case.
        now: the time that the statement takes for its own, in UTC.

    Returns:
        The case with another text; None if the text asks for no time, or if the session's settings decide its type.
    """
    if any(_SETTINGS.get(key.lower(), value).upper() != value.upper() for key, value in case.conf.items()):
        return None
    literals = {word: f"{word} '{now.astimezone(dt.UTC).strftime(form)}'" for word, form in _FORMS.items()}
    columns = {name.upper() for schema in case.relations.values() for name in schema.names}
    sql = _with_literals(case.sql, columns, literals, is_statement=True)
    schema = Schema(
        tuple(
            column
            if column.default is None
            else replace(column, default=_with_literals(column.default, set(), literals, is_statement=False))
            for column in case.target.schema.columns
        )
    )
    if sql == case.sql and schema == case.target.schema:
        return None
    return replace(case, sql=sql, target=replace(case.target, schema=schema))


def _with_literals(text: str, columns: set[str], literals: Mapping[str, str], *, is_statement: bool) -> str:
    """Replace the calls in a statement, or in a default, which sees no columns."""
    try:
        calls, aliases = plain_calls(text, is_statement=is_statement)
    except (RejectedError, UnsupportedByReferenceError):
        return text
    return with_texts_at(
        text,
        [
            (call.start, call.end - 1, literals[_CALLED[call.name]])
            for call in calls
            if call.name in (_BARE if call.is_name else _CALLED)
            and not (call.is_name and call.name in aliases.union(columns))
        ],
    )
