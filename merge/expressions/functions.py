"""The functions and subqueries in an expression (R-130..R-134), and calls of array functions (R-246)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from mergecheck.merge.syntax.dialect import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import exp
    from sqlglot.tokens import Token

NON_DETERMINISTIC: Final = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length java_method reflect try_reflect""".split()  # noqa: SIM905 - a word list reads better than a hundred quoted words
)

# Of these, what counts or names partitions and files of the plan around it; the others take a start in each task.
OF_THE_PLAN: Final = frozenset(
    """monotonically_increasing_id spark_partition_id input_file_name input_file_block_start
    input_file_block_length""".split()  # noqa: SIM905 - as above
)

AGGREGATES: Final = frozenset(
    """any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp
    variance""".split()  # noqa: SIM905 - as above
)

GENERATORS: Final = frozenset(
    {"explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack"}
)

# Functions that only exist with OVER; Spark's ``lag`` and ``lead`` are among them.
WINDOW_ONLY: Final = frozenset(
    {"cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank", "rank", "row_number"}
)

GROUPINGS: Final = frozenset({"grouping", "grouping_id"})

SESSION_FUNCTIONS: Final = frozenset(
    """current_catalog current_database current_schema current_timezone current_user session_user
    user""".split()  # noqa: SIM905 - as above
)

TIME_WINDOWS: Final = frozenset({"window", "session_window"})
WINDOW_TIME: Final = "window_time"

# Array functions whose operands are cast before they are called: ``array_distinct`` of structs has another
# result after a cast that makes some of them equal.
_ARRAY_FUNCTIONS: Final = frozenset(
    {"array_union", "array_intersect", "array_except", "array_remove", "array_distinct"}
)
_OPENING: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}

_QUERY_STARTS: Final = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})
_TABLE_WORDS: Final = frozenset({"FROM", "JOIN", "TABLE"})
_QUANTIFIED: Final = frozenset({"LIKE", "ILIKE", "RLIKE"})  # a LIKE ANY ('x', 'y') is no call of any()


def called_functions(text: str, *, in_subqueries: bool = False) -> frozenset[str]:
    """Name the functions that an expression calls, in lower case.

    Args:
        text: the expression.
        in_subqueries: also those that its subqueries call.
    """
    tokens = tokenize(text) if in_subqueries else outside_subqueries(tokenize(text))
    names = set()
    for index, (token, after) in enumerate(pairwise(tokens)):
        if after.token_type is not TokenType.L_PAREN or token.token_type is TokenType.STRING:
            continue
        if index and tokens[index - 1].text.upper() in _QUANTIFIED:
            continue
        if index and tokens[index - 1].token_type is TokenType.DOT and not _is_builtin(tokens[: index - 1]):
            continue
        names.add(token.text.lower())
    return frozenset(names)


def _is_builtin(before: Sequence[Token]) -> bool:
    """Return whether the schema of Spark's own functions is named right before a dot."""
    return bool(before) and before[-1].text.lower() == "builtin"


def function_name(call: exp.Anonymous) -> str:
    """Give the name of a function of Spark's own in lower case, without quotes and without the schema before it."""
    *schema, name = (part.strip("`").lower() for part in str(call.this).split("."))
    return name if not schema or schema[-1].strip() == "builtin" else ""


def subqueries(text: str) -> tuple[str, ...]:
    """Cut out the outermost parenthesised subqueries of an expression, brackets included."""
    tokens = tokenize(text)
    return tuple(text[tokens[first].start : tokens[last].end + 1] for first, last in _subquery_ranges(tokens))


def reads_tables(text: str) -> bool:
    """Return whether a subquery of an expression reads a table: a name behind FROM, JOIN or TABLE that is not its own.

    A call there is a function of tables. Values follow ``DISTINCT FROM``.
    """
    for query in subqueries(text):
        tokens = tokenize(query)
        own = {token.text.lower() for token, after in pairwise(tokens) if after.text.upper() == "AS"}
        for place, token in enumerate(tokens[:-1]):
            before, name, after = tokens[place - 1], tokens[place + 1], tokens[min(place + 2, len(tokens) - 1)]
            is_name = name.token_type in {TokenType.VAR, TokenType.IDENTIFIER}
            is_relation = token.text.upper() in _TABLE_WORDS and before.text.upper() != "DISTINCT"
            if is_relation and is_name and after.token_type is not TokenType.L_PAREN and name.text.lower() not in own:
                return True
    return False


def has_predicate_subquery(text: str) -> bool:
    """Return whether an expression has IN or EXISTS with a query, outside of its subqueries."""
    tokens = tokenize(text)
    return any(first and tokens[first - 1].text.upper() in {"IN", "EXISTS"} for first, _ in _subquery_ranges(tokens))


def outside_subqueries(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Leave out the tokens that belong to subqueries, brackets included."""
    inside = {index for first, last in _subquery_ranges(tokens) for index in range(first, last + 1)}
    return tuple(token for index, token in enumerate(tokens) if index not in inside)


def _subquery_ranges(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    depth, first = 0, -1
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            opens_query = index + 1 < len(tokens) and _starts_query(tokens, index + 1)
            if depth == 0 and opens_query:
                first, depth = index, 1
            elif depth:
                depth += 1
        elif token.token_type is TokenType.R_PAREN and depth:
            depth -= 1
            if depth == 0:
                ranges.append((first, index))
    return ranges


def _starts_query(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a bracket's first word begins a query: ``(SELECT ...``, but not ``(values.a`` or ``(map(...)``."""
    token = tokens[index]
    if token.token_type is TokenType.IDENTIFIER or token.text.upper() not in _QUERY_STARTS:
        return False
    if token.text.upper() in {"SELECT", "WITH", "FROM"}:
        return index + 1 < len(tokens) and tokens[index + 1].token_type is not TokenType.DOT
    follows = tokens[index + 1].token_type if index + 1 < len(tokens) else TokenType.R_PAREN
    if token.text.upper() == "VALUES":
        return follows in {TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING}
    return token.text.upper() == "TABLE" and follows in {TokenType.VAR, TokenType.IDENTIFIER}


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A call of an array function whose operands are cast.

    All operands are arrays but the second of ``array_remove``, which is an element.
    """

    name: str
    operands: tuple[str, ...]

    @property
    def elements(self) -> tuple[bool, ...]:
        """Return for each operand whether it is an element and not an array."""
        return tuple(self.name == "array_remove" and index == 1 for index in range(len(self.operands)))


def array_call(sql: str) -> ArrayCall | None:
    """Take an expression apart if it is directly a call of such a function, in brackets or not."""
    if not any(name in sql.lower() for name in _ARRAY_FUNCTIONS):
        return None
    tokens = tokenize(sql)
    while tokens[0].token_type is TokenType.L_PAREN and _closes_last(tokens, 0):
        tokens = tokens[1:-1]
    if len(tokens) < 2 or tokens[0].text.lower() not in _ARRAY_FUNCTIONS or not _closes_last(tokens, 1):  # noqa: PLR2004 - a name and a bracket
        return None
    return ArrayCall(tokens[0].text.lower(), tuple(_arguments(sql, tokens[2:-1])))


def array_operands(sql: str) -> Iterator[str]:
    """List the operands of such a call and of such calls directly in them; their types are needed for the cast."""
    call = array_call(sql)
    for operand in call.operands if call else ():
        yield operand
        yield from array_operands(operand)


def _closes_last(tokens: Sequence[Token], opening: int) -> bool:
    """Return whether the bracket at a position is closed by the last token."""
    depth = 0
    for index, token in enumerate(tokens[opening:], start=opening):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth == 0:
            return index == len(tokens) - 1
    return False


def _arguments(sql: str, tokens: Sequence[Token]) -> Iterator[str]:
    if not tokens:
        return
    depth, start = 0, tokens[0].start
    for before, token in zip((None, *tokens), tokens, strict=False):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and depth == 0 and before is not None:
            yield sql[start : before.end + 1]
            start = token.end + 1
    yield sql[start : tokens[-1].end + 1].strip()
