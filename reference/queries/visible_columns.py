"""The columns that a bare name in a query may mean, so far as the tree shows it: a column comes before a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.types.data_types import Schema

_SEES_OUTPUT = frozenset({"order", "having", "sort", "cluster", "distribute"})


def is_column(name: exp.Column, tables: Mapping[str, Schema], *, case_sensitive: bool) -> bool:
    """Return whether a bare name is a column of the SELECT that it stands in, and so no function (R-123).

    Spark takes a name for a function before it looks at the outer query, and before it looks at the aliases beside it.

    Args:
        name: a node of a query's tree.
        tables: the tables that the query may read.
        case_sensitive: ``spark.sql.caseSensitive``.

    Returns:
        False if it is none, or if the tree does not show it.
    """
    child: exp.Expr = name
    while child.parent is not None and not isinstance(child.parent, exp.Query):
        child = child.parent
    select, part = child.parent, child.arg_key
    if not isinstance(select, exp.Select) or part in {"limit", "offset"}:
        return False
    columns = list(_visible(select, tables))
    if part in _SEES_OUTPUT:
        columns += _output(select, tables)
    if case_sensitive:
        return name.name in columns
    return name.name.lower() in {column.lower() for column in columns}


def _visible(select: exp.Select, tables: Mapping[str, Schema]) -> Iterator[str]:
    """Give the columns of FROM, of its joins and of its lateral views."""
    start = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or ()]
    for source in [*([] if start is None else [start.this]), *joined]:
        yield from _columns(source, tables)
    for view in select.args.get("laterals") or ():
        yield from _names_of_alias(view)


def _columns(source: exp.Expr, tables: Mapping[str, Schema]) -> Iterator[str]:
    renamed = _names_of_alias(source)
    if renamed or isinstance(source, exp.Values | exp.Lateral):
        yield from renamed
    elif isinstance(source, exp.Subquery):
        yield from _output(source.this, tables)
    elif isinstance(source, exp.Table):
        cte = _cte(source)
        table = tables.get(source.name.lower())
        if cte is not None:
            yield from _names_of_alias(cte) or _output(cte.this, tables)
        elif table is not None:
            yield from table.names


def _output(query: exp.Expr, tables: Mapping[str, Schema]) -> Iterator[str]:
    """Give the columns of a query's result that have a name."""
    if isinstance(query, exp.SetOperation | exp.Subquery):
        yield from _output(query.this, tables)
    elif isinstance(query, exp.Select):
        for item in query.expressions:
            if isinstance(item, exp.Star):
                yield from _visible(query, tables)
            elif isinstance(item, exp.Alias | exp.Column):
                yield item.alias_or_name


def _names_of_alias(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [] if not isinstance(alias, exp.TableAlias) else [column.name for column in alias.columns]


def _cte(table: exp.Table) -> exp.CTE | None:
    """Find the query of WITH that a table's name means: of the innermost WITH that has one before the table."""
    node: exp.Expr | None = table
    while node is not None:
        with_ = node.args.get("with_")
        for cte in [] if with_ is None else with_.expressions:
            if cte.alias.lower() == table.name.lower() and table.find_ancestor(exp.CTE) is not cte:
                found: exp.CTE = cte
                return found
        node = node.parent
    return None
