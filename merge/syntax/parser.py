"""MERGE statements in SQL: text to ``MergeStatement``.

Expressions must reach Spark exactly as written. So the statement is read token by token by the grammar of R-101, and
expressions are cut out of the text. What is in a query is left to Spark.
"""

from __future__ import annotations

import re
from typing import Final

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError, fault_in
from mergecheck.merge.syntax.dialect import parse_name
from mergecheck.merge.syntax.expression_reader import ExpressionReader
from mergecheck.merge.syntax.identifier_clause import with_names
from mergecheck.merge.syntax.statement import (
    ActionType,
    Assignment,
    Clause,
    ClauseKind,
    MergeStatement,
    place_of,
    unconditional_before_last,
)

# The words that Spark takes as names of columns and tables, but not as aliases of tables.
_NO_ALIASES: Final = (
    *("ANTI", "CROSS", "EXCEPT", "FULL", "INNER", "INTERSECT", "JOIN", "LATERAL", "LEFT", "MINUS", "NATURAL", "ON"),
    *("RIGHT", "SEMI", "UNION", "USING"),
)

_ORDER: Final = tuple(ClauseKind)  # the order that the grammar fixes

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
        interleaved: allow the kinds of clauses in any order, as the builder does (R-102), and not only in the order
            of Spark's grammar.

    Raises:
        AnalysisError: with Spark's class: ``PARSE_SYNTAX_ERROR``, ``MERGE_WITHOUT_WHEN``,
            ``MERGE_INSERT_VALUE_COUNT_MISMATCH``, ``NON_LAST_..._CLAUSE_OMIT_CONDITION`` or
            ``COLUMN_ALIASES_NOT_ALLOWED``.
    """
    statement = _Reader(with_names(sql), interleaved=interleaved).statement()
    if not statement.clauses:
        raise AnalysisError("MERGE_WITHOUT_WHEN", "There must be at least one WHEN clause in a MERGE statement.")
    if (found := unconditional_before_last(statement.clauses)) is not None:
        number, clause = found
        error_class, name = _OMITS_CONDITION[clause.kind]
        raise AnalysisError(
            error_class,
            f"{place_of(number, clause.kind)}: When there are more than one {name} clauses in a MERGE statement, "
            f"only the last {name} clause can omit the condition.",
        )
    return statement


def _with_queries(queries: str, source: str, alias: str | None) -> tuple[str, str | None]:
    """Put the queries of a WITH before MERGE into the source, the only place that is known to need them."""
    if not source.startswith("("):
        return f"({queries} SELECT * FROM {source})", alias or parse_name(source)[-1]
    if re.match(r"\(\s*WITH\b", source, re.IGNORECASE):
        raise UnsupportedStatementError("a WITH before MERGE and another in its source", hint="Write one WITH.")
    return f"({queries} {source[1:]}", alias


class _Reader(ExpressionReader):
    """Reads one statement by the grammar of R-101."""

    def __init__(self, sql: str, *, interleaved: bool) -> None:
        super().__init__(sql)
        self.drop_final_semicolons()
        self._interleaved = interleaved

    def statement(self) -> MergeStatement:
        queries = self._leading_with()
        self.expect("MERGE")
        evolution = self.accept("WITH")
        if evolution:
            self.expect("SCHEMA", "EVOLUTION")
        self.expect("INTO")
        target, target_alias = self._name_text(), self._alias()
        self.expect("USING")
        source = self._query_text() if self.key() == "(" else self._name_text()
        source_alias = self._alias()
        if queries:
            source, source_alias = _with_queries(queries, source, source_alias)
        self.expect("ON")
        condition = self._expression_text()
        return MergeStatement(
            condition=condition,
            clauses=self._clauses(),
            target=target,
            target_alias=target_alias,
            source=source,
            source_alias=source_alias,
            with_schema_evolution=evolution,
        )

    def _leading_with(self) -> str:
        """Cut out a WITH before MERGE; empty if there is none."""
        first = self.at
        if not self.accept("WITH"):
            return ""
        while True:
            self.part()
            named = self.key() == "("
            if named:
                self.skip_group()
            if self.accept("AS") or self.key() == "(":
                named = False
            if not named:
                self._query_text()
            if not self.accept(","):
                return self.text_from(first)

    def _clauses(self) -> tuple[Clause, ...]:
        clauses: list[Clause] = []
        while not self.done:
            first = self.at
            clause = self._clause(len(clauses) + 1)
            if not self._interleaved and clauses and _ORDER.index(clause.kind) < _ORDER.index(clauses[-1].kind):
                self.at = first
                raise self.wrong(
                    f"WHEN {clause.kind.value} stands after WHEN {clauses[-1].kind.value}. The order is: all MATCHED, "
                    "then all NOT MATCHED, then all NOT MATCHED BY SOURCE clauses."
                )
            clauses.append(clause)
        return tuple(clauses)

    def _clause(self, number: int) -> Clause:
        self.expect("WHEN")
        kind = self._kind()
        condition = self._expression_text() if self.accept("AND") else None
        self.expect("THEN")
        action = self._action(kind)
        if action is ActionType.DELETE:
            return Clause(kind=kind, action=action, condition=condition)
        if self._star(kind, action):
            return Clause(kind=kind, action=action, condition=condition, star=True)
        with fault_in(place_of(number, kind)):
            assignments = self._set_list() if action is ActionType.UPDATE else self._insert_lists()
        return Clause(kind=kind, action=action, condition=condition, assignments=assignments)

    def _kind(self) -> ClauseKind:
        if self.accept("MATCHED"):
            return ClauseKind.MATCHED
        if not self.accept("!"):
            self.expect("NOT")
        self.expect("MATCHED")
        if not self.accept("BY") or self.accept("TARGET"):
            return ClauseKind.NOT_MATCHED
        self.expect("SOURCE")
        return ClauseKind.NOT_MATCHED_BY_SOURCE

    def _action(self, kind: ClauseKind) -> ActionType:
        allowed = ("INSERT",) if kind is ClauseKind.NOT_MATCHED else ("UPDATE", "DELETE")
        word = self.accept_any(*allowed)
        if not word:
            raise self.wrong(f"WHEN {kind.value} THEN must go on with {' or '.join(allowed)}.")
        if word == "UPDATE":
            self.expect("SET")
        return ActionType[word]

    def _star(self, kind: ClauseKind, action: ActionType) -> bool:
        if not self.accept("*"):
            return False
        if kind is ClauseKind.NOT_MATCHED_BY_SOURCE:
            raise self.wrong("UPDATE SET * needs a source row; name the columns in WHEN NOT MATCHED BY SOURCE.")
        if not self.done and self.key() != "WHEN":
            raise self.wrong(f"Nothing may follow the * of {action.name} but another WHEN clause.")
        return True

    def _set_list(self) -> tuple[Assignment, ...]:
        assignments = []
        while True:
            name = self.name()
            if not self.accept("=="):  # Spark's grammar takes either sign
                self.expect("=")
            assignments.append(Assignment(target=name, value=self._expression_text()))
            if not self.accept(","):
                return tuple(assignments)

    def _insert_lists(self) -> tuple[Assignment, ...]:
        self.expect("(")
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(")", "VALUES", "(")
        values = [self._expression_text()]
        while self.accept(","):
            values.append(self._expression_text())
        self.expect(")")
        if len(names) != len(values):
            raise AnalysisError(
                "MERGE_INSERT_VALUE_COUNT_MISMATCH",
                f"The INSERT clause of a MERGE names {len(names)} column(s) and gives {len(values)} value(s). "
                "Give one value for each column.",
            )
        return tuple(Assignment(target=name, value=value) for name, value in zip(names, values, strict=True))

    def _alias(self) -> str | None:
        if not self.accept("AS") and (self.done or self.key() in ("USING", "ON")):
            return None
        if self.key() in _NO_ALIASES:
            raise self.wrong("This word is no alias; write it in backticks.")
        name = self.part().name
        if self.key() == ".":
            raise self.wrong("An alias is a single name.")
        if self.key() == "(":
            raise AnalysisError(
                "COLUMN_ALIASES_NOT_ALLOWED", f"Column aliases are not allowed in MERGE; remove them after {name}."
            )
        return name

    def _name_text(self) -> str:
        first = self.at
        if self.key() == "IDENTIFIER" and self.key(1) == "(":
            raise UnsupportedStatementError("IDENTIFIER of anything but a plain name", hint="Write the name itself.")
        self.name()
        return self.text_from(first)

    def _query_text(self) -> str:
        """Cut out a query in brackets."""
        first = self.at
        if not self.may_start_query():
            raise self.wrong("A query in brackets is expected here.")
        self.skip_group()
        return self.text_from(first)

    def _expression_text(self) -> str:
        """Cut out one expression."""
        first = self.at
        self.whole()
        return self.text_from(first)
