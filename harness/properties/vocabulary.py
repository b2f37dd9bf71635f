"""The properties of a case: one name and one predicate each, for all that ask for the content of a case.

Conditions of deviations, fingerprints, axes of variants, relations and the scoreboard use these names. A feature of
random cases (``--focus``, ``--features-off``) has the name of the property to which it leads, if there is one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from mergecheck.harness.properties.merge_text import written_merge
from mergecheck.harness.properties.source_tables import reads_target, source_table
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import MergePath, Unsupported
from mergecheck.model.schema_json import is_constraint
from mergecheck.model.storage import SourceLayout, TargetLayout
from mergecheck.model.types.data_types import ArrayType, MapType, StructType
from mergecheck.reference.answer import Reference
from mergecheck.reference.syntax.statement import (
    Action,
    Kind,
    is_insert_only,
    is_matched_only,
    is_sole_unconditional_delete,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from mergecheck.model.case import Case, Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.syntax.statement import Clause, WrittenClause

    _AnyClause: TypeAlias = Clause | WrittenClause

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


class EvaluatedCase(Protocol):
    """A case and the reference's answer, from a report or elsewhere."""

    @property
    def case(self) -> Case:
        """The case."""

    @property
    def reference(self) -> Reference:
        """Its reference result."""

    @property
    def facts(self) -> Facts:
        """The facts that the case reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCase:
    """A case of which the reference was not asked, or of which only the facts are known."""

    case: Case
    facts: Facts = field(default_factory=Facts)
    reference: Reference = field(default_factory=lambda: Reference(answer=Unsupported("the reference was not asked")))


@dataclass(frozen=True, slots=True)
class Property:
    """One property.

    Attributes:
        sentence: describes a case with the property.
        features: of random cases, which lead to the property; behind ``not``, those that keep it away. A property of a
            feature's name needs none.
    """

    sentence: str
    holds: Callable[[EvaluatedCase], bool]
    features: tuple[str, ...] = ()


def evolves_by_session(case: Case) -> bool:
    """Return whether the session asks for schema evolution."""
    return case.conf.get(AUTO_MERGE, "false").lower() == "true"


def evolves(case: Case) -> bool:
    """Return whether the statement or the session asks for schema evolution."""
    if evolves_by_session(case):
        return True
    merge = written_merge(case.sql)
    return merge is not None and merge.evolution is not None


def _evolves(evaluated: EvaluatedCase) -> bool:
    """As ``evolves``, by the statement that the reference has read: known deviations ask this many times a case."""
    read = evaluated.reference.trace.statement
    if read is None:
        return evolves(evaluated.case)
    return read.schema_evolution or evolves_by_session(evaluated.case)


def clauses_of(evaluated: EvaluatedCase) -> Sequence[_AnyClause]:
    """Return the clauses of a statement; none if it cannot be read."""
    read = evaluated.reference.trace.statement
    if read is not None:
        return read.clauses
    merge = written_merge(evaluated.case.sql)
    return () if merge is None else merge.clauses


def properties_of(evaluated: EvaluatedCase) -> frozenset[str]:
    """Name the properties of a case."""
    return frozenset(name for name, one in PROPERTIES.items() if one.holds(evaluated))


def has(evaluated: EvaluatedCase, *names: str) -> bool:
    """Return whether a case has all of some properties."""
    return all(PROPERTIES[name].holds(evaluated) for name in names)


def _clause(kind: Kind, action: Action) -> Property:
    return Property(
        f"a WHEN {kind.value.upper()} clause with {action.value.upper()}",
        lambda e: any(clause.kind is kind and clause.action is action for clause in clauses_of(e)),
    )


def _of_clauses(
    sentence: str, holds: Callable[[Sequence[_AnyClause]], bool], features: tuple[str, ...] = ()
) -> Property:
    return Property(sentence, lambda e: holds(clauses_of(e)), features)


def _of_case(sentence: str, holds: Callable[[Case], bool], features: tuple[str, ...] = ()) -> Property:
    return Property(sentence, lambda e: holds(e.case), features)


def _has_several_of_a_kind(clauses: Sequence[_AnyClause]) -> bool:
    return any(number > 1 for number in Counter(clause.kind for clause in clauses).values())


def _is_interleaved(clauses: Sequence[_AnyClause]) -> bool:
    order = [list(Kind).index(clause.kind) for clause in clauses]
    return any(left > right for left, right in pairwise(order))


def _has_query(case: Case) -> bool:
    merge = written_merge(case.sql)
    return merge is not None and (merge.query is not None or merge.ctes is not None)


def _has_no_source_row(evaluated: EvaluatedCase) -> bool:
    read = evaluated.reference.trace.source or source_table(evaluated.case)
    return read is not None and not read.rows


def _has_other_names(case: Case) -> bool:
    source = source_table(case)
    return source is not None and source.schema.names != case.target.schema.names


def _has_type(*kinds: type) -> Callable[[Case], bool]:
    return lambda case: any(
        _contains(column.type, kinds) for schema in case.relations.values() for column in schema.columns
    )


def _contains(data_type: DataType, kinds: tuple[type, ...]) -> bool:
    if isinstance(data_type, kinds):
        return True
    if isinstance(data_type, StructType):
        return any(_contains(field.type, kinds) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _contains(data_type.element, kinds)
    return isinstance(data_type, MapType) and (_contains(data_type.key, kinds) or _contains(data_type.value, kinds))


def _has_row_groups(case: Case) -> bool:
    rows = case.target.layout.row_group_rows
    return rows is not None and max(map(len, case.target.files), default=0) > rows


def _has_null_struct(case: Case) -> bool:
    return any(
        _holds_null_struct(cell, column.type)
        for table in case.all_tables
        for row in table.rows
        for cell, column in zip(row, table.schema.columns, strict=True)
    )


def _holds_null_struct(value: Value, data_type: DataType) -> bool:
    if not isinstance(data_type, StructType):
        return False
    if value is None:
        return True
    return any(_holds_null_struct(part, field.type) for part, field in zip(value, data_type.fields, strict=True))


_NO_BY_SOURCE = (
    *("not not-matched-by-source-update", "not not-matched-by-source-delete", "not by-source-clauses-alone"),
    "not ambiguous-matches-without-matched-clauses",
)
_NOT_MATCHED_ONLY = ("insert", "not matched-update", "not matched-delete", *_NO_BY_SOURCE)
_MATCHED_ONLY = ("matched-update", "not insert", *_NO_BY_SOURCE)
_EQUALITY = ("not non-equi-on", "not constant-on", "not one-sided-on")
# a merge that fails or finds no match changes no row
_ROWS_CHANGED = (
    *("matched-update", "not empty-target", "not empty-source", "not constant-on", "not one-sided-on"),
    *("not clauses-that-never-apply", "not invalid-statements", "not ambiguous-matches", "not append-only-target"),
    *("not schemas-without-columns-or-types", "not constraint-violations", "not values-that-may-fail"),
)
PROPERTIES: Mapping[str, Property] = {
    "matched-update": _clause(Kind.MATCHED, Action.UPDATE),
    "matched-delete": _clause(Kind.MATCHED, Action.DELETE),
    "insert": _clause(Kind.NOT_MATCHED, Action.INSERT),
    "not-matched-by-source-update": _clause(Kind.NOT_MATCHED_BY_SOURCE, Action.UPDATE),
    "not-matched-by-source-delete": _clause(Kind.NOT_MATCHED_BY_SOURCE, Action.DELETE),
    "insert-only": _of_clauses("NOT MATCHED clauses and no others (R-006)", is_insert_only, _NOT_MATCHED_ONLY),
    "matched-only": _of_clauses("MATCHED clauses and no others (R-006)", is_matched_only, _MATCHED_ONLY),
    "sole-unconditional-delete": _of_clauses(
        "one MATCHED clause, a DELETE without condition (R-006)", is_sole_unconditional_delete
    ),
    "several-clauses-of-a-kind": _of_clauses("several clauses of one kind", _has_several_of_a_kind),
    "interleaved-clause-kinds": _of_clauses("clauses that do not stand in the order of SQL (R-102)", _is_interleaved),
    "conditions": _of_clauses(
        "a clause with a condition", lambda clauses: any(clause.condition is not None for clause in clauses)
    ),
    "star-actions": _of_clauses("UPDATE SET * or INSERT *", lambda clauses: any(clause.star for clause in clauses)),
    "explicit-actions": _of_clauses(
        "an UPDATE or an INSERT that names columns", lambda clauses: any(clause.columns for clause in clauses)
    ),
    "equality-on": Property("ON equates values of the two tables", lambda e: e.facts.equality_on, _EQUALITY),
    "several-matches": Property("a target row with several matching source rows", lambda e: e.facts.multi_matched),
    "subquery-source": _of_case("the source is a query", _has_query),
    "self-merge": _of_case("the source is the target, or reads it", reads_target),
    "schema-evolution": Property("the statement or the session asks for schema evolution", _evolves),
    "change-data-feed": _of_case("the table has a change data feed", lambda case: case.target.change_data_feed),
    "partitions": _of_case("the table is partitioned", lambda case: bool(case.target.partition_by)),
    "several-partitions-written": Property(
        "rows of several partitions are written",
        lambda e: e.facts.num_partitions_written > 1,
        (*_ROWS_CHANGED, "partitions", "several-files"),
    ),
    "several-files": _of_case("the table has several files", lambda case: len(case.target.files) > 1),
    "several-row-groups": _of_case("a file of the table has several row groups", _has_row_groups),
    "later-row-groups-changed": Property(
        "a row group behind the first of its file has a changed row and a kept one",
        lambda e: e.facts.changes_later_row_groups,
        (*_ROWS_CHANGED, "several-row-groups", "not all-rows-match"),
    ),
    "rewritten-files": Property(
        "files of the table are rewritten (path D)",
        lambda e: e.facts.path is MergePath.D,
        (*_ROWS_CHANGED, "not deletion-vectors"),
    ),
    "files-beyond-by-source": Property(
        "BY SOURCE clauses need not touch every file (R-414)",
        lambda e: "R-414" in e.facts.rules,
        ("not-matched-by-source-delete", "conditions", "several-files", "not empty-target"),
    ),
    "empty-target": _of_case("the table has no row", lambda case: not case.target.rows),
    "empty-source": Property("the source has no row", _has_no_source_row),
    "check-constraints": _of_case(
        "the table has CHECK constraints", lambda case: any(map(is_constraint, case.target.properties))
    ),
    "structs": _of_case("some column has a struct", _has_type(StructType), ("nested-types",)),
    "nested-types": _of_case("some column has a struct, an array or a map", _has_type(StructType, ArrayType, MapType)),
    "null-structs": _of_case("some struct is NULL as a whole", _has_null_struct, ("nested-types", "null-values")),
    "transactions": _of_case("the table has transactions (R-715)", lambda case: bool(case.target.transactions)),
    "target-layout": _of_case(
        "files or log of the table have an unusual layout", lambda case: case.target.layout != TargetLayout()
    ),
    "source-layout": _of_case(
        "the source is handed over in an unusual layout",
        lambda case: case.source is not None and case.source.layout != SourceLayout(),
    ),
    "other-names": _of_case("source and target have other columns, or in another order", _has_other_names),
}
