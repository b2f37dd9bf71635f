"""Labels of a case's contents: schema evolution, nested data, casts, constraints, queries as the source, storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.case.storage import Statistics, StringType
from mergecheck.reference.types.data_types import ArrayType, DecimalType, MapType, StructType
from mergecheck.strategies.settings import APPEND_ONLY
from mergecheck.strategies.syntax.expressions import nodes
from mergecheck.strategies.syntax.statement import Action, ClauseKind
from mergecheck.strategies.table.casts import is_implicit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Case
    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.statement.merges import DrawnMerge
    from mergecheck.strategies.syntax.columns import Column
_BATCH = 8_192


def content_labels(merge: DrawnMerge) -> Iterator[str]:
    """Yield what a case contains besides clauses, matches and storage."""
    yield from _evolution_labels(merge)
    yield from _assignment_labels(merge)
    yield from _column_labels(merge)
    if merge.query is not None:
        text = merge.query.text
        yield "source:query"
        yield f"query:{_query_form(text, over_target=merge.schemas.self_merge)}"
        if merge.schemas.self_merge:
            yield "query:over-target"


def _query_form(text: str, *, over_target: bool) -> str:
    if " FROM source" not in text and not over_target:
        return "constants"
    return "union" if " UNION ALL " in text else "filter" if " WHERE " in text else "projection"


def unusual_labels(merge: DrawnMerge, case: Case) -> Iterator[str]:
    """Yield what few cases contain: unusual schemas, names and orders."""
    kinds = [list(ClauseKind).index(clause.kind) for clause in merge.statement.clauses]
    if kinds != sorted(kinds):
        yield "kinds:interleaved"
    if not case.target.schema.columns:
        yield "target:no-columns"
    if APPEND_ONLY in case.target.properties:
        yield "target:append-only"
    names = [] if case.source is None else case.source.schema.names
    if len({name.lower() for name in names}) < len(names):
        yield "source:twin-names"
    known = {column.name.lower() for column in (*merge.schemas.target, *merge.schemas.source)}
    if any(name.startswith("_c") for name in known):
        yield "name:reserved"
    if (merge.statement.aliases.source or "").lower() in known:
        yield "name:alias-of-column"
    places = [case.target.schema.names.index(name) for name in case.target.partition_by]
    if any(row[place] == "" for row in case.target.rows for place in places):
        yield "partition:empty-text"


def type_name(data_type: DataType) -> str:
    """Name a type without its parameters."""
    if isinstance(data_type, DecimalType):
        return "DECIMAL"
    if isinstance(data_type, StructType):
        return "STRUCT"
    if isinstance(data_type, ArrayType):
        return "ARRAY"
    return "MAP" if isinstance(data_type, MapType) else data_type.ddl()


def _evolution_labels(merge: DrawnMerge) -> Iterator[str]:
    schemas, statement = merge.schemas, merge.statement
    if not schemas.evolves:
        return
    yield f"evolution:{'statement' if statement.with_schema_evolution else 'session'}"
    star = any(clause.star for clause in statement.clauses)
    assigned = {a.column.lower() for clause in statement.clauses for a in clause.assignments}
    listed = any(column.name.lower() in assigned for column in schemas.new_columns)
    if listed:
        yield "evolution:new-column-by-name"
    if star and schemas.new_columns:
        yield "evolution:new-column-by-star"
    if star and len(schemas.namesakes) < len(schemas.target):
        yield "evolution:missing-column"
    if any(a.by_source for clause in statement.clauses for a in clause.assignments):
        yield "evolution:left-side-by-source"
    for column in schemas.source:
        if column.nested and column.feeds is not None and (star or column.name.lower() in assigned):
            own, other = set(_field_paths(column.feeds)), set(_field_paths(column.type))
            if other - own:
                yield "evolution:new-field"
            if own - other:
                yield "evolution:missing-field"
    if statement.of_kind(ClauseKind.NOT_MATCHED_BY_SOURCE):
        yield "evolution:beside-by-source"
    if not (listed or (star and schemas.new_columns)):
        yield "evolution:no-new-column"


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
    for column in schemas.target:
        yield from _demand_labels(column)
    for check in schemas.checks:
        yield f"check:{'tight' if check.violated else 'loose'}"
    for column in schemas.source:
        if column.feeds is not None:
            if column.nested:
                yield f"cast:{type_name(column.feeds)}-variant"
            else:
                yield f"cast:{type_name(column.type)}-to-{type_name(column.feeds)}"
                if schemas.evolves and not is_implicit(column.type, column.feeds):
                    yield "evolution:type-conflict"
            if column.misfits:
                yield "cast:misfits"


def _demand_labels(column: Column) -> Iterator[str]:
    if column.not_null:
        yield "column:not-null"
    if column.default is not None:
        yield "column:default"
    if column.computed is not None:
        yield "column:generated"


def storage_labels(case: Case) -> Iterator[str]:
    """Yield row groups, statistics, missing columns, Arrow types, batches and NOT NULL fields of a case."""
    layout = case.target.layout
    largest = max((len(file) for file in case.target.files), default=0)
    if layout.row_group_rows is not None and largest > layout.row_group_rows:
        yield "layout:row-groups"
    if layout.statistics is not Statistics.ALL:
        yield f"layout:statistics-{layout.statistics.value}"
    if layout.added_columns:
        yield "layout:older-files"
    if layout.string_type is not StringType.STRING:
        yield f"layout:target-{layout.string_type.value}"
    if largest > _BATCH:
        yield "rows:beyond-a-batch"
    if any(_has_strict_field(column.type) for column in case.target.schema.columns):
        yield "column:not-null-field"
    if case.source is None:
        return
    handed = case.source.layout
    if handed.batch_rows is not None and len(case.source.rows) > handed.batch_rows:
        yield "layout:source-batches"
    if handed.string_type is not StringType.STRING:
        yield f"layout:source-{handed.string_type.value}"


def _has_strict_field(data_type: DataType) -> bool:
    return isinstance(data_type, StructType) and not all(field.nullable for field in data_type.fields)
