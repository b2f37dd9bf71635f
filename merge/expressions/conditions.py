"""Checks of what expressions (R-137), conditions (R-130..R-133) and values (R-134) must not contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.types import BooleanType, NullType
from sqlglot import exp

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.functions import (
    AGGREGATES,
    GENERATORS,
    GROUPINGS,
    NON_DETERMINISTIC,
    OF_THE_PLAN,
    SESSION_FUNCTIONS,
    TIME_WINDOWS,
    WINDOW_ONLY,
    WINDOW_TIME,
    called_functions,
    function_name,
    has_predicate_subquery,
    reads_tables,
    subqueries,
)
from mergecheck.merge.expressions.scope import unresolved

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from mergecheck.merge.expressions.expression_types import ExpressionTypes
    from mergecheck.merge.expressions.resolved import ResolvedExpression
    from mergecheck.merge.expressions.scope import Scope

STAR_MISUSED: Final = "INVALID_USAGE_OF_STAR_OR_REGEX"
UNBOUND: Final = "UNBOUND_SQL_PARAMETER"
_CONDITIONAL = frozenset({"if", "nullif", "nvl2"})


def check_subquery_tables(text: str, types: ExpressionTypes) -> None:
    """Report a missing table that a condition's subquery names, as Spark does before anything else."""
    for query in subqueries(text):
        try:
            types.of([f"EXISTS {query}"])
        except AnalysisError as error:
            # Whatever else is wrong with a subquery, R-133 refuses it.
            if error.error_class == "TABLE_OR_VIEW_NOT_FOUND":
                raise


def check_rewritten(tree: exp.Expr, scope: Scope, *, where: str, text: str) -> None:
    """Refuse what Spark's analysis turns into a part of another plan, or into columns, and a merge has not (R-137).

    Raises:
        AnalysisError: for parameters, stars, stray lambdas, grouping functions, windows of time, and window functions
            without OVER.
    """
    if tree.find(exp.Placeholder) is not None:
        raise AnalysisError(UNBOUND, f"Parameters in {where} have no values: {text}. Write the values.")
    if any(star.find_ancestor(exp.Query) is None and not _is_counted(star) for star in tree.find_all(exp.Star)):
        raise AnalysisError(STAR_MISUSED, f"Invalid usage of '*' in {where}: {text}. Name the columns instead.")
    if any(not isinstance(one.parent, exp.Anonymous | exp.Kwarg) for one in tree.find_all(exp.Lambda)):
        raise AnalysisError("INTERNAL_ERROR", f"A lambda in {where} is no argument of a function: {text}.")
    calls = [call for call in tree.find_all(exp.Anonymous) if call.find_ancestor(exp.Query) is None]
    names = frozenset(map(function_name, calls))
    if names & GROUPINGS:
        raise unresolved(text, where, scope)
    bare = [call for call in calls if not isinstance(call.parent, exp.Window)]
    if any(function_name(call) in WINDOW_ONLY for call in bare):
        raise AnalysisError(
            "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
            f"A window function in {where} has no OVER clause: {text}. Compute it in the source query.",
        )
    if any(window.args.get("alias") is not None for window in tree.find_all(exp.Window)):
        raise AnalysisError(
            "MISSING_WINDOW_SPECIFICATION",
            f"There is no named window in {where}: {text}. Compute the value in the source query.",
        )
    windows = {call.sql() for call in calls if function_name(call) in TIME_WINDOWS}
    if len(windows) > 1 and len(scope.relations) == 1:
        raise AnalysisError(
            "_LEGACY_ERROR_TEMP_1039",
            f"Several windows of time are not supported in {where}: {text}. Compute them in the source query.",
        )
    if windows or (WINDOW_TIME in names and len(scope.relations) > 1):
        raise AnalysisError(
            "INTERNAL_ERROR" if len(scope.relations) > 1 else "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
            f"Windows of time are not supported in {where}: {text}. Compute them in the source query.",
        )


def refused_in_plan(tree: exp.Expr, text: str) -> str | None:
    """Return the error class with which Delta plans no write to a table with such a constraint (R-747).

    None if a write can be planned.
    """
    called = called_functions(text)
    if tree.find(exp.Placeholder) is not None:
        return UNBOUND
    if any(star.find_ancestor(exp.Query) is None and not _is_counted(star) for star in tree.find_all(exp.Star)):
        return STAR_MISUSED
    if reads_tables(text):  # also one that there is: Delta does not look for it
        return "TABLE_OR_VIEW_NOT_FOUND"
    if called & GENERATORS:
        return "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"
    if any(window.args.get("alias") is not None for window in tree.find_all(exp.Window)):
        return "MISSING_WINDOW_SPECIFICATION"
    is_stray = any(not isinstance(one.parent, exp.Anonymous | exp.Kwarg) for one in tree.find_all(exp.Lambda))
    return "INTERNAL_ERROR" if is_stray or subqueries(text) or called & (TIME_WINDOWS | {WINDOW_TIME}) else None


def unevaluable_parts(tree: exp.Expr) -> list[exp.Expr]:
    """List the parts of a constraint that have no value on any row, since they need a plan around them (R-747)."""
    without_value = AGGREGATES | WINDOW_ONLY | GROUPINGS | SESSION_FUNCTIONS
    return [
        part
        for part in tree.walk()
        if isinstance(part, exp.Window) or (isinstance(part, exp.Anonymous) and function_name(part) in without_value)
    ]


def parts_without_a_start(tree: exp.Expr) -> list[exp.Expr]:
    """List the calls in a constraint of what a task must start before its first row: Delta does not (R-747)."""
    return _calls(tree, NON_DETERMINISTIC - OF_THE_PLAN)


def parts_of_the_plan(tree: exp.Expr) -> list[exp.Expr]:
    """List the calls in a constraint whose value depends on how the plan reads files and divides rows (R-747)."""
    return _calls(tree, OF_THE_PLAN)


def _calls(tree: exp.Expr, names: frozenset[str]) -> list[exp.Expr]:
    return [call for call in tree.find_all(exp.Anonymous) if function_name(call) in names]


def may_be_left_out(part: exp.Expr) -> bool:
    """Return whether the expression around a part may have a value without it."""
    while (around := part.parent) is not None:
        is_left = part is around.this
        if isinstance(around, exp.Case | exp.If | exp.In | exp.Lambda):
            return True
        if isinstance(around, exp.And | exp.Or | exp.Coalesce) and not is_left:
            return True
        if isinstance(around, exp.Anonymous) and function_name(around) in _CONDITIONAL:
            return True
        part = around
    return False


def _is_counted(star: exp.Star) -> bool:
    """Return whether a star is the argument of ``count(*)``, which names no columns."""
    call = star.parent
    return isinstance(call, exp.Anonymous) and function_name(call) == "count"


def check_condition(condition: ResolvedExpression, *, operation: str) -> None:
    """Refuse expressions that a condition may not contain, in the order of R-130 to R-133.

    The operation is ``search condition`` for ON, else ``UPDATE condition`` and so on.
    """
    called = called_functions(condition.text)
    _check_generators(condition, called)
    if called_functions(condition.text, in_subqueries=True) & NON_DETERMINISTIC:
        _refuse("DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED", "Non-deterministic functions", operation, condition)
    if called & AGGREGATES:
        _refuse("DELTA_AGGREGATION_NOT_SUPPORTED", "Aggregate functions", operation, condition)
    if subqueries(condition.text):
        _refuse("DELTA_UNSUPPORTED_SUBQUERY", "Subqueries", operation, condition)
    _check_operators(condition, called)


def check_value(value: ResolvedExpression) -> None:
    """Refuse aggregates, window functions, generators, and IN and EXISTS with a query in a value (R-134)."""
    called = called_functions(value.text)
    if called & AGGREGATES:
        raise _unsupported_operator(value)
    _check_operators(value, called)
    if has_predicate_subquery(value.text):
        raise AnalysisError(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY",
            f"IN and EXISTS with a query are not allowed in a value: {value.text}. Join the source with it instead.",
        )


def check_boolean(condition: ResolvedExpression, data_type: DataType, *, is_search: bool) -> None:
    """Refuse a condition that is not boolean (R-135).

    Delta refuses an untyped NULL for ON always, and for a clause in some plans only; here such a clause never applies.
    """
    if isinstance(data_type, BooleanType) or (isinstance(data_type, NullType) and not is_search):
        return
    error_class = "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE" if is_search else "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
    raise AnalysisError(
        error_class,
        f"The condition {condition.text} has the type {data_type.simpleString()}, but must be boolean. "
        "Compare the value with something.",
    )


def _check_operators(expression: ResolvedExpression, called: frozenset[str]) -> None:
    if _has_window(expression) or called & WINDOW_ONLY:
        raise _unsupported_operator(expression)
    _check_generators(expression, called)


def _check_generators(expression: ResolvedExpression, called: frozenset[str]) -> None:
    if called & GENERATORS:
        raise AnalysisError(
            "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
            f"Generators are not supported in a MERGE: {expression.text}. Apply them in the source query.",
        )


def _has_window(expression: ResolvedExpression) -> bool:
    # Window functions inside subqueries are allowed.
    return any(w.find_ancestor(exp.Query) is None for w in expression.tree.find_all(exp.Window))


def _unsupported_operator(expression: ResolvedExpression) -> AnalysisError:
    return AnalysisError(
        "UNSUPPORTED_EXPR_FOR_OPERATOR",
        f"Aggregate and window functions are not supported in a MERGE: {expression.text}. "
        "Compute them in the source query.",
    )


def _refuse(error_class: str, what: str, operation: str, condition: ResolvedExpression) -> None:
    raise AnalysisError(
        error_class,
        f"{what} are not supported in the {operation} of MERGE operation (condition = {condition.text}).",
    )
