"""Ranges of the numbers of a stream: the unit of work that several machines share.

A case is a function of its seed and its number, a statement of a scope is one of its number. So a range that a machine
has lost is the same range on another one.
"""

from __future__ import annotations

import itertools
import re

from mergecheck.harness.verdict import UserInputError

_RANGE = re.compile(r"(\d{1,12}):(\d{1,12})?")


def parse_range(text: str, *, size: int | None = None, stream: str = "") -> range:
    """Read ``A:B``, the numbers from A to before B.

    Args:
        text: what the user gave to ``--range``.
        size: of the stream, which B may leave out or exceed; None for an endless stream, of which B is required.
        stream: the name of a stream of that size, for the message.

    Raises:
        UserInputError: the text is none, or no number is in it.
    """
    found = _RANGE.fullmatch(text)
    end = (int(found[2]) if found[2] else size) if found else None
    if size is not None and end is not None:
        end = min(size, end)
    if found is None or end is None or int(found[1]) >= end:
        about = "cases have the numbers from 0" if size is None else f"{stream} has statements 0 to {size - 1}"
        raise UserInputError(
            f"--range {text}: {about}; give two numbers such as 0:{min(size or 100, 100)}, the first and the one "
            "after the last"
        )
    return range(int(found[1]), end)


def parts_of(numbers: range, size: int) -> list[range]:
    """Split a range at the multiples of a size, so that the parts of two ranges of one stream are alike."""
    cuts = [numbers.start, *range((numbers.start // size + 1) * size, numbers.stop, size), numbers.stop]
    return [range(first, end) for first, end in itertools.pairwise(cuts)]
