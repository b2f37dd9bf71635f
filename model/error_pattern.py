"""Patterns of error messages that a case expects.

Case files come from strangers, and matching by backtracking may run for ever. So patterns are RE2's, which match in
linear time and know neither references to groups nor looking around.
"""

from __future__ import annotations

import duckdb


class BadPatternError(ValueError):
    """A text that is no regular expression of RE2; the message gives the reason."""


def require_pattern(pattern: str) -> None:
    """Check that a text is a pattern.

    Raises:
        BadPatternError: if it is none.
    """
    matches(pattern, "")


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text.

    Raises:
        BadPatternError: if it is no pattern.
    """
    try:
        pattern.encode()
        given = [text.encode("utf-8", "replace").decode(), pattern]
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            # columns instead of constants: DuckDB rewrites a constant pattern
            query = "SELECT regexp_matches(t, p) FROM (SELECT unnest([$1]) AS t, unnest([$2]) AS p)"
            ((found,),) = connection.execute(query, given).fetchall()
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise BadPatternError(str(error).removeprefix("Invalid Input Error: ")) from error
    return bool(found)
