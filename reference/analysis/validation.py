"""What expressions, conditions and values must not contain (R-130 to R-134, R-137)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.expressions.names import Scope

_NON_DETERMINISTIC = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length reflect try_reflect java_method""".split()  # noqa: SIM905 - one word list
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
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg count_min_sketch kurtosis skewness measure mean
    approx_count_distinct approx_top_k approx_top_k_accumulate approx_top_k_combine percentile_cont percentile_disc
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float theta_intersection_agg theta_sketch_agg theta_union_agg tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer""".split()  # noqa: SIM905
)
_AGGREGATES_BY_ORDER = frozenset(
    """first first_value last last_value any_value collect_list collect_set array_agg array_unique_agg mode listagg
    string_agg group_concat""".split()  # noqa: SIM905
)

_GROUPINGS = frozenset({"grouping", "grouping_id"})
_SESSION_FUNCTIONS = frozenset(
    """current_catalog current_database current_schema current_timezone current_user session_user
    user""".split()  # noqa: SIM905 - as above
)
_CONDITIONAL = (exp.Case, exp.If, exp.In, exp.Lambda, exp.Nvl2, exp.Nullif)
_LEFT_FIRST = (exp.And, exp.Or, exp.Coalesce)
_TIME_WINDOWS = frozenset({"window", "session_window"})
_WINDOW_TIME = "window_time"
STAR_MISUSED = "INVALID_USAGE_OF_STAR_OR_REGEX"
_MISSING = "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT"

_IN_EXISTS = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"


def check_rewritten(node: exp.Expr, scope: Scope) -> None:
    """Refuse what Spark's analysis turns into a part of another plan, or into columns, and a merge has not (R-137).

    Raises:
        RejectedError: for stars, grouping functions, windows of time, window functions without OVER.
    """
    if any(isinstance(part, exp.Star) and not _is_counted(part) for part in _outside(node)):
        raise RejectedError(STAR_MISUSED, f"a star in {scope.place}: {_text(node)}")
    outside = _functions(node, inside_queries=False)
    for part in outside:
        names = _names(part)
        if names & _GROUPINGS:
            raise RejectedError(scope.unresolved, f"Cannot resolve {_text(part)} in {scope.place}.")
        if names & _WINDOW_ONLY and not _has_window(part):
            raise RejectedError("WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", f"{_text(part)} needs an OVER clause.")
        if isinstance(part, exp.Window) and part.args.get("alias") is not None:
            raise RejectedError("MISSING_WINDOW_SPECIFICATION", f"There is no window {part.alias}.")
    called = frozenset().union(*map(_names, outside))
    if called & (_TIME_WINDOWS | {_WINDOW_TIME}) and len(scope.relations) > 1:
        raise RejectedError("INTERNAL_ERROR", f"a window of time over two tables: {_text(node)}")
    windows = {_text(part) for part in outside if _names(part) & _TIME_WINDOWS}
    if len(windows) > 1:
        raise RejectedError("_LEGACY_ERROR_TEMP_1039", f"several windows of time: {_text(node)}")
    if windows:
        raise RejectedError(_MISSING, f"a window of time: {_text(node)}")


def refused_in_plan(node: exp.Expr) -> str | None:
    """Give the error class with which Spark plans no write to a table that has such a constraint (R-747).

    Returns:
        None if a write can be planned.

    Raises:
        UnsupportedByReferenceError: for a subquery over a function of tables.
    """
    outside = list(_outside(node))
    queries = [part for part in outside if isinstance(part, exp.Query)]
    names = frozenset().union(*map(_names, outside))
    if any(isinstance(part, exp.Star) and not _is_counted(part) for part in outside):
        return STAR_MISUSED
    if any(isinstance(table.this, exp.Func) for query in queries for table in query.find_all(exp.Table)):
        raise UnsupportedByReferenceError("a function of tables in a constraint")
    if any(_tables(query) for query in queries):
        return "TABLE_OR_VIEW_NOT_FOUND"
    if names & _GENERATORS:
        return "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"
    if any(isinstance(part, exp.Window) and part.args.get("alias") is not None for part in outside):
        return "MISSING_WINDOW_SPECIFICATION"
    if any(query.find(exp.Column) is not None for query in queries):  # nothing resolves the names in it
        return "UNRESOLVED_COLUMN"
    return "INTERNAL_ERROR" if queries or names & (_TIME_WINDOWS | {_WINDOW_TIME}) else None


def unevaluable_parts(node: exp.Expr) -> list[exp.Expr]:
    """List the parts of a constraint that have no value on any row: they need a plan around them (R-747)."""
    return [
        part
        for part in _outside(node)
        if isinstance(part, exp.Window)
        or _is_aggregate(part)
        or _names(part) & (_WINDOW_ONLY | _GROUPINGS | _SESSION_FUNCTIONS)
    ]


def is_conditional(part: exp.Expr) -> bool:
    """Return whether something around a part of an expression may have a value without it."""
    while (around := part.parent) is not None:
        if isinstance(around, _CONDITIONAL) or (isinstance(around, _LEFT_FIRST) and part is not around.this):
            return True
        part = around
    return False


def _outside(node: exp.Expr) -> Iterator[exp.Expr]:
    """Walk an expression without its subqueries."""
    yield from node.walk(prune=lambda part: isinstance(part, exp.Query))


def _is_counted(star: exp.Star) -> bool:
    """Return whether a star is the argument of ``count(*)``, which stands for no columns."""
    return isinstance(star.parent, exp.Count) and not star.args.get("except_")


def _has_window(function: exp.Expr) -> bool:
    parent = function.parent
    if isinstance(parent, exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def check_condition(node: exp.Expr, place: str, tables: tuple[str, ...]) -> None:
    """Refuse what no condition may contain; ``tables`` are those that a subquery can find.

    Raises:
        RejectedError: with the class of the first rule broken.
    """
    for query in node.find_all(exp.Query):
        _check_tables(query, tables)
    outside = _functions(node, inside_queries=False)
    everywhere = _functions(node, inside_queries=True)
    _check_generators(outside, node)
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
    if any(isinstance(part, exp.Window) for part in outside):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"window function in the {place}: {_text(node)}")


def check_value(node: exp.Expr) -> None:
    """Refuse what no assigned value may contain (R-134); subqueries are checked when they are evaluated.

    Raises:
        RejectedError: for aggregates, window functions and generators.
    """
    outside = _functions(node, inside_queries=False)
    _check_generators(outside, node)
    if any(isinstance(part, exp.Window) for part in outside):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"not allowed in a value: {_text(node)}")
    if any(_is_aggregate(part) for part in outside):
        raise RejectedError("UNSUPPORTED_EXPR_FOR_OPERATOR", f"not allowed in a value: {_text(node)}")
    if any(_asks_query(part) for part in node.walk(prune=lambda part: isinstance(part, exp.Subquery))):
        raise RejectedError(_IN_EXISTS, f"IN or EXISTS with a query in a value: {_text(node)}")


def _asks_query(node: exp.Expr) -> bool:
    if isinstance(node, exp.Exists):
        return isinstance(node.this, exp.Query)  # else it is the function of an array and a lambda
    return isinstance(node, exp.In) and node.args.get("query") is not None


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="databricks")


def _functions(node: exp.Expr, *, inside_queries: bool) -> list[exp.Expr]:
    """List the functions and windows of an expression; with ``inside_queries`` also those inside its subqueries."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Query) and not inside_queries)
    return [part for part in parts if isinstance(part, exp.Func | exp.Window)]


def _check_generators(parts: list[exp.Expr], node: exp.Expr) -> None:
    if any(_names(part) & _GENERATORS for part in parts):
        raise RejectedError("UNSUPPORTED_GENERATOR", f"a generator outside the SELECT clause: {_text(node)}")


def _is_aggregate(node: exp.Expr) -> bool:
    if _names(node) & _WINDOW_ONLY:
        return False
    return isinstance(node, exp.AggFunc) or bool(_names(node) & (_AGGREGATES | _AGGREGATES_BY_ORDER))


def _names(node: exp.Expr) -> frozenset[str]:
    """Give the names, in lower case, under which a function is called."""
    if isinstance(node, exp.Anonymous):
        return frozenset({node.name.lower()})
    if isinstance(node, exp.Func):
        return frozenset(name.lower() for name in type(node).sql_names())
    return frozenset()


def _check_tables(query: exp.Expr, tables: tuple[str, ...]) -> None:
    for name in _tables(query):
        if name.lower() not in tables:
            raise RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {name} cannot be found.")


def _tables(query: exp.Expr) -> list[str]:
    """List the tables that a query reads, without those that it defines itself."""
    named = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    return [table.name for table in query.find_all(exp.Table) if table.name.lower() not in named]
