"""Functions that are found by their names, with their operands as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.expressions.array_items import ARRAY_CALLS
from mergecheck.reference.expressions.date_patterns import PATTERN_CALLS
from mergecheck.reference.expressions.json_functions import JSON_CALLS
from mergecheck.reference.expressions.map_functions import MAP_CALLS
from mergecheck.reference.expressions.number_functions import NUMBER_CALLS
from mergecheck.reference.expressions.text_pieces import TEXT_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.typed import Typed

_CALLS = {**ARRAY_CALLS, **JSON_CALLS, **MAP_CALLS, **NUMBER_CALLS, **PATTERN_CALLS, **TEXT_CALLS}


def named_call(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a call of a named function; None for any other expression.

    Raises:
        UnsupportedByReferenceError: for a wrong number of operands, and for operands that were not compared between
            the engines.
    """
    call = _CALLS.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    return None if call is None else call(node.expressions, translate)
