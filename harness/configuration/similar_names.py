"""What somebody may have meant who wrote a name that there is not."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(given: str, known: Iterable[str], *, most: int = 1) -> str:
    """Return a question that names what is most similar; empty if nothing is similar.

    Args:
        given: what was written.
        known: what there is.
        most: how many names the question may have.
    """
    similar = difflib.get_close_matches(given, sorted(known), n=most)
    return f"Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
