"""Regular expressions of a deviations file."""

from __future__ import annotations

import re


class BadPatternError(ValueError):
    """A text that is no regular expression of Python; the message gives the reason."""


def pattern_of(text: str) -> re.Pattern[str]:
    """Compile a pattern.

    Raises:
        BadPatternError: if it is none, or one that is too deep or too large.
    """
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPatternError(str(error)) from error
