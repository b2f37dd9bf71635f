"""Labels of a case's contents: schema evolution, nested data, casts, constraints, queries as the source, storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from mergecheck.model.types.data_types import ArrayType, MapType, StructType, type_word
from mergecheck.strategies.syntax.expressions import nodes
from mergecheck.strategies.syntax.statement import Action, ClauseKind
from mergecheck.strategies.table.casts import is_implicit
from mergecheck.strategies.table_features.drawing import ROW_TRACKING_FEATURE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.statement.merges import DrawnMerge

_BATCH = 8_192
_WRITTEN = {
    "window": " OVER (",
    "qualify": " QUALIFY ",
    "group": " GROUP BY ",
    "join": " JOIN ",
    "reads-target": " target ",
    "exists": "EXISTS (",
    "in": " IN (SELECT ",
    "explode": " explode(",
    "limit": " LIMIT ",
    "with": "WITH ",
    "from-first": "FROM (",
}
"""Texts by which the forms of ``written_sources`` are found in a query."""


def content_labels(merge: DrawnMerge) -> Iterator[str]:
    """Yield labels of a case's contents besides clauses, matches and storage."""
    yield from _evolution_labels(merge)
    yield from _assignment_labels(merge)
    yield from _column_labels(merge)
    if merge.query is not None:
        text = merge.query.text
        yield "source:query"
        yield f"query:{_query_form(text, over_target=merge.schemas.self_merge)}"
        if merge.schemas.self_merge:
            yield "query:over-target"
    elif merge.statement.source_table is not None:
        yield "source:other-table"
    elif merge.statement.source_query is not None:
        text = merge.statement.source_query
        yield "source:query"
        yield from those_that_hold({f"query:{name}": word in text for name, word in _WRITTEN.items()})


def _query_form(text: str, *, over_target: bool) -> str:
    if " FROM source" not in text and not over_target:
        return "constants"
    return "union" if " UNION ALL " in text else "filter" if " WHERE " in text else "projection"


def unusual_labels(merge: DrawnMerge, case: Case) -> Iterator[str]:
    """Yield what few cases contain: unusual schemas, names and orders."""
    kinds = [list(ClauseKind).index(clause.kind) for clause in merge.statement.clauses]
    names = [] if case.source is None else case.source.schema.names
    known = {column.name.lower() for column in (*merge.schemas.target, *merge.schemas.source)}
    places = [case.target.schema.names.index(name) for name in case.target.partition_by]
    yield from those_that_hold(
        {
            "kinds:interleaved": kinds != sorted(kinds),
            "target:no-columns": not case.target.schema.columns,
            "target:append-only": APPEND_ONLY in case.target.properties,
            "source:twin-names": len({name.lower() for name in names}) < len(names),
            "name:reserved": any(name.startswith("_c") for name in known),
            "name:alias-of-column": (merge.statement.aliases.source or "").lower() in known,
            "partition:empty-text": any(row[place] == "" for row in case.target.rows for place in places),
        }
    )


def those_that_hold(conditions: Mapping[str, bool]) -> Iterator[str]:
    """Yield the labels whose conditions hold."""
    return (label for label, holds in conditions.items() if holds)


def _evolution_labels(merge: DrawnMerge) -> Iterator[str]:
    schemas, statement = merge.schemas, merge.statement
    if not schemas.evolves:
        return
    yield f"evolution:{'statement' if statement.with_schema_evolution else 'session'}"
    star = any(clause.star for clause in statement.clauses)
    assignments = [assignment for clause in statement.clauses for assignment in clause.assignments]
    assigned = {assignment.column.lower() for assignment in assignments}
    listed = any(column.name.lower() in assigned for column in schemas.new_columns)
    new_by_star = star and bool(schemas.new_columns)
    variants = [
        (set(_field_paths(column.feeds)), set(_field_paths(column.type)))
        for column in schemas.source
        if column.nested and column.feeds is not None and (star or column.name.lower() in assigned)
    ]
    yield from those_that_hold(
        {
            "evolution:new-column-by-name": listed,
            "evolution:new-column-by-star": new_by_star,
            "evolution:no-new-column": not (listed or new_by_star),
            "evolution:missing-column": star and len(schemas.namesakes) < len(schemas.target),
            "evolution:left-side-by-source": any(assignment.by_source for assignment in assignments),
            "evolution:new-field": any(other - own for own, other in variants),
            "evolution:missing-field": any(own - other for own, other in variants),
            "evolution:beside-by-source": bool(statement.of_kind(ClauseKind.NOT_MATCHED_BY_SOURCE)),
        }
    )


def _field_paths(data_type: DataType) -> Iterator[str]:
    match data_type:
        case StructType(fields):
            for field in fields:
                yield field.name.lower()
                yield from (f"{field.name.lower()}.{path}" for path in _field_paths(field.type))
        case ArrayType(element):
            yield from (f"[].{path}" for path in _field_paths(element))
        case MapType(_, value):
            yield from (f"{{}}.{path}" for path in _field_paths(value))


def _assignment_labels(merge: DrawnMerge) -> Iterator[str]:
    for clause in merge.statement.clauses:
        depths = [len(assignment.path) for assignment in clause.assignments if assignment.path]
        yield from (f"nested-update:depth-{depth}" for depth in depths)
        if len(depths) > 1:
            yield "nested-update:several-fields"
        generated = {column.name for column in merge.schemas.target if column.computed is not None}
        if clause.action is not Action.DELETE and generated:
            listed = clause.star or any(assignment.column in generated for assignment in clause.assignments)
            yield f"generated:{clause.action.value}/{'listed' if listed else 'left-out'}"
        if clause.condition is not None and "NamedStruct" in {type(n).__name__ for n in nodes(clause.condition)}:
            yield "condition:struct-constant"


def _column_labels(merge: DrawnMerge) -> Iterator[str]:
    schemas = merge.schemas
    yield from those_that_hold(
        {
            "column:not-null": any(column.not_null for column in schemas.target),
            "column:default": any(column.default is not None for column in schemas.target),
            "column:generated": any(column.computed is not None for column in schemas.target),
        }
    )
    for check in schemas.checks:
        yield f"check:{'tight' if check.violated else 'loose'}"
        yield from those_that_hold({"check:partition-text": check.name == "Text"})
    for column in schemas.source:
        if column.feeds is None:
            continue
        conflicts = not column.nested and schemas.evolves and not is_implicit(column.type, column.feeds)
        yield (
            f"cast:{type_word(column.feeds)}-variant"
            if column.nested
            else (f"cast:{type_word(column.type)}-to-{type_word(column.feeds)}")
        )
        yield from those_that_hold(
            {
                "cast:misfits": column.misfits,
                "cast:map-keys": _casts_keys(column.type, column.feeds),
                "evolution:type-conflict": conflicts,
            }
        )


def _casts_keys(given: DataType, wanted: DataType) -> bool:
    return isinstance(given, MapType) and isinstance(wanted, MapType) and given.key != wanted.key


def storage_labels(case: Case) -> Iterator[str]:
    """Yield row groups, statistics, missing columns, Arrow types, batches and NOT NULL fields of a case."""
    layout = case.target.layout
    largest = max((len(file) for file in case.target.files), default=0)
    yield from those_that_hold(
        {
            "layout:row-groups": layout.row_group_rows is not None and largest > layout.row_group_rows,
            f"layout:statistics-{layout.statistics.value}": layout.statistics is not Statistics.ALL,
            "layout:older-files": bool(layout.added_columns),
            f"table:checkpoint-{layout.checkpoint.value}": layout.checkpoint is not Checkpoint.NONE,
            "table:clustered": bool(layout.cluster_by),
            "table:in-commit-timestamps": is_on(case.target.properties, IN_COMMIT_TIMESTAMPS),
            f"table:mapping-by-{case.target.properties.get(COLUMN_MAPPING)}": COLUMN_MAPPING in case.target.properties,
            "table:renamed-columns": layout.column_names is ColumnNames.OF_OTHERS,
            "table:dropped-columns": bool(layout.dropped_columns),
            f"table:vectors-{layout.vectors.value}": layout.vectors is not Vectors.NONE,
            "table:tracks-rows": is_on(case.target.properties, ROW_TRACKING),
            "table:gives-row-ids": ROW_TRACKING_FEATURE in case.target.properties,
            f"table:row-ids-{layout.row_ids.value}": layout.row_ids is not RowIds.BY_FILES,
            "table:marks-rows": is_on(case.target.properties, DELETION_VECTORS),
            "table:identity-column": any(column.identity is not None for column in case.target.schema.columns),
            "column:invariant": any(column.invariant is not None for column in case.target.schema.columns),
            "column:text-length": any(column.limits for column in case.target.schema.columns),
            "table:widens-types": is_on(case.target.properties, TYPE_WIDENING),
            "table:widened-columns": bool(layout.widened_columns),
            "table:named-features": any(name.startswith(FEATURE_PREFIX) for name in case.target.properties),
            f"layout:target-{layout.string_type.value}": layout.string_type is not StringType.STRING,
            "rows:beyond-a-batch": largest > _BATCH,
            "column:not-null-field": any(_has_strict_field(column.type) for column in case.target.schema.columns),
        }
    )
    if case.source is not None:
        handed, num_rows = case.source.layout, len(case.source.rows)
        yield from those_that_hold(
            {
                "layout:source-batches": handed.batch_rows is not None and num_rows > handed.batch_rows,
                f"layout:source-{handed.string_type.value}": handed.string_type is not StringType.STRING,
            }
        )


def _has_strict_field(data_type: DataType) -> bool:
    return isinstance(data_type, StructType) and not all(field.nullable for field in data_type.fields)
