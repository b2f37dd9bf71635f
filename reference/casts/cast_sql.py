"""Pieces of DuckDB SQL that every cast is made of."""

from __future__ import annotations

import re
from enum import Enum

from mergecheck.model.types.typed import string_literal

_SHORT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|CAST\((?:-?[0-9]+|'[^']*') AS [A-Z0-9(),]+\)")
_BOUND = re.compile(r"\bx\b")


class Failure(Enum):
    """The result of a cast for a value that does not fit."""

    ERROR = "error"
    """fails, as under ANSI"""
    LEGACY = "legacy"
    """wraps integers, gives NULL for malformed text (R-251)"""
    NULL = "null"
    """gives NULL where ERROR fails, as TRY_CAST does"""


def fail(error_class: str) -> str:
    """Raise inside DuckDB, with the error class as the message."""
    return f"error({string_literal(error_class)})"


def unsupported(reason: str) -> str:
    """Raise inside DuckDB that the reference cannot convert this value."""
    return f"error({string_literal('UNSUPPORTED ' + reason)})"


def failed(failure: Failure, error_class: str) -> str:
    """Return the SQL of the result for a value that does not fit."""
    return fail(error_class) if failure is Failure.ERROR else "NULL"


def malformed(failure: Failure) -> str:
    """Give what malformed text becomes."""
    return failed(failure, "CAST_INVALID_INPUT")


def guarded(sql: str, *branches: tuple[str, str], otherwise: str) -> str:
    """Choose by the first branch that holds; NULL stays NULL."""
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    return f"CASE WHEN ({sql}) IS NULL THEN NULL {whens} ELSE {otherwise} END"


def let(sql: str, body: str) -> str:
    """Evaluate ``body`` with ``x`` bound to an operand, so that long operands are not written again and again."""
    return f"(list_transform([{sql}], lambda x: {body})[1])"


def is_short(sql: str) -> bool:
    """Return whether an operand is a plain column or literal, which may be written again and again."""
    return _SHORT.fullmatch(sql) is not None


def is_used_once(body: str) -> bool:
    """Return whether ``x`` stands at most once in what ``let`` would bind it in."""
    return len(_BOUND.findall(body)) <= 1
