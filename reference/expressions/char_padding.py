"""Comparisons of CHAR columns: Spark pads them, too, if it does not pad columns where it reads them (R-822)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import STRING, VOID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.typed import Typed


def with_spaces(operands: Sequence[Typed]) -> list[Typed]:
    """Pad texts that are compared to the longest of them.

    Args:
        operands: the compared values; nothing changes unless one is a CHAR column, and the others are constants or CHAR
            columns, too.
    """
    chars = [operand for operand in operands if operand.char_length is not None]
    others = [operand for operand in operands if operand.char_length is None]
    if not chars or (len(chars) > 1 and others) or not all(map(_is_constant_text, others)):
        return list(operands)
    lengths = [str(operand.char_length) for operand in chars]
    lengths += [f"coalesce(length({operand.sql}), 0)" for operand in others if operand.type == STRING]
    longest = f"CAST(greatest({', '.join(lengths)}) AS INTEGER)"
    return [
        operand
        if operand.type == VOID
        else replace(operand, sql=f"rpad({operand.sql}, {longest}, ' ')", char_length=None, stored=False)
        for operand in operands
    ]


def refuse_char(operands: Sequence[Typed], what: str) -> None:
    """Give up on a comparison that Spark writes anew, now before it pads and now after.

    Raises:
        UnsupportedByReferenceError: an operand is a CHAR column that is read as it is stored.
    """
    if any(operand.char_length is not None for operand in operands):
        raise UnsupportedByReferenceError(f"{what} of a CHAR column (R-822)")


def _is_constant_text(operand: Typed) -> bool:
    return operand.type in (STRING, VOID) and not operand.sides and not operand.asked
