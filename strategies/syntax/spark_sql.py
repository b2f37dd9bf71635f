"""Writes a drawn statement as Spark SQL."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, assert_never

from mergecheck.model.types.data_types import STRING, quote
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.literals import literal
from mergecheck.strategies.syntax.statement import Action, Aliases, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.strategies.syntax.statement import Assignment, Clause, Statement

_WHEN = {
    ClauseKind.MATCHED: "WHEN MATCHED",
    ClauseKind.NOT_MATCHED: "WHEN NOT MATCHED",
    ClauseKind.NOT_MATCHED_BY_SOURCE: "WHEN NOT MATCHED BY SOURCE",
}
_BETWEEN: Mapping[type, str] = {e.And: "AND", e.Or: "OR", e.Quotient: "DIV"}
_ATOMS = (e.Literal, e.Reference, e.FieldAccess, e.Coalesce, e.Cast, e.CaseWhen, e.NamedStruct, e.ArrayCall)


def statement_text(statement: Statement) -> str:
    """Write a MERGE statement as one version of Spark SQL (R-101)."""
    aliases = statement.aliases
    source = e.MergeTable.TARGET if statement.self_merge else e.MergeTable.SOURCE
    table = statement.source_table or source.value
    relation = table if statement.source_query is None else f"({statement.source_query})"
    evolution = "WITH SCHEMA EVOLUTION " if statement.with_schema_evolution else ""
    condition = expression_text(statement.condition, aliases)
    head = (
        f"MERGE {evolution}INTO {_aliased(e.MergeTable.TARGET.value, aliases.target, aliases)} "
        f"USING {_aliased(relation, aliases.source, aliases)} "
        f"ON {f'({condition})' if statement.brackets else condition}"
    )
    return " ".join([head, *(clause_text(clause, aliases) for clause in statement.clauses)])


def clause_text(clause: Clause, aliases: Aliases) -> str:
    """Write one WHEN clause."""
    guard = "" if clause.condition is None else f" AND {_operand(clause.condition, aliases)}"
    return f"{_WHEN[clause.kind]}{guard} THEN {_action(clause, aliases)}"


def qualifier(side: e.MergeTable, aliases: Aliases) -> str:
    """Write what qualifies a column of a table: its alias or its name."""
    alias = aliases.target if side is e.MergeTable.TARGET else aliases.source
    return side.value if alias is None else quote(alias)


def expression_text(expression: e.Expression, aliases: Aliases) -> str:
    """Write an expression; operands that are not atoms get parentheses."""
    match expression:
        case e.Literal(value, data_type):
            return literal(value, data_type)
        case e.Reference():
            return _reference(expression, aliases)
        case e.FieldAccess(base, field, _):
            return f"{expression_text(base, aliases)}.{quote(field)}"
        case e.Comparison(operator, left, right):
            return f"{_operand(left, aliases)} {operator.value} {_operand(right, aliases)}"
        case e.And(left, right) | e.Or(left, right) | e.Quotient(left, right):
            return f"{_operand(left, aliases)} {_BETWEEN[type(expression)]} {_operand(right, aliases)}"
        case e.Not(operand):
            return f"NOT {_operand(operand, aliases)}"
        case e.Sum(left=left, right=right, minus=minus):
            return f"{_operand(left, aliases)} {'-' if minus else '+'} {_operand(right, aliases)}"
        case e.IsNull():
            return f"{_operand(expression.operand, aliases)} IS {'NOT ' if expression.negated else ''}NULL"
        case e.In(operand, options):
            inside = ", ".join(expression_text(option, aliases) for option in options)
            return f"{_operand(operand, aliases)} IN ({inside})"
        case e.Between(operand, low, high):
            return f"{_operand(operand, aliases)} BETWEEN {_operand(low, aliases)} AND {_operand(high, aliases)}"
        case e.CaseWhen(condition, value, otherwise):
            parts = (expression_text(part, aliases) for part in (condition, value, otherwise))
            return "CASE WHEN {} THEN {} ELSE {} END".format(*parts)
        case e.Coalesce(first, second):
            return f"COALESCE({expression_text(first, aliases)}, {expression_text(second, aliases)})"
        case e.Cast(operand, data_type):
            return f"CAST({expression_text(operand, aliases)} AS {data_type.ddl()})"
        case e.NamedStruct(names, values):
            pairs = zip(names, values, strict=True)
            inside = ", ".join(f"{literal(name, STRING)}, {expression_text(value, aliases)}" for name, value in pairs)
            return f"NAMED_STRUCT({inside})"
        case e.ArrayCall(function, arguments):
            return f"{function}({', '.join(expression_text(argument, aliases) for argument in arguments)})"
        case e.LibraryCall(texts, operands):
            written = (_operand(operand, aliases) for operand in operands)
            return "".join(part for pair in zip_longest(texts, written, fillvalue="") for part in pair)
        case e.Verbatim(text):
            return text
        case _:
            assert_never(expression)


def _operand(expression: e.Expression, aliases: Aliases) -> str:
    text = expression_text(expression, aliases)
    return text if isinstance(expression, _ATOMS) else f"({text})"


def _aliased(relation: str, alias: str | None, aliases: Aliases) -> str:
    if alias is None:
        return relation
    return f"{relation} AS {quote(alias)}" if aliases.with_as else f"{relation} {quote(alias)}"


def _reference(reference: e.Reference, aliases: Aliases) -> str:
    if not reference.qualified:
        return quote(reference.name)
    return f"{qualifier(reference.side, aliases)}.{quote(reference.name)}"


def _action(clause: Clause, aliases: Aliases) -> str:
    if clause.action is Action.DELETE:
        return "DELETE"
    if clause.action is Action.INSERT:
        return "INSERT *" if clause.star else _insert(clause.assignments, aliases)
    if clause.star:
        return "UPDATE SET *"
    return "UPDATE SET " + ", ".join(_set(assignment, aliases) for assignment in clause.assignments)


def _insert(assignments: tuple[Assignment, ...], aliases: Aliases) -> str:
    columns = ", ".join(_path(assignment) for assignment in assignments)
    values = ", ".join(expression_text(assignment.value, aliases) for assignment in assignments)
    return f"INSERT ({columns}) VALUES ({values})"


def _set(assignment: Assignment, aliases: Aliases) -> str:
    prefix = f"{qualifier(e.MergeTable.TARGET, aliases)}." if assignment.qualified else ""
    if assignment.by_source:
        prefix = f"{qualifier(e.MergeTable.SOURCE, aliases)}."
    return f"{prefix}{_path(assignment)} = {expression_text(assignment.value, aliases)}"


def _path(assignment: Assignment) -> str:
    return ".".join(map(quote, (assignment.column, *assignment.path)))
