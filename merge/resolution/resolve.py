"""From a statement and two schemas to a ``ResolvedMerge``, with checks in the order of R-113."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyspark.sql.types import NullType

from merge.errors import AnalysisError, UnsupportedStatementError
from merge.resolution.actions import BoundAssignment, bind_action, check_alignment, values_of, visible
from merge.resolution.binding import BoundExpression, bind
from merge.resolution.clock import StatementClock
from merge.resolution.conditions import check_boolean, check_condition, check_subquery_tables, check_value
from merge.resolution.functions import subqueries
from merge.resolution.resolved import ResolvedClause, ResolvedExpression, ResolvedMerge
from merge.resolution.scope import Relation, Scope, Side
from merge.resolution.types import ExpressionTypes, is_known_boolean, known_type
from merge.sql_dialect import parse_name
from merge.statement import Clause, ClauseKind, MergeStatement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql.types import DataType, StructType
    from sqlglot import exp

    from merge.conf import MergeConf

_SEARCH = "search condition"


def resolve(
    statement: MergeStatement,
    *,
    target_schema: StructType,
    source_schema: StructType,
    target_name: str | None = None,
    source_name: str | None = None,
    conf: MergeConf,
    types: ExpressionTypes,
    clock: StatementClock | None = None,
) -> ResolvedMerge:
    """Settle every name, type and value of a statement.

    Args:
        statement: what the user wrote.
        target_schema: the table's columns, partition columns in their places.
        source_schema: the source's columns.
        target_name: the table's name in SQL, by which columns may be qualified where there is no alias; as the
            statement writes it, if left out.
        source_name: the same for the source; a query has no name.
        conf: the session's settings.
        types: says which types expressions have.
        clock: the time of the statement (R-136); now, if left out.

    Raises:
        AnalysisError: the statement is wrong for these tables; see part 1 and 2 of the specification.
        UnsupportedStatementError: the statement asks for schema evolution.
    """
    if statement.with_schema_evolution or conf.schema_auto_merge:
        raise UnsupportedStatementError(
            "schema evolution", hint="Leave WITH SCHEMA EVOLUTION and schema.autoMerge.enabled out."
        )
    if not target_schema.fields and conf.empty_schema_target_check:
        raise AnalysisError(
            "DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET",
            "Cannot MERGE INTO a table with no columns. The target table must have columns, "
            "or schema evolution must be enabled.",
        )
    resolution = _Resolution(
        scope=Scope(
            relations=(
                _relation(Side.TARGET, statement.target_alias, target_name or statement.target, target_schema),
                _relation(Side.SOURCE, statement.source_alias, source_name or statement.source, source_schema),
            ),
            case_sensitive=conf.case_sensitive,
        ),
        schemas=(target_schema, source_schema),
        conf=conf,
        types=types,
        clock=clock or StatementClock.start(),
    )
    return resolution.run(statement)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BoundClause:
    """A clause whose names are settled and whose values are not yet cast."""

    clause: Clause
    assignments: tuple[BoundAssignment, ...]
    condition: BoundExpression | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Resolution:
    """One run of ``resolve``."""

    scope: Scope
    schemas: tuple[StructType, StructType]
    conf: MergeConf
    types: ExpressionTypes
    clock: StatementClock

    def run(self, statement: MergeStatement) -> ResolvedMerge:
        on = self._condition(statement.condition, self.scope, where=_SEARCH)
        clauses = [self._bind(clause) for kind in ClauseKind for clause in statement.of_kind(kind)]
        check_condition(on, operation=_SEARCH)
        for bound in clauses:
            if bound.condition is not None:
                check_condition(bound.condition, operation=f"{bound.clause.action.name} condition")
        for bound in clauses:
            check_alignment(bound.clause, bound.assignments, self.scope)
        for bound in clauses:
            for assignment in bound.assignments:
                check_value(assignment.value)
        known = self._known_types(on, clauses)
        resolved = self._clauses(clauses, known)
        target, source = self.schemas
        return ResolvedMerge(
            target_schema=target,
            source_schema=source,
            final_schema=target,
            condition=self._resolved(on, known, is_search=True),
            matched=tuple(c for c in resolved if c.kind is ClauseKind.MATCHED),
            not_matched=tuple(c for c in resolved if c.kind is ClauseKind.NOT_MATCHED),
            not_matched_by_source=tuple(c for c in resolved if c.kind is ClauseKind.NOT_MATCHED_BY_SOURCE),
        )

    def _bind(self, clause: Clause) -> _BoundClause:
        """Resolve a clause: the actions first, the condition second (R-113)."""
        assignments = bind_action(clause, self.scope, clock=self.clock)
        condition = None
        if clause.condition is not None:
            where = f"{clause.action.name} condition"
            condition = self._condition(clause.condition, visible(clause.kind, self.scope), where=where)
        return _BoundClause(clause=clause, assignments=assignments, condition=condition)

    def _condition(self, text: str, scope: Scope, *, where: str) -> BoundExpression:
        bound = bind(text, scope, where=where, clock=self.clock)
        check_subquery_tables(text, self.types)
        return bound

    def _known_types(self, on: BoundExpression, clauses: Sequence[_BoundClause]) -> dict[str, DataType]:
        """Ask once for all types that do not follow from the schemas."""
        values = [a.value for c in clauses for a in c.assignments if known_type(a.value) is None]
        conditions = [on, *(c.condition for c in clauses if c.condition is not None)]
        asked = [c.sql for c in conditions if not self._is_boolean(c)] + [value.sql for value in values]
        unique = tuple(dict.fromkeys(asked))
        try:
            return dict(zip(unique, self.types.of(unique), strict=True))
        except AnalysisError as error:
            raise _correlated(error, values) or error from error

    def _clauses(self, clauses: Sequence[_BoundClause], known: dict[str, DataType]) -> list[ResolvedClause]:
        def type_of(value: BoundExpression) -> DataType:
            return known_type(value) or known[value.sql]

        resolved, uncertain = [], []
        for bound in clauses:
            values = values_of(bound.clause, bound.assignments, schema=self.schemas[0], types=type_of, conf=self.conf)
            uncertain += [value.sql for value in values if not value.certain]
            condition = bound.condition
            resolved.append(
                ResolvedClause(
                    kind=bound.clause.kind,
                    action=bound.clause.action,
                    condition=self._resolved(condition, known, is_search=False) if condition else None,
                    values=tuple(value.sql for value in values),
                    source_columns=_union(a.value.source_columns for a in bound.assignments),
                )
            )
        self.types.of(tuple(dict.fromkeys(uncertain)))  # raises where a cast does not exist
        return resolved

    def _resolved(
        self, condition: BoundExpression, known: dict[str, DataType], *, is_search: bool
    ) -> ResolvedExpression:
        sql = condition.sql
        if not self._is_boolean(condition):
            data_type = known[sql]
            check_boolean(condition, data_type, is_search=is_search)
            if isinstance(data_type, NullType):
                sql = f"CAST({sql} AS BOOLEAN)"
        return ResolvedExpression(
            sql=sql,
            # Every node that the parser makes is an Expression; sqlglot's annotations only say Expr.
            tree=cast("exp.Expression", condition.tree),
            target_columns=condition.target_columns,
            source_columns=condition.source_columns,
            text=condition.text,
        )

    def _is_boolean(self, condition: BoundExpression) -> bool:
        return is_known_boolean(condition.tree, *self.schemas)


def _relation(side: Side, alias: str | None, name: str, schema: StructType) -> Relation:
    """Name a side: an alias hides the table's own name (R-119)."""
    if alias:
        return Relation(side=side, qualifier=(alias,), schema=schema)
    is_name = bool(name) and not name.startswith("(")
    return Relation(side=side, qualifier=parse_name(name) if is_name else (), schema=schema)


def _correlated(error: AnalysisError, values: Sequence[BoundExpression]) -> AnalysisError | None:
    """Say of a value's subquery that it may not use the merge's columns (R-134)."""
    if not error.error_class.startswith("UNRESOLVED_COLUMN"):
        return None
    texts = [value.text for value in values if subqueries(value.text)]
    if not texts:
        return None
    return AnalysisError(
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY",
        f"A subquery in a value may only use its own tables: {texts[0]}. Join the source with them instead.",
    )


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*sets)
