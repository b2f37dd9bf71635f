"""One instant for the whole statement: every ``current_timestamp()`` of a merge has the same value (R-136)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from mergecheck.merge.expressions.functions import outside_subqueries
from mergecheck.merge.syntax.dialect import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITHOUT_BRACKETS: Final = frozenset({"current_timestamp", "current_date"})
_WITH_BRACKETS: Final = _WITHOUT_BRACKETS | {"localtimestamp", "now", "curdate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementClock:
    """The time of a statement, with time zone, to the microsecond.

    Functions of it become literals, since each Spark job would take its own time.
    """

    instant: datetime

    @classmethod
    def start(cls) -> StatementClock:
        """Take the time now."""
        return cls(instant=datetime.now(UTC))

    def of_name(self, name: str) -> str | None:
        """Give the literal for a name that means no column: a function of the time without its brackets (R-123)."""
        return self._literal(name.lower()) if name.lower() in _WITHOUT_BRACKETS else None

    def edits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Find the calls to replace: start and end (excluded) in the text, and the literal that replaces them."""
        if not any(name in text.lower() for name in _WITH_BRACKETS):
            return
        tokens = outside_subqueries(tokenize(text))
        for index, token in enumerate(tokens):
            name = token.text.lower()
            if token.token_type in {TokenType.IDENTIFIER, TokenType.STRING} or name not in _WITH_BRACKETS:
                continue
            after = [t.token_type for t in tokens[index + 1 : index + 3]]
            if TokenType.DOT in after[:1] or (index and tokens[index - 1].token_type is TokenType.DOT):
                continue
            if after == [TokenType.L_PAREN, TokenType.R_PAREN]:
                yield token.start, tokens[index + 2].end + 1, self._literal(name)

    def _literal(self, function: str) -> str:
        """Write the value of a function at this instant; a date depends on the session's time zone."""
        moment = self.instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        literal = f"TIMESTAMP_LTZ'{moment} UTC'"
        if function in {"current_date", "curdate"}:
            return f"CAST({literal} AS DATE)"
        return f"CAST({literal} AS TIMESTAMP_NTZ)" if function == "localtimestamp" else literal
