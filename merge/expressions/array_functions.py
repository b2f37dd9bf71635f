"""Array functions whose operands are cast before they are called (R-246).

``array_distinct`` of structs has another result after a cast that makes some of them equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from mergecheck.merge.syntax.dialect import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot.tokens import Token

_ARRAY_FUNCTIONS: Final = frozenset(
    {"array_union", "array_intersect", "array_except", "array_remove", "array_distinct"}
)
_OPENING: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A call of one of these functions.

    Attributes:
        name: the function in lower case.
        operands: Spark SQL texts; all are arrays but the second of ``array_remove``, which is an element.
    """

    name: str
    operands: tuple[str, ...]

    @property
    def elements(self) -> tuple[bool, ...]:
        """Tell of each operand whether it is an element and not an array."""
        return tuple(self.name == "array_remove" and index == 1 for index in range(len(self.operands)))


def array_call(sql: str) -> ArrayCall | None:
    """Take an expression apart if it is directly a call of such a function, in brackets or not."""
    if not any(name in sql.lower() for name in _ARRAY_FUNCTIONS):
        return None
    tokens = tokenize(sql)
    while tokens[0].token_type is TokenType.L_PAREN and _closes_last(tokens, 0):
        tokens = tokens[1:-1]
    if len(tokens) < 2 or tokens[0].text.lower() not in _ARRAY_FUNCTIONS or not _closes_last(tokens, 1):  # noqa: PLR2004 - a name and a bracket
        return None
    return ArrayCall(tokens[0].text.lower(), tuple(_arguments(sql, tokens[2:-1])))


def array_operands(sql: str) -> Iterator[str]:
    """List the operands of such a call and of such calls directly in them; their types are needed for the cast."""
    call = array_call(sql)
    for operand in call.operands if call else ():
        yield operand
        yield from array_operands(operand)


def _closes_last(tokens: Sequence[Token], opening: int) -> bool:
    """Tell whether the bracket at a position is closed by the last token."""
    depth = 0
    for index, token in enumerate(tokens[opening:], start=opening):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth == 0:
            return index == len(tokens) - 1
    return False


def _arguments(sql: str, tokens: Sequence[Token]) -> Iterator[str]:
    if not tokens:
        return
    depth, start = 0, tokens[0].start
    for before, token in zip((None, *tokens), tokens, strict=False):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and depth == 0 and before is not None:
            yield sql[start : before.end + 1]
            start = token.end + 1
    yield sql[start : tokens[-1].end + 1].strip()
