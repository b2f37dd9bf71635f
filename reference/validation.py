"""What conditions and values must not contain (R-130 to R-134)."""

from __future__ import annotations

from sqlglot import exp

from reference.errors import RejectedError

_NON_DETERMINISTIC = frozenset(
    {
        "rand",
        "random",
        "randn",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
    }
)


def check_condition(node: exp.Expr, place: str, tables: tuple[str, ...]) -> None:
    """Refuse what no condition may contain; ``tables`` are those that a subquery can find.

    Raises:
        RejectedError: with the class of the first rule broken.
    """
    text = node.sql(dialect="databricks")
    for query in node.find_all(exp.Query):
        _check_tables(query, tables)
    if any(isinstance(part, exp.Window) for part in node.walk()):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"window function in the {place}: {text}")
    if any(_is_non_deterministic(part) for part in node.walk()):
        raise RejectedError(
            "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED",
            f"Non-deterministic functions are not supported in the {place} (condition = {text}).",
        )
    if any(isinstance(part, exp.AggFunc) for part in _outside_queries(node)):
        raise RejectedError(
            "DELTA_AGGREGATION_NOT_SUPPORTED",
            f"Aggregate functions are not supported in the {place} (condition = {text}).",
        )
    if node.find(exp.Query) is not None:
        raise RejectedError(
            "DELTA_UNSUPPORTED_SUBQUERY", f"Subqueries are not supported in the {place} (condition = {text})."
        )


def check_value(node: exp.Expr) -> None:
    """Refuse what no assigned value may contain (R-134).

    Raises:
        RejectedError: for aggregates and window functions.
    """
    if any(isinstance(part, exp.AggFunc | exp.Window) for part in _outside_queries(node)):
        raise RejectedError(
            "UNSUPPORTED_EXPR_FOR_OPERATOR", f"not allowed in a value: {node.sql(dialect='databricks')}"
        )


def _outside_queries(node: exp.Expr) -> list[exp.Expr]:
    return list(node.walk(prune=lambda part: isinstance(part, exp.Query)))


def _is_non_deterministic(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _NON_DETERMINISTIC
    return isinstance(node, exp.Func) and any(name.lower() in _NON_DETERMINISTIC for name in type(node).sql_names())


def _check_tables(query: exp.Expr, tables: tuple[str, ...]) -> None:
    for table in query.find_all(exp.Table):
        if table.name.lower() not in tables:
            raise RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {table.name} cannot be found.")
