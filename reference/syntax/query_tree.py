"""Reading the tree of a query or condition: names that Spark gives, clauses that nobody may overlook, conjuncts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import UnsupportedByReferenceError

if TYPE_CHECKING:
    from collections.abc import Iterator


def allow(node: exp.Expr, *known: str) -> None:
    """Refuse a node that says more than its reader reads.

    Raises:
        UnsupportedByReferenceError: if any other argument is set.
    """
    for name, value in node.args.items():
        if value and name not in known:
            word = name.rstrip("_").replace("_", " ")
            raise UnsupportedByReferenceError(f"source query with {word} in {type(node).__name__}")


def table_name(table: exp.Table) -> str:
    """Give the name of a plain table.

    Raises:
        UnsupportedByReferenceError: for qualified names, functions, versions, samples and the like.
    """
    allow(table, "this", "alias")
    if not isinstance(table.this, exp.Identifier) or (table.name.upper() == "TABLE" and not table.this.args["quoted"]):
        raise UnsupportedByReferenceError("source query over a table function")
    return table.name


def output_name(item: exp.Expr) -> str:
    """Name a column of a result as Spark does: by its alias, else as the column or field is written.

    Raises:
        UnsupportedByReferenceError: for other expressions, whose names are texts that Spark makes up.
    """
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    raise UnsupportedByReferenceError("a column of the source query without a name")


def aliased(item: exp.Expr) -> exp.Expr:
    """Give the expression under an alias."""
    return item.this if isinstance(item, exp.Alias) else item


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Give the parts of a condition that AND joins, without the parentheses around them."""
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        yield from conjuncts(bare.this)
        yield from conjuncts(bare.expression)
    else:
        yield bare
