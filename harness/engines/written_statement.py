"""A MERGE as it is written, without a verdict on it: DuckDB has to find the faults of a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.properties.merge_text import without_evolution
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import read_merge
from mergecheck.reference.syntax.statement import Action, Kind, name_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHANCE = (exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid)
_ANY_CLAUSE = " WHEN MATCHED THEN DELETE"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenClause:
    """One WHEN clause; an INSERT may have more values than columns, or fewer.

    Attributes:
        columns: the names that are assigned, with their qualifiers.
        star: ``UPDATE SET *`` or ``INSERT *``.
    """

    kind: Kind
    action: Action
    condition: exp.Expr | None
    columns: tuple[tuple[str, ...], ...] = ()
    values: tuple[exp.Expr, ...] = ()
    star: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenStatement:
    """A MERGE; aliases are None if none is written, the source is a name or a query."""

    target: str
    target_alias: str | None
    source: str
    source_alias: str | None
    source_query: exp.Expr | None
    on: exp.Expr
    clauses: tuple[WrittenClause, ...]
    schema_evolution: bool


def read_statement(sql: str) -> WrittenStatement:
    """Read a MERGE by Spark's grammar.

    Raises:
        UnsupportedByReferenceError: for text that Spark's parser refuses, or that has parts unknown here.
    """
    plain, without_clause = _plain(sql)
    plain, is_evolving = without_evolution(plain)
    try:
        tree = read_sql(plain)
    except SqlglotError:
        raise UnsupportedByReferenceError("text that is no MERGE") from None
    if not isinstance(tree, exp.Merge) or tree.args.get("on") is None:
        raise UnsupportedByReferenceError("text that is no MERGE")
    target, target_alias = _table(tree.this)
    using = tree.args["using"]
    query = using.this if isinstance(using, exp.Subquery) else None
    source, source_alias = ("", using.alias or None) if query is not None else _table(using)
    whens: Sequence[exp.When] = () if without_clause else tree.args["whens"].expressions
    return WrittenStatement(
        target=target,
        target_alias=target_alias,
        source=source,
        source_alias=source_alias,
        source_query=query,
        on=tree.args["on"],
        clauses=tuple(_clause(when) for when in whens),
        schema_evolution=is_evolving,
    )


def _plain(sql: str) -> tuple[str, bool]:
    """Write a statement unambiguously, and with a clause if it has none; return whether it has none."""
    try:
        text, without_clause = read_merge(sql), False
    except RejectedError as error:
        if error.error_class != "MERGE_WITHOUT_WHEN":
            raise UnsupportedByReferenceError("text that is no MERGE") from None
        text, without_clause = read_merge(sql.rstrip("; \n") + _ANY_CLAUSE), True
    if text.travels:
        raise UnsupportedByReferenceError("time travel")
    return text.plain, without_clause


def _table(node: exp.Expr) -> tuple[str, str | None]:
    alias = node.args.get("alias")
    if not isinstance(node, exp.Table) or (alias is not None and alias.args.get("columns")):
        raise UnsupportedByReferenceError("a table that is more than a name")
    return node.name, node.alias or None


def _clause(when: exp.When) -> WrittenClause:
    kind = Kind.NOT_MATCHED
    if when.args.get("matched"):
        kind = Kind.MATCHED
    elif when.args.get("source"):
        kind = Kind.NOT_MATCHED_BY_SOURCE
    condition, then = when.args.get("condition"), when.args.get("then")
    if isinstance(then, exp.Update):
        return _update(kind, condition, then)
    if isinstance(then, exp.Insert):
        return _insert(kind, condition, then)
    if isinstance(then, exp.Var) and then.name.upper() == "DELETE":
        return WrittenClause(kind=kind, action=Action.DELETE, condition=condition)
    raise UnsupportedByReferenceError("an action that nobody knows")


def _update(kind: Kind, condition: exp.Expr | None, then: exp.Update) -> WrittenClause:
    if any(isinstance(node, exp.Star) for node in then.expressions):
        return WrittenClause(kind=kind, action=Action.UPDATE, condition=condition, star=True)
    return WrittenClause(
        kind=kind,
        action=Action.UPDATE,
        condition=condition,
        columns=tuple(_name(node.this) for node in then.expressions),
        values=tuple(node.expression for node in then.expressions),
    )


def _insert(kind: Kind, condition: exp.Expr | None, then: exp.Insert) -> WrittenClause:
    if isinstance(then.this, exp.Star):
        return WrittenClause(kind=kind, action=Action.INSERT, condition=condition, star=True)
    if not isinstance(then.this, exp.Tuple) or not isinstance(then.expression, exp.Tuple):
        raise UnsupportedByReferenceError("an INSERT without lists")
    return WrittenClause(
        kind=kind,
        action=Action.INSERT,
        condition=condition,
        columns=tuple(_name(node) for node in then.this.expressions),
        values=tuple(then.expression.expressions),
    )


def _name(node: exp.Expr) -> tuple[str, ...]:
    try:
        return name_parts(node)
    except RejectedError:
        raise UnsupportedByReferenceError("an assignment to what is no name") from None


def draws_by_chance(statement: WrittenStatement) -> bool:
    """Return whether a statement has a function whose values differ from run to run."""
    conditions = [clause.condition for clause in statement.clauses if clause.condition is not None]
    values = [value for clause in statement.clauses for value in clause.values]
    query = [] if statement.source_query is None else [statement.source_query]
    parts = [statement.on, *conditions, *values, *query]
    return any(node.find(*_CHANCE) is not None for node in parts)


def extension(statement: WrittenStatement) -> str:
    """Name the construct of a statement that Delta refuses and DuckDB documents; empty if there is none."""
    conditions = [statement.on, *(c.condition for c in statement.clauses if c.condition is not None)]
    if any(node.find(exp.Query) is not None for node in conditions):
        return "subqueries in conditions"
    if any(node.find(exp.Rand) is not None for node in conditions):
        return "conditions that are not deterministic"
    return ""
