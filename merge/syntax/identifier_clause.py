"""``IDENTIFIER('name')``, in whose place Spark puts the name before it resolves anything."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mergecheck.merge.syntax.lexer import Kind, lexemes

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = re.compile(r"['\"]((?:\w+|`[^`'\"\\]+`)(?:\.(?:\w+|`[^`'\"\\]+`))*)['\"]")
_PART: Final = re.compile(r"`[^`]+`|\w+")


def with_names(sql: str) -> str:
    """Write the name itself for IDENTIFIER of one string; what is anything else stays.

    Raises:
        AnalysisError: the text has a part that is no token of Spark's.
    """
    pieces, at = [], 0
    for start, end, name in _clauses(sql):
        if (found := _NAME.fullmatch(name)) is not None:
            parts = (part if part.startswith("`") else f"`{part}`" for part in _PART.findall(found[1]))
            pieces += [sql[at:start], ".".join(parts)]
            at = end
    return "".join((*pieces, sql[at:]))


def names_a_column(sql: str) -> bool:
    """Return whether an expression has IDENTIFIER in place of a column, and not only of functions.

    Raises:
        AnalysisError: the text has a part that is no token of Spark's.
    """
    return any(not sql[end:].lstrip().startswith("(") for _, end, _ in _clauses(sql))


def _clauses(sql: str) -> Iterator[tuple[int, int, str]]:
    """Find the clauses: start, end (excluded), and what is between the brackets."""
    if "identifier" not in sql.lower():
        return
    tokens = lexemes(sql)
    for place, (token, after) in enumerate(pairwise(tokens)):
        is_clause = token.kind is Kind.WORD and token.key == "IDENTIFIER" and after.key == "("
        if not is_clause or (place and tokens[place - 1].key == "."):
            continue
        depth = 0
        for last in tokens[place + 1 :]:
            depth += (last.key == "(") - (last.key == ")")
            if not depth:
                yield token.start, last.end, sql[after.end : last.start].strip()
                break
