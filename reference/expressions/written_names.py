"""The names in an expression, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterator


def names_in(node: exp.Expr, variables: frozenset[str] = frozenset()) -> Iterator[tuple[str, ...]]:
    """Walk the names of an expression in order, without those inside subqueries (they have scopes of their own).

    Args:
        node: the expression.
        variables: the parameters of lambda functions around it, which are no columns.
    """
    if isinstance(node, exp.Query | exp.DataType):
        return
    if isinstance(node, exp.Column | exp.Dot) and is_name(node):
        parts = name_parts(node)
        if parts[0].lower() not in variables and parts[-1] != "*":
            yield parts
        return
    if isinstance(node, exp.Lambda):
        variables = variables.union(parameter.name.lower() for parameter in node.expressions)
    for child in node.iter_expressions():
        yield from names_in(child, variables)
