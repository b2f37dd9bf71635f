"""What other libraries say of a failure, cut to what a message of ours can repeat: no stack traces, no inner life."""

from __future__ import annotations

import re
import textwrap

MAX_MESSAGE = 400
"""Characters that a message repeats of what another library says."""

_MAX_REASON = 240
# Where the reason ends: stack traces of Java, Rust and Python, and values that Rust prints for its debugging.
_DETAILS = re.compile(
    r"\n\s*at \S|\n\s*\d+: <?\w|JVM stacktrace:|Driver stacktrace:|\nCaused by:|Debug source|ParsedLogPath \{"
    r"|Traceback \(most recent call last\)"
)
# delta-rs draws a tree in colours.
_NOT_TEXT = re.compile(r"\x1b\[\d*m|↳")
_LAST_LINE = re.compile(r"^(?P<kind>[\w.]+(?:Error|Exception|Invalid)\b.*)$", re.MULTILINE)
_OF_PYTHON = "Traceback (most recent call last)"


def brief(error: BaseException) -> str:
    """Shorten an error of another library to one line."""
    text = _NOT_TEXT.sub(" ", without_traces(str(error)))
    return textwrap.shorten(text, _MAX_REASON, placeholder=" ...") or type(error).__name__


def without_traces(text: str) -> str:
    """Cut a text before the first stack trace. Of Python code that ran elsewhere, the line that says what it raised."""
    if _OF_PYTHON in text:
        raised = _LAST_LINE.findall(text.partition(_OF_PYTHON)[2])
        if raised:
            return str(raised[-1])
    found = _DETAILS.search(text)
    return (text[: found.start()] if found else text).strip()


def cut(text: str) -> str:
    """Cut a text that is too long to be repeated in a message."""
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 4].rstrip() + " ..."
