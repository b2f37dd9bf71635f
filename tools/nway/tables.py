"""Dimensions of the tables: types in their roles, storage, constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.type_families import family_of
from mergecheck.harness.properties.vocabulary import has
from mergecheck.model.storage import Checkpoint, ColumnNames, RowIds, Statistics, StringType, Vectors
from mergecheck.model.table_properties import (
    APPEND_ONLY,
    COLUMN_MAPPING,
    DELETION_VECTORS,
    FEATURE_PREFIX,
    IN_COMMIT_TIMESTAMPS,
    ROW_TRACKING,
    TYPE_WIDENING,
    is_on,
)
from mergecheck.model.types.data_types import StructType
from tools.nway.columns import (
    evolved_families,
    families_assigned,
    families_named,
    families_within,
    nestings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.rules.evidence import Evidence


def key_types(e: Evidence) -> Iterator[str]:
    """Name the families of the columns in ON."""
    return families_named(e, *e.conditions()[:1])


def condition_types(e: Evidence) -> Iterator[str]:
    """Name the families of the columns in conditions of clauses."""
    return families_named(e, *e.conditions()[1:])


def assigned_types(e: Evidence) -> Iterator[str]:
    """Name the families of the assigned columns."""
    return families_assigned(e)


def partition_types(e: Evidence) -> Iterator[str]:
    """Name the families of the partition columns; ``none`` without any."""
    types = {column.name: column.type for column in e.case.target.schema.columns}
    found = [family_of(types[name]) for name in e.case.target.partition_by]
    yield from found or ["none"]


def nested_types(e: Evidence) -> Iterator[str]:
    """Name the nesting of the target's columns; ``none`` if there is none."""
    yield from list(nestings(column.type for column in e.case.target.schema.columns)) or ["none"]


def member_types(e: Evidence) -> Iterator[str]:
    """Name the families within nested columns of the target."""
    return families_within(column.type for column in e.case.target.schema.columns)


def evolved_types(e: Evidence) -> Iterator[str]:
    """Name the families of added columns, and whether fields are added; ``none`` if the schema stays."""
    if e.merge is not None:
        yield from list(evolved_families(e)) or ["none"]


_ROW_TRACKING = f"{FEATURE_PREFIX}rowTracking"


def layouts(e: Evidence) -> Iterator[str]:
    """Name the special forms of the target's files.

    They are the layout that a case asks for: ``several-row-groups`` also needs a file that is large enough.
    """
    layout, num_files = e.case.target.layout, sum(bool(file) for file in e.case.target.files)
    yield "no file" if num_files == 0 else "one file" if num_files == 1 else "files"
    found = {
        "row groups": layout.row_group_rows is not None,
        "older files": bool(layout.added_columns),
        "other strings": layout.string_type is not StringType.STRING,
        f"statistics {layout.statistics.value}": layout.statistics is not Statistics.ALL,
        "source batches": e.case.source is not None and e.case.source.layout.batch_rows is not None,
    }
    yield from (name for name, holds in found.items() if holds)


def table_features(e: Evidence) -> Iterator[str]:
    """Name the features of the table's protocol that a merge must not even notice; ``none`` without any."""
    target = e.case.target
    found = {
        "clustered": bool(target.layout.cluster_by),
        "in-commit timestamps": is_on(target.properties, IN_COMMIT_TIMESTAMPS),
        "checkpoint": target.layout.checkpoint is not Checkpoint.NONE,
        "marks rows": is_on(target.properties, DELETION_VECTORS),
        "inline vectors": target.layout.vectors is Vectors.INLINE,
        "files of vectors": target.layout.vectors in (Vectors.OWN_FILES, Vectors.SHARED_FILE, Vectors.ABSOLUTE),
        "mapping by name": target.properties.get(COLUMN_MAPPING) == "name",
        "mapping by id": target.properties.get(COLUMN_MAPPING) == "id",
        "renamed columns": target.layout.column_names is ColumnNames.OF_OTHERS,
        "dropped columns": bool(target.layout.dropped_columns),
        "widens types": is_on(target.properties, TYPE_WIDENING),
        "widened columns": bool(target.layout.widened_columns),
        "tracks rows": is_on(target.properties, ROW_TRACKING),
        "gives row ids": _ROW_TRACKING in target.properties,
        "stored row ids": target.layout.row_ids is RowIds.STORED,
        "named": any(name.startswith(FEATURE_PREFIX) for name in target.properties.keys() - {_ROW_TRACKING}),
    }
    yield from [name for name, holds in found.items() if holds] or ["none"]


def constraints(e: Evidence) -> Iterator[str]:
    """Name the sorts of constraints that the target has; ``none`` without any."""
    target = e.case.target
    columns = target.schema.columns
    found = {
        "NOT NULL": any(not column.nullable for column in columns),
        "NOT NULL field": any(
            isinstance(column.type, StructType) and not all(field.nullable for field in column.type.fields)
            for column in columns
        ),
        "CHECK": has(e, "check-constraints"),
        "default": any(column.default is not None for column in columns),
        "generated": any(column.generated is not None for column in columns),
        "identity": any(column.identity is not None for column in columns),
        "invariant": any(column.invariant is not None for column in columns),
        "text length": any(column.limits for column in columns),
        "append-only": APPEND_ONLY in target.properties,
    }
    yield from [name for name, holds in found.items() if holds] or ["none"]
