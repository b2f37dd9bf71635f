"""Patterns of error messages that a case expects.

Case files come from strangers, and matching by backtracking may run for ever. So patterns are RE2's, which match in
linear time and know neither references to groups nor looking around.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


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
        found = pc.match_substring_regex(pa.scalar(text.encode("utf-8", "replace").decode()), pattern)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise BadPatternError(str(error).removeprefix("Invalid regular expression: ")) from error
    return bool(found.as_py())
