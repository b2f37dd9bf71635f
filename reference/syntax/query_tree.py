"""Reading the tree of a query or condition: names that Spark gives, clauses that must not be overlooked, conjuncts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.reference.syntax.pipe_text import UNKNOWN_STEP

if TYPE_CHECKING:
    from collections.abc import Iterator


_CLAUSES = {
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "spec": "a frame of a window",
    "version": "VERSION AS OF",
    "windows": "WINDOW",
}
_CALL = re.compile(r"([A-Za-z_]\w*)\(")


def allow(node: exp.Expr, *known: str) -> None:
    """Refuse a node with arguments that its reader does not read.

    Raises:
        UnsupportedByReferenceError: if any other argument is set.
    """
    for name, value in node.args.items():
        if value and name not in known:
            if isinstance(node, exp.Func):
                raise UnsupportedByReferenceError(f"{described(node)} in this form")
            clause = _CLAUSES.get(name, name.rstrip("_").replace("_", " ").upper())
            raise UnsupportedByReferenceError(f"{clause} in a source query")


def described(node: exp.Expr) -> str:
    """Name an expression as Spark writes it, without its operands: ``function date_format``, ``operator &``."""
    if isinstance(node, exp.Exists | exp.Query):
        return "EXISTS with a query" if isinstance(node, exp.Exists) else "a query in an expression"
    if isinstance(node, exp.Tuple):
        return "several values in brackets"
    sql = node.sql(dialect="databricks")
    if found := _CALL.match(sql):
        if found[1].lower() == UNKNOWN_STEP:
            return "a step of this kind behind |>"
        return f"function {found[1].lower()}"
    if isinstance(node, exp.JSONExtract | exp.JSONExtractScalar):  # written as a path behind a colon
        return "function get_json_object"
    left = node.left.sql(dialect="databricks") if isinstance(node, exp.Binary) else ""
    if left and sql.startswith(f"{left} "):
        return f"operator {sql.removeprefix(left).split()[0]}"
    word = next(iter(sql.split()), "")
    return f"expression {word}" if word.isalpha() and word.isupper() else "an expression of this kind"


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


def asks_query(part: exp.Expr) -> bool:
    """Return whether a part of a condition is EXISTS or IN with a query, or NOT before such a part."""
    bare = part.this.unnest() if isinstance(part, exp.Not) else part
    return isinstance(bare, exp.Exists) or (isinstance(bare, exp.In) and bare.args.get("query") is not None)
