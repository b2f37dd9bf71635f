"""What conditions and values must not contain (R-130 to R-134)."""

from __future__ import annotations

from sqlglot import exp

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError

_NON_DETERMINISTIC = frozenset(
    """rand random randn uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length reflect java_method""".split()  # noqa: SIM905 - one word list
)
_GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple".split()  # noqa: SIM905
)
_WINDOW_ONLY = frozenset(
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value".split()  # noqa: SIM905
)
# Aggregates that sqlglot does not know as such.
_AGGREGATES = frozenset(
    """every any some bool_or std try_sum try_avg percentile_approx approx_percentile histogram_numeric regr_avgx
    regr_avgy regr_r2 regr_slope regr_intercept regr_sxx regr_sxy regr_syy regr_count hll_sketch_agg hll_union_agg
    bitmap_construct_agg bitmap_or_agg count_min_sketch kurtosis skewness""".split()  # noqa: SIM905
)
# Aggregates whose result depends on the order of rows: Spark takes them for non-deterministic.
_UNORDERED = frozenset(
    """first first_value last last_value any_value collect_list collect_set array_agg array_unique_agg mode listagg
    string_agg group_concat""".split()  # noqa: SIM905
)

_IN_EXISTS = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"


def check_condition(node: exp.Expr, place: str, tables: tuple[str, ...]) -> None:
    """Refuse what no condition may contain; ``tables`` are those that a subquery can find.

    Raises:
        RejectedError: with the class of the first rule broken.
        UnsupportedByReferenceError: if the rules do not say which class comes first.
    """
    for query in node.find_all(exp.Query):
        _check_tables(query, tables)
    outside = _functions(node, inside_queries=False)
    everywhere = _functions(node, inside_queries=True)
    _check_generators(outside, node)
    if any(isinstance(part, exp.Window) for part in everywhere):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"window function in the {place}: {_text(node)}")
    _check_window_only(outside)
    if any(_names(part) & _UNORDERED for part in outside):
        raise UnsupportedByReferenceError("an aggregate in a condition that depends on the order of rows")
    if any(_names(part) & _NON_DETERMINISTIC for part in everywhere):
        raise RejectedError(
            "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED",
            f"Non-deterministic functions are not supported in the {place} (condition = {_text(node)}).",
        )
    if any(_is_aggregate(part) for part in outside):
        raise RejectedError(
            "DELTA_AGGREGATION_NOT_SUPPORTED",
            f"Aggregate functions are not supported in the {place} (condition = {_text(node)}).",
        )
    if node.find(exp.Query) is not None:
        raise RejectedError(
            "DELTA_UNSUPPORTED_SUBQUERY", f"Subqueries are not supported in the {place} (condition = {_text(node)})."
        )


def check_value(node: exp.Expr) -> None:
    """Refuse what no assigned value may contain (R-134); subqueries are checked when they are evaluated.

    Raises:
        RejectedError: for aggregates, window functions and generators.
        UnsupportedByReferenceError: for a window function without its window.
    """
    outside = _functions(node, inside_queries=False)
    _check_generators(outside, node)
    if any(isinstance(part, exp.Window) for part in outside):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"not allowed in a value: {_text(node)}")
    _check_window_only(outside)
    if any(_is_aggregate(part) for part in outside):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"not allowed in a value: {_text(node)}")
    if any(_asks_query(part) for part in node.walk(prune=lambda part: isinstance(part, exp.Subquery))):
        raise RejectedError(_IN_EXISTS, f"IN or EXISTS with a query in a value: {_text(node)}")


def _asks_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="databricks")


def _functions(node: exp.Expr, *, inside_queries: bool) -> list[exp.Expr]:
    """List the functions and windows of an expression; also those of its subqueries if asked."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Query) and not inside_queries)
    return [part for part in parts if isinstance(part, exp.Func | exp.Window)]


def _check_generators(parts: list[exp.Expr], node: exp.Expr) -> None:
    if any(_names(part) & _GENERATORS for part in parts):
        raise RejectedError("UNSUPPORTED_GENERATOR", f"a generator outside the SELECT clause: {_text(node)}")


def _check_window_only(parts: list[exp.Expr]) -> None:
    if any(_names(part) & _WINDOW_ONLY for part in parts):
        raise UnsupportedByReferenceError("a window function without a window")


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) or bool(_names(node) & (_AGGREGATES | _UNORDERED))


def _names(node: exp.Expr) -> frozenset[str]:
    """Give the names, in lower case, under which a function is called."""
    if isinstance(node, exp.Anonymous):
        return frozenset({node.name.lower()})
    if isinstance(node, exp.Func):
        return frozenset(name.lower() for name in type(node).sql_names())
    return frozenset()


def _check_tables(query: exp.Expr, tables: tuple[str, ...]) -> None:
    named = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name.lower() not in named.union(tables):
            raise RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {table.name} cannot be found.")
