"""Whether the values of a statement may differ from run to run, read off its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import words_of
from mergecheck.model.schema_json import is_constraint

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_RANDOM = frozenset({"rand", "randn", "random", "uuid", "shuffle", "current_timestamp", "now"})
_PER_RUN = _RANDOM | frozenset(
    """randstr uniform monotonically_increasing_id spark_partition_id input_file_name input_file_block_start
    input_file_block_length localtimestamp current_date curdate current_time unix_timestamp current_catalog
    current_database current_schema current_user session_user user version tablesample _metadata""".split()  # noqa: SIM905 - one word list
)
_BY_ORDER = frozenset(
    """limit offset first first_value last last_value any_value nth_value collect_list collect_set array_agg listagg
    string_agg row_number ntile lead lag max_by min_by mode percentile_approx approx_percentile sum avg mean stddev
    variance""".split()  # noqa: SIM905 - one word list
)
"""What may depend on the order of rows: ties, and the last digits of sums of floating-point numbers."""


def is_repeatable(case: Case) -> bool:
    """Return whether a merge that runs again, on the same rows in another order, must give the same.

    Expressions that the reference does not know may be anything, so that their words decide.
    """
    texts = [case.sql, *(text for name, text in case.target.properties.items() if is_constraint(name))]
    for column in case.target.schema.columns:
        texts += [text for text in (column.default, column.generated) if text is not None]
    words = [words_of(text) for text in texts]
    return all(words) and not frozenset().union(*words) & (_PER_RUN | _BY_ORDER)


def has_random_values(sql: str) -> bool:
    """Return whether the statement calls a function that gives another value each time or at another time."""
    return not _RANDOM.isdisjoint(words_of(sql))
