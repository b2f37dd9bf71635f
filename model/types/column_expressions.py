"""Which expressions no statement can give to a column: Spark's analysis turns them into another plan (R-137, R-220)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokens import Token

_AGGREGATES: Final = frozenset(
    """any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value histogram_numeric
    hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median min
    min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev
    stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance""".split()  # noqa: SIM905 - one word list
)
_GENERATORS: Final = frozenset(
    """explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode
    variant_explode_outer""".split()  # noqa: SIM905 - as above
)
_WINDOW_FUNCTIONS: Final = frozenset(
    "cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split()  # noqa: SIM905 - as above
)
_FUNCTIONS: Final = {
    **dict.fromkeys(_AGGREGATES, "an aggregate"),
    **dict.fromkeys(_GENERATORS, "a generator"),
    **dict.fromkeys(_WINDOW_FUNCTIONS, "a window function"),
    **dict.fromkeys(("window", "session_window", "window_time"), "a window of time"),
    **dict.fromkeys(("grouping", "grouping_id"), "a grouping function"),
}
_QUERY_STARTS: Final = {
    "SELECT": None,
    "WITH": None,
    "FROM": None,
    "VALUES": (TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING),
    "TABLE": (TokenType.VAR, TokenType.IDENTIFIER),
}
"""Words that begin a query behind a bracket, and the tokens that must follow, since columns may have their names."""
_QUANTIFIED: Final = ("LIKE", "ILIKE")  # a LIKE ANY ('x') calls no any()


def rewritten_part(tokens: Sequence[Token]) -> str | None:
    """Name what Spark's analysis would turn into another plan: "a subquery", "the aggregate sum".

    Args:
        tokens: an expression.

    Returns:
        None if there is nothing of the kind.
    """
    for place, (token, after) in enumerate(pairwise(tokens)):
        word = token.text.upper()
        if token.token_type is TokenType.L_PAREN and _starts_query(tokens[place + 1 :]):
            return "a subquery"
        if word == "OVER" and place and tokens[place - 1].token_type is TokenType.R_PAREN:
            return "a window function"
        if after.token_type is not TokenType.L_PAREN or token.token_type is TokenType.STRING:
            continue
        before = tokens[max(place - 2, 0) : place]
        kind = _FUNCTIONS.get(token.text.lower())
        if kind is not None and not _is_other(before):
            return f"{kind}, {token.text.lower()}"
    return None


def _starts_query(tokens: Sequence[Token]) -> bool:
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else None
    word = first.text.upper()
    if first.token_type is TokenType.IDENTIFIER or word not in _QUERY_STARTS or second is None:
        return False
    allowed = _QUERY_STARTS[word]
    return second.token_type in allowed if allowed else second.token_type is not TokenType.DOT


def _is_other(before: Sequence[Token]) -> bool:
    """Return whether a name behind these tokens is of another schema than Spark's own, or no function."""
    if not before:
        return False
    if before[-1].token_type is TokenType.DOT:
        return before[0].text.lower() != "builtin"
    return before[-1].text.upper() in _QUANTIFIED
