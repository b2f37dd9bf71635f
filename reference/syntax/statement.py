"""The reference's own reading of MERGE text (R-101): clauses as values, expressions as sqlglot trees.

It shares nothing with ``merge``: two readings that agree by accident would be worth nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import ClauseTexts, Travel, read_merge

_EVOLUTION = re.compile(r"^(\s*MERGE)\s+WITH\s+SCHEMA\s+EVOLUTION(\s+INTO\b)", re.IGNORECASE)


class Kind(Enum):
    """The clause kinds of R-005; the value is how facts and reports call them."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class Action(Enum):
    """The action of a clause."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """``path = value``; the path keeps a qualifier if one was written; ``text`` is the value as it is written."""

    path: tuple[str, ...]
    value: exp.Expr
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clause:
    """One WHEN clause; ``star`` is ``UPDATE SET *`` or ``INSERT *``, ``condition_text`` the condition as written."""

    kind: Kind
    action: Action
    condition: exp.Expr | None
    condition_text: str | None = None
    assignments: tuple[Assignment, ...] = ()
    star: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statement:
    """A MERGE; aliases are None if none is written.

    Attributes:
        source: the name of the source table; empty if the source is a query.
        source_query: the query in parentheses after USING, None if the source is a table.
        on_text: the search condition as it is written.
        source_text: the source query as it is written, a leading WITH included; None if the source is a table.
        travels: the tables that its queries read in another version (R-139).
    """

    target: str
    target_alias: str | None
    source: str
    source_alias: str | None
    on: exp.Expr
    clauses: tuple[Clause, ...]
    schema_evolution: bool
    on_text: str = ""
    source_query: exp.Expr | None = None
    source_text: str | None = None
    travels: tuple[Travel, ...] = ()

    def of(self, kind: Kind) -> tuple[Clause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)


_NON_LAST = {
    Kind.MATCHED: "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
    Kind.NOT_MATCHED: "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
    Kind.NOT_MATCHED_BY_SOURCE: "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
}


def parse_statement(sql: str) -> Statement:
    """Read a MERGE statement.

    Args:
        sql: the text; its tables are ``target`` and ``source`` or a query.

    Raises:
        RejectedError: if Spark's parser would refuse the text (R-101 but for the order of kinds, R-106 to R-108).
        UnsupportedByReferenceError: if the source is neither a plain table nor a query.
    """
    text = read_merge(sql)
    plain, num_evolutions = _EVOLUTION.subn(r"\1\2", text.plain)
    tree = _tree(plain)
    whens = zip(tree.args["whens"].expressions, text.clauses, strict=True)
    clauses = tuple(_clause(when, texts) for when, texts in whens)
    _check_shape(clauses)
    target, target_alias = _table(tree.this)
    source, source_alias, source_query = _source(tree.args["using"])
    return Statement(
        target=target,
        target_alias=target_alias,
        source=source,
        source_alias=source_alias,
        source_query=source_query,
        on=tree.args["on"],
        clauses=clauses,
        schema_evolution=num_evolutions > 0,
        on_text=text.on,
        source_text=text.source_query,
        travels=text.travels,
    )


def _tree(sql: str) -> exp.Merge:
    try:
        tree = read_sql(sql)
    except SqlglotError as error:
        raise UnsupportedByReferenceError("a statement that sqlglot cannot read") from error
    except RecursionError:
        raise UnsupportedByReferenceError("a statement that is nested too deeply") from None
    if not isinstance(tree, exp.Merge) or any(isinstance(node, exp.Command) for node in tree.walk()):
        raise UnsupportedByReferenceError("a statement that sqlglot does not read as MERGE")
    return tree


def _table(node: exp.Expr) -> tuple[str, str | None]:
    plain = {"this", "db", "catalog", "alias"}
    if not isinstance(node, exp.Table) or {name for name, value in node.args.items() if value} - plain:
        raise UnsupportedByReferenceError("a table that is more than a name")
    if not all(isinstance(part, exp.Identifier) for part in node.parts):
        raise UnsupportedByReferenceError("a table function")
    _check_alias(node)
    return ".".join(part.name for part in node.parts), node.alias or None


def _source(node: exp.Expr) -> tuple[str, str | None, exp.Expr | None]:
    if not isinstance(node, exp.Subquery):
        return (*_table(node), None)
    if {name for name, value in node.args.items() if value} - {"this", "alias"} or isinstance(node.this, exp.Table):
        raise UnsupportedByReferenceError("a source that is neither a table nor a query")
    _check_alias(node)
    return "", node.alias or None, node.this


def _check_alias(node: exp.Expr) -> None:
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise RejectedError("COLUMN_ALIASES_NOT_ALLOWED", "Column aliases are not allowed in MERGE.")


def _clause(when: exp.When, texts: ClauseTexts) -> Clause:
    kind = _kind(when)
    condition = when.args.get("condition")
    then = when.args.get("then")
    if isinstance(then, exp.Var) and then.name.upper() == "DELETE":
        if kind is Kind.NOT_MATCHED:
            raise RejectedError("PARSE_SYNTAX_ERROR", "WHEN NOT MATCHED cannot DELETE")
        return Clause(kind=kind, action=Action.DELETE, condition=condition, condition_text=texts.condition)
    if isinstance(then, exp.Update) and kind is not Kind.NOT_MATCHED:
        return _update(kind, condition, then, texts)
    if isinstance(then, exp.Insert) and kind is Kind.NOT_MATCHED:
        return _insert(condition, then, texts)
    raise RejectedError("PARSE_SYNTAX_ERROR", f"WHEN {kind.value.upper()} cannot do {when.sql(dialect='databricks')!r}")


def _kind(when: exp.When) -> Kind:
    if when.args.get("matched"):
        return Kind.MATCHED
    return Kind.NOT_MATCHED_BY_SOURCE if when.args.get("source") else Kind.NOT_MATCHED


def _update(kind: Kind, condition: exp.Expr | None, then: exp.Update, texts: ClauseTexts) -> Clause:
    star = any(isinstance(node, exp.Star) for node in then.expressions)
    if star and (kind is Kind.NOT_MATCHED_BY_SOURCE or len(then.expressions) > 1):
        raise RejectedError("PARSE_SYNTAX_ERROR", f"UPDATE SET * is not allowed in WHEN {kind.value.upper()}")
    return Clause(
        kind=kind,
        action=Action.UPDATE,
        condition=condition,
        condition_text=texts.condition,
        assignments=() if star else _assignments([(n.this, n.expression) for n in then.expressions], texts),
        star=star,
    )


def _insert(condition: exp.Expr | None, then: exp.Insert, texts: ClauseTexts) -> Clause:
    star = isinstance(then.this, exp.Star)
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    if not star:
        if not isinstance(then.this, exp.Tuple) or not isinstance(then.expression, exp.Tuple):
            raise RejectedError("PARSE_SYNTAX_ERROR", "INSERT needs * or a column list and VALUES")
        columns, values = then.this.expressions, then.expression.expressions
        if len(columns) != len(values):
            raise RejectedError(
                "MERGE_INSERT_VALUE_COUNT_MISMATCH", f"{len(columns)} columns but {len(values)} values in INSERT"
            )
        pairs = list(zip(columns, values, strict=True))
    return Clause(
        kind=Kind.NOT_MATCHED,
        action=Action.INSERT,
        condition=condition,
        condition_text=texts.condition,
        assignments=_assignments(pairs, texts),
        star=star,
    )


def _assignments(pairs: list[tuple[exp.Expr, exp.Expr]], texts: ClauseTexts) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(path=name_parts(name), value=value, text=text)
        for (name, value), text in zip(pairs, texts.values, strict=True)
    )


def name_parts(node: exp.Expr) -> tuple[str, ...]:
    """Flatten a possibly qualified, possibly nested name: ``t.a.b`` is ``("t", "a", "b")``.

    Raises:
        RejectedError: if the node is no name.
    """
    if isinstance(node, exp.Dot):
        return (*name_parts(node.this), *name_parts(node.expression))
    if isinstance(node, exp.Identifier):
        return (node.name,)
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts)
    raise RejectedError("PARSE_SYNTAX_ERROR", f"{node.sql(dialect='databricks')!r} is no column name")


def is_name(node: exp.Expr) -> bool:
    """Return whether a node is a possibly qualified, possibly nested name."""
    if isinstance(node, exp.Dot):
        return is_name(node.this) and isinstance(node.expression, exp.Identifier)
    return isinstance(node, exp.Identifier | exp.Column) and not node.is_star


def _check_shape(clauses: tuple[Clause, ...]) -> None:
    """Check that only the last clause of a kind is unconditional (R-107).

    The kinds may be interleaved: the text of a case also stands for a call of the builder (R-102), and the order of
    the kinds among each other means nothing.
    """
    for kind in Kind:
        of_kind = [clause for clause in clauses if clause.kind is kind]
        if any(clause.condition is None for clause in of_kind[:-1]):
            raise RejectedError(
                _NON_LAST[kind], f"only the last WHEN {kind.value.upper()} clause can omit the condition"
            )
