"""The source as a query (R-101): the Delta tables that it reads, and whether two scans of it must agree (R-450).

Spark runs the user's text with the names of Delta tables replaced in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pyspark.errors import AnalysisException
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.syntax.dialect import MergeDialect, quote_name, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

# Projection, filter, distinct, union and alias, over deterministic expressions. A source with anything else is
# materialised.
_REPEATABLE: Final = (
    *(exp.Subquery, exp.Select, exp.Union, exp.From, exp.Where, exp.Distinct, exp.Table, exp.TableAlias),
    *(exp.Alias, exp.Star, exp.Column, exp.Identifier, exp.Paren, exp.Dot, exp.Hint, exp.JoinHint),
    *(exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Tuple),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Case, exp.If, exp.Coalesce),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """A query that is ready to run once its views exist.

    Attributes:
        text: the query in brackets, as Spark runs it.
        views: name of a temporary view to create -> path of the Delta table that it shows.
        others: the names of all other tables and views that the query reads, at any depth.
        is_repeatable: every scan gives the same rows, as long as the views show fixed snapshots.
        is_read: whether its tables are known; else it is beyond our parser, and names them as it is written.
    """

    text: str
    views: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    is_repeatable: bool = False
    is_read: bool = True


def plan_query(query: str, path_of: Callable[[tuple[str, ...]], str | None]) -> SourceQuery:
    """Replace the Delta tables that a query in brackets reads by views; the tables' names become aliases.

    Args:
        query: the source as the statement writes it.
        path_of: gives the path of a Delta table by the parts of its name, None for any other table.

    Raises:
        UnsupportedStatementError: the query asks for an older version of a Delta table, or is nested too deeply.
    """
    query = _as_select(query)
    try:
        tree = MergeDialect().parse(query)[0]
    except SqlglotError:
        tree = None
    except RecursionError as error:
        raise UnsupportedStatementError("a query nested this deeply", hint="Make it a view.") from error
    if tree is None:
        return SourceQuery(text=query, is_read=False)  # Spark decides whether it is wrong
    _refuse_hidden(tree)
    views: dict[str, str] = {}
    edits: list[tuple[int, int, str]] = []
    others: list[str] = []
    for table in _tables(tree):
        path = path_of(tuple(part.name for part in table.parts))
        if path is None:
            others.append(".".join(quote_name(part.name) for part in table.parts))
            continue
        if any(table.args.get(key) for key in ("version", "when")):
            raise UnsupportedStatementError(
                f"time travel in the source ({table.sql(dialect=MergeDialect)})",
                hint="Merge from a DataFrame of that version instead.",
            )
        view = f"merge_source_{uuid4().hex}"
        views[view] = path
        first, last = table.parts[0].meta, table.parts[-1].meta
        edits.append((first["start"], last["end"] + 1, view))
        if not table.alias:
            place = _behind_sample(query, last["end"] + 1)
            edits.append((place, place, f" AS {quote_name(table.name)}"))
    for start, end, replacement in sorted(edits, reverse=True):
        query = query[:start] + replacement + query[end:]
    is_repeatable = not others and _is_repeatable(tree)
    return SourceQuery(text=query, views=views, others=tuple(others), is_repeatable=is_repeatable)


def _refuse_hidden(tree: exp.Expr) -> None:
    """Refuse what only the table itself has, and not the view in its place.

    Raises:
        UnsupportedStatementError: for its hidden column, its versions as a function, and options of its reader.
    """
    for column in tree.find_all(exp.Column):
        if any(part.name.lower() == "_metadata" for part in column.parts):
            raise UnsupportedStatementError(
                "the hidden column _metadata in the source", hint="Merge from a DataFrame that has it as a column."
            )
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower().startswith("table_changes"):
            raise UnsupportedStatementError(
                f"{call.name} in the source", hint="Merge from a DataFrame of the changes instead."
            )


def repeated_columns(source: DataFrame, *, case_sensitive: bool) -> frozenset[str]:
    """Name the columns that a query lists several times, as in ``SELECT *, v FROM source``.

    They are one column to Spark, whose name is not ambiguous. Only Spark can separate them from two columns of one
    name.

    Returns:
        Their names as names are compared (R-120).
    """
    names = Counter(name if case_sensitive else name.lower() for name in source.columns)
    return frozenset(name for name, count in names.items() if count > 1 and _is_one_column(source, name))


def _is_one_column(source: DataFrame, name: str) -> bool:
    try:
        source.select(quote_name(name)).schema  # noqa: B018 - the analysis is the question
    except AnalysisException:
        return False
    return True


def _as_select(query: str) -> str:
    """Write ``(TABLE name)`` in full."""
    tokens = tokenize(query)
    if len(tokens) > 2 and tokens[1].text.upper() == "TABLE":  # noqa: PLR2004 - the bracket, the word and a name
        return f"{query[: tokens[1].start]}SELECT * FROM{query[tokens[1].end + 1 :]}"
    return query


def _behind_sample(query: str, place: int) -> int:
    """Return the place of an alias behind a table's name: if TABLESAMPLE follows the name, the place behind that."""
    tokens = [token for token in tokenize(query) if token.start >= place]
    while len(tokens) > 1 and tokens[0].text.upper() in ("TABLESAMPLE", "REPEATABLE"):
        depth, number = 1, 2  # behind the opening bracket
        while depth and number < len(tokens):
            depth += {"(": 1, ")": -1}.get(tokens[number].text, 0)
            number += 1
        place, tokens = tokens[number - 1].end + 1, tokens[number:]
    return place


def _tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Find the tables that a query reads: neither its own common table expressions nor names in hints."""
    for table in tree.find_all(exp.Table):
        if table.find_ancestor(exp.Hint) is None and not _is_common(table):
            yield table


def _is_common(table: exp.Table) -> bool:
    """Return whether a name means a common table expression that is visible in its place."""
    if len(table.parts) > 1:
        return False
    child: exp.Expr = table
    while child.parent is not None:
        parent = child.parent
        if isinstance(parent, exp.With) and not parent.args.get("recursive"):
            earlier = parent.expressions[: next(i for i, cte in enumerate(parent.expressions) if cte is child)]
            if _names(earlier, table.name):
                return True
            child = parent.parent or parent  # the query below WITH does not see itself from within
            continue
        common = parent.args.get("with_")
        if common is not None and _names(common.expressions, table.name):
            return True
        child = parent
    return False


def _names(expressions: list[exp.Expr], name: str) -> bool:
    return any(cte.alias.lower() == name.lower() for cte in expressions)


def _is_repeatable(tree: exp.Expr) -> bool:
    if not all(isinstance(node, _REPEATABLE) for node in tree.walk()):
        return False
    # A query inside an expression may be correlated, which counts as an operator of its own.
    outer = (exp.Subquery, exp.From, exp.SetOperation)
    return all(node.parent is None or isinstance(node.parent, outer) for node in tree.find_all(exp.Query))
