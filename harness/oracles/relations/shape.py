"""The clauses of a statement as read from its text: enough to decide whether a relation applies."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import split_outer, words_of
from mergecheck.model.schema_json import is_constraint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.properties.merge_text import ClauseText, MergeText
    from mergecheck.model.case import Case

_UPDATE_SET = re.compile(r"UPDATE\s+SET\s+", re.IGNORECASE)
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
_SPACE = re.compile(r"\s+")


def kind_of(clause: ClauseText) -> str:
    """Name the kind of a clause: ``MATCHED``, ``NOT MATCHED`` or ``NOT MATCHED BY SOURCE``."""
    words = _SPACE.sub(" ", clause.when.upper()).removeprefix("WHEN ").strip()
    return words.removesuffix(" BY TARGET")


def action_of(clause: ClauseText) -> str:
    """Name the action of a clause: ``UPDATE``, ``DELETE`` or ``INSERT``."""
    words = clause.action.upper().split()
    return words[0].split("(")[0] if words else ""


def kinds(text: MergeText) -> frozenset[str]:
    """Name the kinds of clauses that a statement has."""
    return frozenset(kind_of(clause) for clause in text.clauses)


def is_insert_only(text: MergeText) -> bool:
    """Return whether the statement has insert clauses and no others (R-006)."""
    return kinds(text) == {"NOT MATCHED"}


def is_sole_unconditional_delete(text: MergeText) -> bool:
    """Return whether the matched clauses are one DELETE without condition (R-006)."""
    matched = [clause for clause in text.clauses if kind_of(clause) == "MATCHED"]
    return len(matched) == 1 and action_of(matched[0]) == "DELETE" and matched[0].condition is None


def is_star(clause: ClauseText) -> bool:
    """Return whether a clause is ``UPDATE SET *``, ``UPDATE *`` or ``INSERT *``."""
    return clause.action.split()[-1:] == ["*"] or clause.action.upper().replace(" ", "") in {"UPDATESET*", "INSERT*"}


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


def assignments(clause: ClauseText) -> list[tuple[str, str]] | None:
    """Take ``UPDATE SET a = x, b = y`` apart; None for any other action, and where the text cannot be cut."""
    found = _UPDATE_SET.match(clause.action)
    if found is None or is_star(clause):
        return None
    pairs = []
    for piece in split_outer(clause.action[found.end() :], ","):
        name, equals, value = piece.partition("=")
        if not equals or not name.strip() or not value.strip() or name.count("`") % 2:
            return None
        pairs.append((name.strip(), value.strip()))
    return pairs


def with_assignments(clause: ClauseText, pairs: Sequence[tuple[str, str]]) -> ClauseText:
    """Write ``UPDATE SET`` with these assignments."""
    return replace(clause, action="UPDATE SET " + ", ".join(f"{name} = {value}" for name, value in pairs))
