"""The same tables, stored in other ways: other files, other partitions, another protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.transformations import domains
from mergecheck.harness.oracles.transformations.domains import AMBIGUOUS
from mergecheck.model.axis import Axis, MayChange, Transformation
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.storage import Statistics, Vectors
from mergecheck.model.table_properties import COLUMN_MAPPING, DELETION_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case, Row
    from mergecheck.model.facts import Facts

SIZES = (1, 2, 3, 7)
"""Rows per batch, group or file: with these, tables of a few rows reach the limits that usually need millions."""
WRITTEN = frozenset({"numTargetFilesAdded", "numTargetChangeFilesAdded"})
"""Metrics that hang on how many tasks write (R-542)."""
REWRITTEN = frozenset({"numTargetRowsCopied", "numOutputRows", "numTargetFilesRemoved"})
"""Metrics that hang on which row lies in which file (R-541)."""

_CHANGE_FEED_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
_VECTOR_METRICS = frozenset(f"numTargetDeletionVectors{what}" for what in ("Added", "Removed", "Updated"))
_OTHER_FILES = MayChange(WRITTEN | REWRITTEN, ("R-541", "R-550"))
_OTHER_SKIPPING = MayChange(frozenset({AMBIGUOUS}), ("R-322",))


def _with_target(case: Case, **changes: object) -> Case:
    return replace(case, target=replace(case.target, **changes))  # type: ignore[arg-type]  # Target's own fields


def _relaid(files: Callable[[tuple[Row, ...]], tuple[tuple[Row, ...], ...]]) -> Callable[[Case], Case]:
    """Store the same rows in other files (P-16)."""
    return lambda case: _with_target(case, files=tuple(file for file in files(case.target.rows) if file))


def _laid_out(**changes: object) -> Callable[[Case], Case]:
    """Change the form of the files and the log."""
    return lambda case: _with_target(case, layout=replace(case.target.layout, **changes))  # type: ignore[arg-type]


def _with_property(name: str, value: str) -> Callable[[Case], Case]:
    return lambda case: _with_target(case, properties={**case.target.properties, name: value})


def _batched_source(rows: int) -> Callable[[Case], Case]:
    """Hand the source over in batches of so many rows."""

    def rewrite(case: Case) -> Case:
        if case.source is None:
            return case
        return replace(case, source=replace(case.source, layout=replace(case.source.layout, batch_rows=rows)))

    return rewrite


def _partitioned(case: Case) -> Case:
    """Store the table by its first column that can be a partition column; that column is in no file.

    Such a table cannot be clustered (R-708).
    """
    column = domains.partition_column(case)
    if column is None:
        return case
    layout = case.target.layout
    added = tuple(name for name in layout.added_columns if name != column)
    widened = {name: kind for name, kind in layout.widened_columns.items() if name != column}
    layout = replace(layout, added_columns=added, cluster_by=(), widened_columns=widened)
    return _with_target(case, partition_by=(column,), layout=layout)


def _feed_switched(case: Case) -> Case:
    """Record changes, or do not (P-15)."""
    return _with_property(CDF_PROPERTY, "false" if case.target.change_data_feed else "true")(case)


def _feed_can_switch(case: Case, facts: Facts) -> bool:
    sources = () if case.source is None else case.source.schema.names
    names = {name.lower() for name in (*case.target.schema.names, *sources)}
    return _CHANGE_FEED_COLUMNS.isdisjoint(names) and domains.has_fixed_values(case, facts)


def _has_columns_and_not(name: str) -> Callable[[Case, Facts], bool]:
    return lambda case, _facts: bool(case.target.schema.columns) and name not in case.target.properties


def _has_no_vectors(case: Case, _facts: Facts) -> bool:
    return bool(case.target.schema.columns) and case.target.layout.vectors is Vectors.NONE


def reversed_source(case: Case) -> Case:
    """Let the source's rows stand in the opposite order (P-16)."""
    return case if case.source is None else replace(case, source=replace(case.source, rows=case.source.rows[::-1]))


def _files(name: str, sentence: str, files: Callable[[tuple[Row, ...]], tuple[tuple[Row, ...], ...]]) -> Transformation:
    return Transformation(
        name=name,
        sentence=sentence,
        domain="no random values; no copied NULL struct gets fields",
        applies_to=domains.may_be_relaid,
        rewrite=_relaid(files),
        may_change=(_OTHER_FILES, _OTHER_SKIPPING),
    )


ONE_FILE = _files("one", "all rows in one file, in the opposite order", lambda rows: (rows[::-1],))
PAIRS = _files("pairs", "two rows in each file", lambda rows: tuple(rows[i : i + 2] for i in range(0, len(rows), 2)))
FILE_PER_ROW = _files("per-row", "a file for each row", lambda rows: tuple((row,) for row in rows))
UNPARTITIONED = Transformation(
    name="no",
    sentence="the table has no partitions",
    domain="partitioned; no empty text in a string partition (R-744); no random values; no copied NULL struct gets "
    "fields",
    applies_to=domains.is_partitioned,
    rewrite=lambda case: _with_target(case, partition_by=()),
    may_change=(_OTHER_FILES, _OTHER_SKIPPING),
)
FEED = Transformation(
    name="switched",
    sentence="the change feed is on if it was off, and off if it was on",
    domain="no random values; no column has a name of the change feed's",
    applies_to=_feed_can_switch,
    rewrite=_feed_switched,
)


def _as_given(name: str, *values: Transformation) -> Axis:
    return Axis(name, base="as given", values=values)


TABLE_AXES: tuple[Axis, ...] = (
    _as_given("files", ONE_FILE, PAIRS, FILE_PER_ROW),
    _as_given(
        "row-groups",
        *(
            Transformation(
                name=str(size), sentence=f"row groups of {size} rows", rewrite=_laid_out(row_group_rows=size)
            )
            for size in SIZES
        ),
    ),
    _as_given(
        "statistics",
        *(
            Transformation(
                name=statistics.value,
                sentence=f"statistics in the log: {statistics.value}",
                rewrite=_laid_out(statistics=statistics),
                may_change=(_OTHER_SKIPPING,),
            )
            for statistics in (Statistics.COUNTS, Statistics.ALTERNATE, Statistics.NONE)
        ),
    ),
    _as_given(
        "source-batch",
        *(
            Transformation(
                name=str(size),
                sentence=f"the source in batches, or row groups, of {size} rows",
                rewrite=_batched_source(size),
                domain="a source of its own",
                applies_to=domains.has_source_table,
            )
            for size in SIZES
        ),
    ),
    _as_given(
        "partitioned",
        UNPARTITIONED,
        Transformation(
            name="by-column",
            sentence="the table is partitioned by its first whole number, date or boolean",
            domain="not partitioned, with such a column and another one; no copied NULL struct gets fields",
            applies_to=domains.can_be_partitioned,
            rewrite=_partitioned,
            may_change=(_OTHER_FILES, _OTHER_SKIPPING),
        ),
    ),
    _as_given(
        "vectors",
        Transformation(
            name="on",
            sentence="changed rows are marked in deletion vectors, and their files stay",
            rewrite=_with_property(DELETION_VECTORS, "true"),
            domain="a target with columns that has no such property",
            applies_to=_has_columns_and_not(DELETION_VECTORS),
            may_change=(MayChange(WRITTEN | REWRITTEN | _VECTOR_METRICS | {"path"}, ("R-460", "R-461", "R-462")),),
        ),
        Transformation(
            name="old",
            sentence="the files hold rows that deletion vectors have taken away before",
            rewrite=_laid_out(vectors=Vectors.OWN_FILES),
            domain="a target with columns whose files have no vectors",
            applies_to=_has_no_vectors,
            may_change=(MayChange(_VECTOR_METRICS, ("R-460",)),),
        ),
    ),
    _as_given(
        "column-mapping",
        *(
            Transformation(
                name=mode,
                sentence=f"the columns have other names in the files, which are found by {mode}",
                rewrite=_with_property(COLUMN_MAPPING, mode),
                domain="a target with columns that has no such property",
                applies_to=_has_columns_and_not(COLUMN_MAPPING),
            )
            for mode in ("name", "id")
        ),
    ),
)
