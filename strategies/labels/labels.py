"""Labels of a drawn case's contents, for histograms and for tests of the generator's reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import type_word
from mergecheck.strategies.labels.content_labels import (
    content_labels,
    storage_labels,
    those_that_hold,
    unusual_labels,
)
from mergecheck.strategies.settings import insert_only_optimised
from mergecheck.strategies.statement.matches import is_multi_matched, match_matrix, units
from mergecheck.strategies.syntax.expressions import TRUE, And, MergeTable, Reference, nodes
from mergecheck.strategies.syntax.statement import Action, ClauseKind
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.rows import visible_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case, Row
    from mergecheck.strategies.statement.merges import DrawnMerge
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Statement

_TRUTH = {True: "true", False: "false", None: "null"}


def labels(merge: DrawnMerge, case: Case, *, breaks: str | None = None) -> frozenset[str]:
    """Return the contents of a case, as ``group:value`` labels.

    A case whose statement breaks a rule on purpose, ``breaks``, has labels of its content only.
    """
    if breaks is not None:
        return frozenset({"outcome:invalid", f"invalid:{breaks}", *content_labels(merge)})
    matrix = match_matrix(merge.statement.condition, merge.schemas, merge.tables.target, _source_rows(merge))
    return frozenset(
        (
            f"on:{merge.on_form.value}",
            f"cdf:{'on' if case.target.change_data_feed else 'off'}",
            *_clause_labels(merge),
            *_pruning_labels(merge.statement),
            *_table_labels(merge),
            *_name_labels(merge),
            *(f"setting:{name.removeprefix('spark.databricks.delta.')}={value}" for name, value in case.conf.items()),
            *_match_labels(merge, matrix, optimised=insert_only_optimised(dict(case.conf))),
            *_outcome_labels(merge, matrix),
            *content_labels(merge),
            *unusual_labels(merge, case),
            *storage_labels(case),
        )
    )


def _source_rows(merge: DrawnMerge) -> tuple[Row, ...]:
    return visible_source(merge.schemas, merge.tables)


def _clause_labels(merge: DrawnMerge) -> Iterator[str]:
    statement = merge.statement
    for clause in statement.clauses:
        guard = "unconditional" if clause.condition is None else "conditional"
        yield f"clause:{clause.kind.value}/{clause.action.value}/{guard}"
        if clause.action is not Action.DELETE:
            yield f"action:{clause.kind.value}/{clause.action.value}/{'star' if clause.star else 'explicit'}"
        for assigned in clause.assignments:
            yield from (f"value:{type(node).__name__}" for node in nodes(assigned.value))
        if clause.condition is not None:
            yield from (f"condition-node:{type(node).__name__}" for node in nodes(clause.condition))
    present = [kind for kind in ClauseKind if statement.of_kind(kind)]
    yield "kinds:" + "+".join(kind.value for kind in present)
    for kind in present:
        yield f"clauses:{kind.value}={len(statement.of_kind(kind))}"
    if statement.self_merge:
        yield "source:self"
    if statement.sole_unconditional_delete:
        yield "shape:sole-unconditional-delete"


def _pruning_labels(statement: Statement) -> Iterator[str]:
    """Yield what files may be skipped by: conjuncts of ON (R-420), conditions of a matched-only merge (R-421)."""
    if statement.of_kind(ClauseKind.NOT_MATCHED_BY_SOURCE):
        return
    if _has_target_only_part(statement.condition):
        yield "prunes:on"
    if not statement.of_kind(ClauseKind.NOT_MATCHED) and all(
        clause.condition is not None and _has_target_only_part(clause.condition) for clause in statement.clauses
    ):
        yield "prunes:clauses"


def _has_target_only_part(condition: Expression) -> bool:
    if isinstance(condition, And):
        return _has_target_only_part(condition.left) or _has_target_only_part(condition.right)
    sides = {node.side for node in nodes(condition) if isinstance(node, Reference)}
    return sides == {MergeTable.TARGET}


def _table_labels(merge: DrawnMerge) -> Iterator[str]:
    schemas, tables = merge.schemas, merge.tables
    yield f"files:{len(tables.files)}"
    yield f"target-rows:{_size(len(tables.target))}"
    yield f"source-rows:{_size(len(_source_rows(merge)))}"
    yield f"keys:{len(schemas.keys)}"
    yield f"partitions:{len(schemas.partition_by)}"
    for column in schemas.target:
        yield f"type:{type_word(column.type)}"
        if column.name in schemas.partition_by:
            yield f"partition-type:{type_word(column.type)}"
    for name, _ in schemas.keys:
        yield f"key-type:{type_word(schemas.target_column(name).type)}"
    yield from _null_labels(merge)
    if len(set(map(repr, tables.target))) < len(tables.target):
        yield "rows:duplicate-target-rows"


def _null_labels(merge: DrawnMerge) -> Iterator[str]:
    keys = {name for pair in merge.schemas.keys for name in pair}
    sides = (
        ("target", merge.schemas.target, merge.tables.target),
        ("source", merge.schemas.source, _source_rows(merge)),
    )
    for side, columns, rows in sides:
        for place, column in enumerate(columns):
            if any(row[place] is None for row in rows):
                yield f"null:{side}-{'key' if column.name in keys else 'value'}"
                if side == "target" and column.name in merge.schemas.partition_by:
                    yield "null:partition"


def _name_labels(merge: DrawnMerge) -> Iterator[str]:
    schemas, namesakes = merge.schemas, merge.schemas.namesakes
    names = [column.name for column in (*schemas.target, *schemas.source)]
    order = [schemas.source_column(other).name for _, other in namesakes]
    yield from those_that_hold(
        {
            "name:dot": any("." in name for name in names),
            "name:backtick": any("`" in name for name in names),
            "name:space": any(" " in name for name in names),
            "name:non-ascii": not all(map(str.isascii, names)),
            "name:other-case": any(one != other and one.lower() == other.lower() for one, other in namesakes),
            "source:extra-columns": len(schemas.source) > len(namesakes),
            "source:missing-columns": len(schemas.target) > len(namesakes),
            "source:other-order": order != [column.name for column in schemas.source][: len(order)],
        }
    )


def _match_labels(merge: DrawnMerge, matrix: tuple[tuple[int, ...], ...], *, optimised: bool) -> Iterator[str]:
    statement, multiple = merge.statement, is_multi_matched(matrix)
    allowed = statement.sole_unconditional_delete or (statement.insert_only and optimised)
    ambiguous = multiple and not allowed
    yield from those_that_hold(
        {
            "matches:some": any(matrix),
            "matches:one-source-many-targets": any(len(row) > 1 for row in matrix),
            "matches:multi": multiple,
            "outcome:multi-match-allowed": multiple and allowed,
            "outcome:ambiguous": ambiguous,
            "outcome:ambiguous-by-on-alone": ambiguous and not is_multi_matched(_firing_pairs(merge, matrix)),
        }
    )


def _firing_pairs(merge: DrawnMerge, matrix: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the pairs on which some MATCHED clause fires; ON alone decides whether a match is ambiguous (R-321)."""
    found = places(merge.schemas.target, merge.schemas.source)
    target, source = merge.tables.target, _source_rows(merge)
    matched = merge.statement.of_kind(ClauseKind.MATCHED)
    tests = [evaluator(clause.condition or TRUE, found) for clause in matched]
    return tuple(
        tuple(t for t in row if any(test(target[t], source[s]) is True for test in tests))
        for s, row in enumerate(matrix)
    )


def _outcome_labels(merge: DrawnMerge, matrix: tuple[tuple[int, ...], ...]) -> Iterator[str]:
    """Yield the results of conditions on the rows that reach them, and the clauses that fire (R-301)."""
    found = places(merge.schemas.target, merge.schemas.source)
    target, source = merge.tables.target, _source_rows(merge)
    for kind, rows in units(target, source, matrix).items():
        clauses = [(clause, evaluator(clause.condition or TRUE, found)) for clause in merge.statement.of_kind(kind)]
        for pair in rows:
            for clause, test in clauses:
                result = test(*pair)
                if clause.condition is not None:
                    yield f"condition:{_TRUTH[result]}"
                if result is True:
                    yield f"fires:{clause.kind.value}/{clause.action.value}"
                    break


def _size(rows: int) -> str:
    return str(rows) if rows < 2 else "2-5" if rows < 6 else "6-12" if rows < 13 else "13+"  # noqa: PLR2004 - buckets
