"""For which cases a value of an axis may be chosen, and how a case's tables are stored in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.relations.shape import has_random_values
from mergecheck.harness.oracles.relations.table_relations import holds_empty_text
from mergecheck.harness.properties.merge_text import merge_text, words_of, written_merge
from mergecheck.harness.properties.vocabulary import PlainCase, has
from mergecheck.model.types.data_types import BIGINT, BOOLEAN, DATE, INT, SMALLINT, STRING, TINYINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case, Row
    from mergecheck.model.facts import Facts
    from mergecheck.model.storage import Statistics

_PARTITION_TYPES = frozenset({TINYINT, SMALLINT, INT, BIGINT, BOOLEAN, DATE})


# What depends on the order of rows, which no table has.
_ORDERED = frozenset(
    {"limit", "offset", "first", "last", "any_value", "collect_list", "collect_set", "array_agg", "row_number", "over"}
)


def is_repeatable(case: Case) -> bool:
    """Leave out statements whose values are random or hang on the order of rows: two runs need not agree (R-330)."""
    return not has_random_values(case.sql) and _ORDERED.isdisjoint(words_of(case.sql))


def having(name: str) -> Callable[[Case, Facts], bool]:
    """Take the cases that have a property."""
    return lambda case, facts: has(PlainCase(case=case, facts=facts), name)


def joins_visibly(case: Case, facts: Facts) -> bool:
    """Take cases whose equality in ON can be hidden."""
    return facts.equality_on and written_merge(case.sql) is not None


def has_source_table(case: Case, _facts: Facts) -> bool:
    """Take cases with a source of their own."""
    return case.source is not None


def hidden_on(case: Case) -> Case:
    """Hide the equality in ON, so that neither sorting nor hashing can join; NULL is no match either way (R-301)."""
    text = merge_text(case.sql)
    return case if text is None else replace(case, sql=replace(text, on=f"coalesce(({text.on}), FALSE)").sql())


def relaid(files: Callable[[tuple[Row, ...]], tuple[tuple[Row, ...], ...]]) -> Callable[[Case], Case]:
    """Store the same rows in other files (P-16)."""

    def rewrite(case: Case) -> Case:
        found = tuple(file for file in files(case.target.rows) if file)
        return replace(case, target=replace(case.target, files=found))

    return rewrite


def grouped(rows: int) -> Callable[[Case], Case]:
    """Write row groups of so many rows."""
    return lambda case: replace(
        case, target=replace(case.target, layout=replace(case.target.layout, row_group_rows=rows))
    )


def with_statistics(statistics: Statistics) -> Callable[[Case], Case]:
    """Write other statistics into the log."""
    return lambda case: replace(
        case, target=replace(case.target, layout=replace(case.target.layout, statistics=statistics))
    )


def batched_source(rows: int) -> Callable[[Case], Case]:
    """Hand the source over in batches of so many rows."""

    def rewrite(case: Case) -> Case:
        if case.source is None:
            return case
        return replace(case, source=replace(case.source, layout=replace(case.source.layout, batch_rows=rows)))

    return rewrite


def unpartitioned(case: Case) -> Case:
    """Store the table without partitions (P-17)."""
    return replace(case, target=replace(case.target, partition_by=()))


def is_partitioned(case: Case, _facts: Facts) -> bool:
    """Take partitioned tables, if no empty text would be stored as NULL (R-744)."""
    target = case.target
    texts = any(c.type == STRING for c in target.schema.columns if c.name in target.partition_by)
    return bool(target.partition_by) and not (texts and holds_empty_text(case))


def partitioned(case: Case) -> Case:
    """Store the table by its first column that can be a partition column; that column is in no file.

    Such a table cannot be clustered (R-708).
    """
    column = _partition_column(case)
    if column is None:
        return case
    layout = case.target.layout
    added = tuple(name for name in layout.added_columns if name != column)
    widened = {name: kind for name, kind in layout.widened_columns.items() if name != column}
    layout = replace(layout, added_columns=added, cluster_by=(), widened_columns=widened)
    target = replace(case.target, partition_by=(column,), layout=layout)
    return replace(case, target=target)


def can_be_partitioned(case: Case, _facts: Facts) -> bool:
    """Take tables without partitions that have a column for them and another one besides."""
    return not case.target.partition_by and _partition_column(case) is not None


def _partition_column(case: Case) -> str | None:
    """Name the column; no text, since an empty one that the merge computes would be stored as NULL (R-744)."""
    columns = case.target.schema.columns
    names = [column.name for column in columns if column.type in _PARTITION_TYPES]
    return names[0] if names and len(columns) > 1 else None
