"""An error's message without the parts that vary by case: names, numbers, types, quoted texts and paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.model.outcome import Rejection

MAX_LENGTH = 80

_CLASS = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+(\.[A-Z0-9_]+)*|[A-Z][A-Z0-9]{5,}")
# Classes that many faults share: only the message distinguishes them.
_WIDE_CLASS = re.compile(r"CRASHED|INTERNAL_ERROR|MERGECHECK_.*|.*_LEGACY_ERROR_TEMP_.*")
_LINES, _RAW_LENGTH = 6, 1200
_END = re.compile(
    r"\bLINE \d+:|\bCandidate|\(use:|\b[Vv]alid (fields|columns)\b|\bstack ?trace\b|\bbacktrace\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](\s|$)")
_QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|`(?:[^`]|``)*`")
_BRACKETS = re.compile(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}|<[^<>]*>")
_OPEN_BRACKET = re.compile(r"[(\[{].*")
_PATH = re.compile(r"\S*/\S*/\S*")
_NAMED = re.compile(r"\b(named|alias)\s+([\w$]+(\.[\w$]+)*)")
_DOTTED = re.compile(r"\b[\w$]+(\.[\w$]+)+")
_COMPARISON = re.compile(r"\bIS (NOT )?DISTINCT FROM\b|\bIS (NOT )?NULL\b")
_TYPE = re.compile(
    r"\b(U?(HUGE|BIG|SMALL|TINY)?INT(EGER)?\d*|(LARGE_?)?UTF8(_?VIEW)?|VARCHAR|STRING(_VIEW)?|BOOL(EAN)?|DATE\d*|TIME\d*|TIMESTAMP\w*|"
    r"FLOAT\d*|DOUBLE|REAL|DECIMAL\d*|BINARY(VIEW)?|BLOB|STRUCT(TYPE)?|LIST|ARRAY|MAP|NULL)\b",
    re.IGNORECASE,
)
_TYPE_WORD = "TYPE"


def error_text(rejection: Rejection) -> str:
    """Name an error for a fingerprint: by its class, and if the class is general, by the constant parts of its message.

    Engines without classes of their own chain the errors of their layers, the cause last, so that the end of the
    first sentence is what distinguishes faults.
    """
    name = rejection.error_class
    is_class = _CLASS.fullmatch(name) is not None
    if is_class and not _WIDE_CLASS.fullmatch(name):
        return name
    label = name if is_class else name.split(":")[0]
    skeleton = message_skeleton(rejection.message.removeprefix(f"{label}:"))
    return f"{label}: {skeleton}" if skeleton else name


def message_skeleton(message: str) -> str:
    """Return the steady words of a message's first sentence, at most 80 characters of them, the last ones."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    text = " ".join(lines[:_LINES])[:_RAW_LENGTH]
    if end := _END.search(text):
        text = text[: end.start()]
    for pattern in (_QUOTED, _PATH, _NAMED, _COMPARISON):
        text = pattern.sub(_kept_word, text)
    text = _without_brackets(text)
    text = _DOTTED.sub(" ", text)
    if end := _SENTENCE_END.search(text):
        text = text[: end.start()]
    words = re.sub(r"[^A-Za-z]+", " ", _TYPE.sub(_TYPE_WORD, text)).split()
    plain = [word for i, word in enumerate(words) if i == 0 or word != words[i - 1]]
    return _tail(plain)


def _kept_word(match: re.Match[str]) -> str:
    return f"{match[1]} " if match.re is _NAMED else " "


def _without_brackets(text: str) -> str:
    before = ""
    while before != text:
        before, text = text, _BRACKETS.sub(" ", text)
    return _OPEN_BRACKET.sub(" ", text)


def _tail(words: list[str]) -> str:
    kept: list[str] = []
    for word in reversed(words):
        if len(" ".join([word, *kept])) > MAX_LENGTH:
            break
        kept.insert(0, word)
    return " ".join(kept)
