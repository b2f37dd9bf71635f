"""Writes a drawn statement as Spark SQL: the one place where its text is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from reference.types import quote
from strategies.expressions import (
    And,
    Between,
    CaseWhen,
    Cast,
    Coalesce,
    Comparison,
    FieldAccess,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Reference,
    Side,
    Sum,
)
from strategies.literals import literal
from strategies.statement import Action, Aliases, ClauseKind

if TYPE_CHECKING:
    from strategies.expressions import Expression
    from strategies.statement import Assignment, Clause, Statement

_WHEN = {
    ClauseKind.MATCHED: "WHEN MATCHED",
    ClauseKind.NOT_MATCHED: "WHEN NOT MATCHED",
    ClauseKind.NOT_MATCHED_BY_SOURCE: "WHEN NOT MATCHED BY SOURCE",
}
_ATOMS = (Literal, Reference, FieldAccess, Coalesce, Cast, CaseWhen)


def statement_text(statement: Statement) -> str:
    """Write a MERGE statement as one line of Spark SQL (R-101)."""
    aliases = statement.aliases
    source = Side.TARGET if statement.self_merge else Side.SOURCE
    head = (
        f"MERGE INTO {_table(Side.TARGET, aliases.target, aliases)} "
        f"USING {_table(source, aliases.source, aliases)} "
        f"ON {expression_text(statement.condition, aliases)}"
    )
    return " ".join([head, *(clause_text(clause, aliases) for clause in statement.clauses)])


def clause_text(clause: Clause, aliases: Aliases) -> str:
    """Write one WHEN clause."""
    guard = "" if clause.condition is None else f" AND {_operand(clause.condition, aliases)}"
    return f"{_WHEN[clause.kind]}{guard} THEN {_action(clause, aliases)}"


def expression_text(expression: Expression, aliases: Aliases) -> str:
    """Write an expression; operands that are not atoms go into parentheses."""
    match expression:
        case Literal(value, data_type):
            return literal(value, data_type)
        case Reference():
            return _reference(expression, aliases)
        case FieldAccess(base, field, _):
            return f"{_reference(base, aliases)}.{quote(field)}"
        case Comparison(operator, left, right):
            return f"{_operand(left, aliases)} {operator.value} {_operand(right, aliases)}"
        case And(left, right):
            return f"{_operand(left, aliases)} AND {_operand(right, aliases)}"
        case Or(left, right):
            return f"{_operand(left, aliases)} OR {_operand(right, aliases)}"
        case Not(operand):
            return f"NOT {_operand(operand, aliases)}"
        case Sum():
            sign = "-" if expression.minus else "+"
            return f"{_operand(expression.left, aliases)} {sign} {_operand(expression.right, aliases)}"
        case IsNull():
            return f"{_operand(expression.operand, aliases)} IS {'NOT ' if expression.negated else ''}NULL"
        case In(operand, options):
            inside = ", ".join(expression_text(option, aliases) for option in options)
            return f"{_operand(operand, aliases)} IN ({inside})"
        case Between(operand, low, high):
            return f"{_operand(operand, aliases)} BETWEEN {_operand(low, aliases)} AND {_operand(high, aliases)}"
        case CaseWhen() | Coalesce() | Cast():
            return _call(expression, aliases)
        case _:
            assert_never(expression)


def _call(expression: CaseWhen | Coalesce | Cast, aliases: Aliases) -> str:
    match expression:
        case CaseWhen(condition, value, otherwise):
            parts = (expression_text(part, aliases) for part in (condition, value, otherwise))
            return "CASE WHEN {} THEN {} ELSE {} END".format(*parts)
        case Coalesce(first, second):
            return f"COALESCE({expression_text(first, aliases)}, {expression_text(second, aliases)})"
        case Cast(operand, data_type):
            return f"CAST({expression_text(operand, aliases)} AS {data_type.ddl()})"


def _operand(expression: Expression, aliases: Aliases) -> str:
    text = expression_text(expression, aliases)
    return text if isinstance(expression, _ATOMS) else f"({text})"


def _table(side: Side, alias: str | None, aliases: Aliases) -> str:
    if alias is None:
        return side.value
    return f"{side.value} AS {quote(alias)}" if aliases.with_as else f"{side.value} {quote(alias)}"


def _reference(reference: Reference, aliases: Aliases) -> str:
    if not reference.qualified:
        return quote(reference.name)
    return f"{_qualifier(reference.side, aliases)}.{quote(reference.name)}"


def _qualifier(side: Side, aliases: Aliases) -> str:
    alias = aliases.target if side is Side.TARGET else aliases.source
    return side.value if alias is None else quote(alias)


def _action(clause: Clause, aliases: Aliases) -> str:
    if clause.action is Action.DELETE:
        return "DELETE"
    if clause.action is Action.INSERT:
        return "INSERT *" if clause.star else _insert(clause.assignments, aliases)
    if clause.star:
        return "UPDATE SET *"
    return "UPDATE SET " + ", ".join(_set(assignment, aliases) for assignment in clause.assignments)


def _insert(assignments: tuple[Assignment, ...], aliases: Aliases) -> str:
    columns = ", ".join(quote(assignment.column) for assignment in assignments)
    values = ", ".join(expression_text(assignment.value, aliases) for assignment in assignments)
    return f"INSERT ({columns}) VALUES ({values})"


def _set(assignment: Assignment, aliases: Aliases) -> str:
    prefix = f"{_qualifier(Side.TARGET, aliases)}." if assignment.qualified else ""
    return f"{prefix}{quote(assignment.column)} = {expression_text(assignment.value, aliases)}"
