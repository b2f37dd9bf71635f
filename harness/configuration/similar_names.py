"""Suggestions for an unknown name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(given: str, known: Iterable[str], *, most: int = 1) -> str:
    """Return a question that names the most similar names; empty if none is similar.

    Args:
        given: the unknown name.
        known: the existing names.
        most: the most names in the question.
    """
    similar = difflib.get_close_matches(given, sorted(known), n=most)
    return f"Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
