"""For which cases a transformation may be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.feed_balance import PRESERVE_NULL_STRUCTS
from mergecheck.harness.properties.merge_text import words_of, written_merge
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.properties.vocabulary import PROPERTIES, PlainCase
from mergecheck.model.types.data_types import BIGINT, BOOLEAN, DATE, INT, SMALLINT, STRING, TINYINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

AMBIGUOUS = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
APPEND_ONLY = "DELTA_CANNOT_MODIFY_APPEND_ONLY"
_PARTITION_TYPES = frozenset({TINYINT, SMALLINT, INT, BIGINT, BOOLEAN, DATE})
# What depends on the order of rows, which no table has.
_ORDERED = frozenset(
    {"limit", "offset", "first", "last", "any_value", "collect_list", "collect_set", "array_agg", "row_number", "over"}
)


def is_repeatable(case: Case) -> bool:
    """Leave out statements whose values are random or hang on the order of rows: two runs need not agree (R-330)."""
    return not has_random_values(case.sql) and _ORDERED.isdisjoint(words_of(case.sql))


def has_fixed_values(case: Case, _facts: Facts) -> bool:
    """Leave out statements with random values, or with the current time."""
    return not has_random_values(case.sql)


def may_be_relaid(case: Case, facts: Facts) -> bool:
    """Leave out cases whose copied NULL structs get new fields: then the files decide the result for a row (R-244)."""
    fills_structs = facts.evolves_types and case.conf.get(PRESERVE_NULL_STRUCTS, "true").lower() == "false"
    return not fills_structs and not has_random_values(case.sql)


def having(name: str) -> Callable[[Case, Facts], bool]:
    """Take the cases that have a property; after ``not``, those that do not have it.

    Raises:
        KeyError: if there is no such property.
    """
    held = PROPERTIES[name.removeprefix("not ")].holds
    wanted = not name.startswith("not ")
    return lambda case, facts: held(PlainCase(case=case, facts=facts)) == wanted


def matches_only(case: Case, facts: Facts) -> bool:
    """Take statements with matched clauses and no others (R-006)."""
    return having("matched-only")(case, facts) and not has_random_values(case.sql)


def joins_visibly(case: Case, facts: Facts) -> bool:
    """Take cases whose equality in ON can be hidden."""
    return facts.equality_on and written_merge(case.sql) is not None


def has_source_table(case: Case, _facts: Facts) -> bool:
    """Take cases with a source of their own."""
    return case.source is not None


def is_partitioned(case: Case, facts: Facts) -> bool:
    """Take partitioned tables, if no empty text would be stored as NULL (R-744)."""
    target = case.target
    texts = any(c.type == STRING for c in target.schema.columns if c.name in target.partition_by)
    return bool(target.partition_by) and not (texts and _holds_empty_text(case)) and may_be_relaid(case, facts)


def can_be_partitioned(case: Case, facts: Facts) -> bool:
    """Take tables without partitions that have a column for them and another one besides."""
    return not case.target.partition_by and partition_column(case) is not None and may_be_relaid(case, facts)


def partition_column(case: Case) -> str | None:
    """Name the column; no text, since an empty one that the merge computes would be stored as NULL (R-744)."""
    columns = case.target.schema.columns
    names = [column.name for column in columns if column.type in _PARTITION_TYPES]
    return names[0] if names and len(columns) > 1 else None


def _holds_empty_text(case: Case) -> bool:
    """Return whether an empty text stands in a cell or in the statement."""
    return "''" in case.sql or any("" in row for table in case.all_tables for row in table.rows)
