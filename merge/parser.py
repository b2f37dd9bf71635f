"""MERGE statements in SQL: text to ``MergeStatement``.

The grammar of R-101 is small, and expressions must reach Spark exactly as written; so the statement is read token by
token and expressions are cut out of the text, never printed from a tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from merge.errors import AnalysisError
from merge.sql_dialect import is_name, parse_expression, syntax_error, tokenize
from merge.statement import ActionType, Assignment, Clause, ClauseKind, MergeStatement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokens import Token

_ORDER: Final = tuple(ClauseKind)  # the order that the grammar fixes
_OPEN: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSE: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})

# Spark's own names for R-107, which differ from Delta's.
_OMITS_CONDITION: Final = {
    ClauseKind.MATCHED: ("NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION", "MATCHED"),
    ClauseKind.NOT_MATCHED: (
        "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
        "NOT MATCHED [BY TARGET]",
    ),
    ClauseKind.NOT_MATCHED_BY_SOURCE: (
        "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        "NOT MATCHED BY SOURCE",
    ),
}


def parse_merge(sql: str, *, interleaved: bool = False) -> MergeStatement:
    """Read one MERGE statement (R-101, R-106..R-108).

    Args:
        sql: the statement, with or without a final semicolon.
        interleaved: take the kinds of clauses in any order, as the builder does (R-102), and not only in the order
            that Spark's grammar asks for. For statements of the builder that are written down as SQL.

    Raises:
        AnalysisError: with Spark's class: ``PARSE_SYNTAX_ERROR``, ``MERGE_WITHOUT_WHEN``,
            ``MERGE_INSERT_VALUE_COUNT_MISMATCH``, ``NON_LAST_..._CLAUSE_OMIT_CONDITION`` or
            ``COLUMN_ALIASES_NOT_ALLOWED``.
    """
    statement = _Reader(sql, interleaved=interleaved).statement()
    if not statement.clauses:
        raise AnalysisError("MERGE_WITHOUT_WHEN", "There must be at least one WHEN clause in a MERGE statement.")
    for kind in _ORDER:
        _require_conditions(statement.of_kind(kind), kind)
    return statement


def _require_conditions(clauses: Sequence[Clause], kind: ClauseKind) -> None:
    """Let only the last clause of a kind omit its condition (R-107)."""
    if any(clause.condition is None for clause in clauses[:-1]):
        error_class, name = _OMITS_CONDITION[kind]
        raise AnalysisError(
            error_class,
            f"When there are more than one {name} clauses in a MERGE statement, "
            f"only the last {name} clause can omit the condition.",
        )


class _Reader:
    """A cursor over the tokens of one statement."""

    def __init__(self, sql: str, *, interleaved: bool) -> None:
        self._sql = sql
        self._interleaved = interleaved
        self._tokens = _without_final_semicolon(tokenize(sql))
        self._at = 0

    def statement(self) -> MergeStatement:
        self._expect("MERGE")
        evolution = self._accept("WITH")
        if evolution:
            self._expect("SCHEMA")
            self._expect("EVOLUTION")
        self._expect("INTO")
        target, target_alias = self._name_text(), self._alias()
        self._expect("USING")
        source = self._query_text() if self._peek_is("(") else self._name_text()
        source_alias = self._alias()
        self._expect("ON")
        condition = self._expression("WHEN")
        return MergeStatement(
            condition=condition,
            clauses=self._clauses(),
            target=target,
            target_alias=target_alias,
            source=source,
            source_alias=source_alias,
            with_schema_evolution=evolution,
        )

    def _clauses(self) -> tuple[Clause, ...]:
        clauses: list[Clause] = []
        while not self._done:
            first = self._at
            clause = self._clause()
            if not self._interleaved and clauses and _ORDER.index(clause.kind) < _ORDER.index(clauses[-1].kind):
                self._at = first
                raise self._wrong(
                    f"WHEN {clause.kind.value} stands after WHEN {clauses[-1].kind.value}. The order is: all MATCHED, "
                    "then all NOT MATCHED, then all NOT MATCHED BY SOURCE clauses."
                )
            clauses.append(clause)
        return tuple(clauses)

    def _clause(self) -> Clause:
        self._expect("WHEN")
        kind = self._kind()
        condition = self._expression("THEN") if self._accept("AND") else None
        self._expect("THEN")
        action = self._action(kind)
        if action is ActionType.DELETE:
            return Clause(kind=kind, action=action, condition=condition)
        if self._star(kind, action):
            return Clause(kind=kind, action=action, condition=condition, star=True)
        assignments = self._set_list() if action is ActionType.UPDATE else self._insert_lists()
        return Clause(kind=kind, action=action, condition=condition, assignments=assignments)

    def _kind(self) -> ClauseKind:
        if self._accept("MATCHED"):
            return ClauseKind.MATCHED
        self._expect("NOT")
        self._expect("MATCHED")
        if not self._accept("BY"):
            return ClauseKind.NOT_MATCHED
        if self._accept("TARGET"):
            return ClauseKind.NOT_MATCHED
        self._expect("SOURCE")
        return ClauseKind.NOT_MATCHED_BY_SOURCE

    def _action(self, kind: ClauseKind) -> ActionType:
        allowed = ("INSERT",) if kind is ClauseKind.NOT_MATCHED else ("UPDATE", "DELETE")
        for word in allowed:
            if self._accept(word):
                if word == "UPDATE":
                    self._expect("SET")
                return ActionType[word]
        raise self._wrong(f"WHEN {kind.value} THEN must go on with {' or '.join(allowed)}.")

    def _star(self, kind: ClauseKind, action: ActionType) -> bool:
        if not self._accept("*"):
            return False
        if kind is ClauseKind.NOT_MATCHED_BY_SOURCE:
            raise self._wrong("UPDATE SET * needs a source row; name the columns in WHEN NOT MATCHED BY SOURCE.")
        if not self._done and not self._peek_is("WHEN"):
            raise self._wrong(f"Nothing may follow the * of {action.name} but another WHEN clause.")
        return True

    def _set_list(self) -> tuple[Assignment, ...]:
        assignments = []
        while True:
            name = self._name()
            if not self._accept("="):
                self._expect("==")  # Spark's grammar takes either sign
            assignments.append(Assignment(target=name, value=self._expression(",", "WHEN")))
            if not self._accept(","):
                return tuple(assignments)

    def _insert_lists(self) -> tuple[Assignment, ...]:
        self._expect("(")
        names = [self._name()]
        while self._accept(","):
            names.append(self._name())
        self._expect(")")
        self._expect("VALUES")
        self._expect("(")
        values = [self._expression(",", ")")]
        while self._accept(","):
            values.append(self._expression(",", ")"))
        self._expect(")")
        if len(names) != len(values):
            raise AnalysisError(
                "MERGE_INSERT_VALUE_COUNT_MISMATCH",
                f"The INSERT clause of a MERGE names {len(names)} column(s) and gives {len(values)} value(s). "
                "Give one value for each column.",
            )
        return tuple(Assignment(target=name, value=value) for name, value in zip(names, values, strict=True))

    def _alias(self) -> str | None:
        if not self._accept("AS") and (self._done or self._peek_is("USING", "ON")):
            return None
        name = self._name()
        if len(name) != 1:
            raise self._wrong("An alias is a single name.")
        if self._peek_is("("):
            raise AnalysisError(
                "COLUMN_ALIASES_NOT_ALLOWED", f"Column aliases are not allowed in MERGE; remove them after {name[0]}."
            )
        return name[0]

    def _name(self) -> tuple[str, ...]:
        parts = [self._name_part()]
        while self._accept("."):
            parts.append(self._name_part())
        return tuple(parts)

    def _name_part(self) -> str:
        if self._done or not is_name(self._tokens[self._at]):
            raise self._wrong("A name is expected here.")
        self._at += 1
        return self._tokens[self._at - 1].text

    def _name_text(self) -> str:
        first = self._at
        self._name()
        return self._slice(first)

    def _query_text(self) -> str:
        first = self._at
        self._skip_group()
        return self._slice(first)

    def _expression(self, *stops: str) -> str:
        """Cut out one expression that ends before one of the stop words outside all brackets and CASE."""
        first = self._at
        while not self._done and not self._peek_is(*stops):
            if self._opens():
                self._skip_group()
            else:
                self._at += 1
        if self._at == first:
            raise self._wrong("An expression is expected here.")
        text = self._slice(first)
        parse_expression(text)
        return text

    def _skip_group(self) -> None:
        """Move behind the bracket or END that closes the group opening here."""
        first, depth = self._at, 0
        while not self._done:
            if self._opens():
                depth += 1
            elif self._closes():
                depth -= 1
            self._at += 1
            if depth == 0:
                return
        self._at = first
        raise self._wrong("This is never closed.")

    def _opens(self) -> bool:
        return self._tokens[self._at].token_type in _OPEN and not self._is_member()

    def _closes(self) -> bool:
        return self._tokens[self._at].token_type in _CLOSE and not self._is_member()

    def _is_member(self) -> bool:
        """Tell whether the word here follows a dot, so that it is a name and no keyword: ``t.when``."""
        return self._at > 0 and self._tokens[self._at - 1].token_type is TokenType.DOT

    @property
    def _done(self) -> bool:
        return self._at >= len(self._tokens)

    def _peek_is(self, *words: str) -> bool:
        if self._done:
            return False
        token = self._tokens[self._at]
        if token.token_type in {TokenType.IDENTIFIER, TokenType.STRING} or self._is_member():
            return False
        return token.text.upper() in words

    def _accept(self, word: str) -> bool:
        found = self._peek_is(word)
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._wrong(f"{word} is expected here.")

    def _slice(self, first: int) -> str:
        return self._sql[self._tokens[first].start : self._tokens[self._at - 1].end + 1]

    def _wrong(self, what: str) -> AnalysisError:
        if self._done:
            return syntax_error(f"{what} The statement ends too early.", self._sql)
        token = self._tokens[self._at]
        before = self._sql[: token.start]
        line, column = before.count("\n") + 1, token.start - (before.rfind("\n") + 1) + 1
        return syntax_error(f"{what} Found {token.text!r} at line {line}, column {column}.", self._sql)


def _without_final_semicolon(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        return tokens[:-1]
    return tokens
