"""Predicates over the rows of a drawn case's tables, and their storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import INTEGER_BITS, STRING, DecimalType
from mergecheck.strategies.syntax.expressions import MergeTable
from mergecheck.strategies.table.rows import visible_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.model.case import Value
    from mergecheck.strategies import DrawnCase

    Predicate = Callable[[DrawnCase], bool]

_BATCH = 8_192


def labelled(*wanted: str) -> Predicate:
    """Return whether a case has all of some labels."""
    return lambda drawn: drawn.features.issuperset(wanted)


def any_labelled(*wanted: str) -> Predicate:
    """Return whether a case has any of some labels."""
    return lambda drawn: not drawn.features.isdisjoint(wanted)


def cells(drawn: DrawnCase, side: MergeTable, names: set[str] | None = None) -> Iterator[Value]:
    """Yield the cells of one table, of some columns or of all."""
    merge = drawn.merge
    columns, rows = (
        (merge.schemas.target, merge.tables.target)
        if side is MergeTable.TARGET
        else (merge.schemas.source, visible_source(merge.schemas, merge.tables))
    )
    for place, column in enumerate(columns):
        if names is None or column.name in names:
            yield from (row[place] for row in rows)


def null_keys(target: bool, source: bool) -> Predicate:  # noqa: FBT001 - the two sides
    """Return whether there are NULL keys on just these sides."""

    def holds(drawn: DrawnCase) -> bool:
        keys = drawn.merge.schemas.keys
        own = None in list(cells(drawn, MergeTable.TARGET, {name for name, _ in keys}))
        other = None in list(cells(drawn, MergeTable.SOURCE, {name for _, name in keys}))
        return (own, other) == (target, source)

    return holds


def nested_cell(wanted: Callable[[Value], bool], kind: type) -> Predicate:
    """Return whether a column of a nested type has such a cell."""

    def holds(drawn: DrawnCase) -> bool:
        for side, columns in (
            (MergeTable.TARGET, drawn.merge.schemas.target),
            (MergeTable.SOURCE, drawn.merge.schemas.source),
        ):
            names = {column.name for column in columns if isinstance(column.type, kind)}
            if names and any(wanted(cell) for cell in cells(drawn, side, names)):
                return True
        return False

    return holds


def key_cell(wanted: Callable[[Value], bool]) -> Predicate:
    """Return whether a key of the target is such a value."""
    return lambda drawn: any(
        value is not None and wanted(value)
        for value in cells(drawn, MergeTable.TARGET, {name for name, _ in drawn.merge.schemas.keys})
    )


def partition_text(part: str) -> Predicate:
    """Return whether a partition value of the target holds a text; the empty text means the empty value."""

    def holds(drawn: DrawnCase) -> bool:
        found = cells(drawn, MergeTable.TARGET, set(drawn.merge.schemas.partition_by))
        return any(isinstance(value, str) and (part in value if part else value == "") for value in found)

    return holds


def evolution(*, extra: int = 0, missing: int = 0, not_null: bool = False) -> Predicate:
    """Return whether schema evolution is on with so many columns on one side only."""

    def holds(drawn: DrawnCase) -> bool:
        schemas = drawn.merge.schemas
        return (
            schemas.evolves
            and len(schemas.new_columns) >= extra
            and len(schemas.target) - len(schemas.namesakes) >= missing
            and (not not_null or any(column.not_null for column in schemas.target))
        )

    return holds


def named(*parts: str) -> Predicate:
    """Return whether a column's name holds any of some texts."""
    return lambda drawn: any(
        part in column.name for part in parts for column in (*drawn.merge.schemas.target, *drawn.merge.schemas.source)
    )


def partition_type(*wanted: object) -> Predicate:
    """Return whether the target is partitioned by a column of a type."""

    def holds(drawn: DrawnCase) -> bool:
        found = (drawn.merge.schemas.target_column(name).type for name in drawn.merge.schemas.partition_by)
        return any(each in wanted or (isinstance(each, DecimalType) and DecimalType in wanted) for each in found)

    return holds


def reversed_partitions(drawn: DrawnCase) -> bool:
    """Return whether two partition columns are declared in another order than the schema's."""
    order = [column.name for column in drawn.merge.schemas.target]
    found = [order.index(name) for name in drawn.merge.schemas.partition_by]
    return found != sorted(found)


def several_row_groups(drawn: DrawnCase) -> bool:
    """Return whether a file of the target has several row groups."""
    limit = drawn.case.target.layout.row_group_rows
    return limit is not None and any(len(file) > limit for file in drawn.case.target.files)


def large(matches: int) -> Predicate:
    """Return whether one file is beyond a batch of 8,192 rows, and so many of its rows have a source row."""

    def holds(drawn: DrawnCase) -> bool:
        case = drawn.case
        if case.source is None or not any(len(file) > _BATCH for file in case.target.files):
            return False
        key, other = drawn.merge.schemas.keys[0]
        own = {row[case.target.schema.names.index(key)] for row in case.target.files[0][_BATCH:]}
        return sum(row[case.source.schema.names.index(other)] in own for row in case.source.rows) >= matches

    return holds


def overflow(drawn: DrawnCase) -> bool:
    """Return whether a number of the source is too large for the column that it is meant for."""
    return any(column.misfits and column.feeds in INTEGER_BITS for column in drawn.merge.schemas.source)


def text_for_numbers(drawn: DrawnCase) -> bool:
    """Return whether texts of the source, some of which are no numbers, are meant for a number of the target."""
    return any(
        column.misfits
        and column.type == STRING
        and (column.feeds in INTEGER_BITS or isinstance(column.feeds, DecimalType))
        for column in drawn.merge.schemas.source
    )
