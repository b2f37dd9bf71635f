"""Give a parsed MERGE its meaning: names, validation, stars, aligned values (parts 1 and 2 of the specification).

The order of the steps is R-113's, because the first that fails decides the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from reference.alignment import Aligner
from reference.assignments import Assigned, assigned_path, check_insert, check_update
from reference.errors import RejectedError, UnsupportedByReferenceError
from reference.evolution import SourceFilter, evolved_schema
from reference.expressions import Translator
from reference.names import Relation, Scope, Side
from reference.row_values import RowValues
from reference.statement import Action, Kind, name_parts
from reference.typed import Typed, typed_null
from reference.types import VOID
from reference.validation import check_condition, check_value

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from reference.assignments import Path
    from reference.scalar_subqueries import ScalarSubqueries
    from reference.statement import Clause, Statement
    from reference.types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause ready to evaluate.

    Attributes:
        condition: None where the clause has none.
        target_only: the conjunction of the condition's target-only conjuncts (R-421), None where there are none.
        assigned: what the statement assigns, stars expanded; empty for DELETE.
        values: one per column of the final schema, over the rows of both sides and the row's own new values ``c<i>``;
            empty for DELETE.
    """

    kind: Kind
    action: Action
    condition: Typed | None
    target_only: tuple[Typed, ...]
    assigned: tuple[Assigned, ...]
    values: tuple[Typed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A MERGE whose expressions are DuckDB SQL over the evaluation's tables.

    Attributes:
        on_target_only: the conjuncts of ON that use the target only (R-420).
        final_schema: the table's columns after the merge (R-233).
        old: the row before the merge in the final schema, one value per column (R-241, R-610).
    """

    on: Typed
    on_target_only: tuple[Typed, ...]
    clauses: tuple[ResolvedClause, ...]
    final_schema: Schema
    old: tuple[Typed, ...]

    def of(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """The left-hand side of an assignment, or a column of an expanded star; ``value`` is None for the latter."""

    path: Path
    written: str
    value: exp.Expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves one statement against the two tables.

    Attributes:
        subqueries: evaluates the scalar subqueries of values (R-134).
        clock: the statement's one time (R-136).
        evolution: whether schema evolution is on (part 2).
        drops_null_columns: ``createDataFrame.dropNullColumns`` (R-144).
    """

    target: Relation
    source: Relation
    subqueries: ScalarSubqueries
    clock: dt.datetime
    case_sensitive: bool
    aligner: Aligner
    evolution: bool = False
    drops_null_columns: bool = False

    def resolve(self, statement: Statement) -> Resolved:
        """Resolve, validate and align.

        Raises:
            RejectedError: with the class of the first rule that the statement breaks.
            UnsupportedByReferenceError: where the reference does not know what an expression means.
        """
        ordered = [clause for kind in Kind for clause in statement.of(kind)]
        on_scope = self._scope(Kind.MATCHED, "search condition")
        self._check_names(statement.on, on_scope)
        lefts = [self._resolve_clause(clause) for clause in ordered]
        final = self._final_schema(ordered, lefts)
        check_condition(statement.on, "search condition of MERGE operation", self._tables)
        for clause in ordered:
            if clause.condition is not None:
                place = f"{clause.action.value.upper()} condition of MERGE operation"
                check_condition(clause.condition, place, self._tables)
        old = self._old_row(final)
        values = RowValues(schema=final, old=old, aligner=self.aligner, case_sensitive=self.case_sensitive)
        on = Translator(on_scope, clock=self.clock)
        return Resolved(
            on=on.condition(statement.on),
            on_target_only=_target_only(statement.on, on),
            clauses=tuple(self._clause(clause, left, values) for clause, left in zip(ordered, lefts, strict=True)),
            final_schema=final,
            old=old,
        )

    @property
    def _tables(self) -> tuple[str, ...]:
        """The table names that a subquery may mention."""
        return tuple(self.subqueries.tables)

    def _scope(self, kind: Kind, place: str) -> Scope:
        """Give the relations that a clause kind may use (R-115); ON sees what MATCHED sees."""
        relations = {
            Kind.MATCHED: (self.target, self.source),
            Kind.NOT_MATCHED: (self.source,),
            Kind.NOT_MATCHED_BY_SOURCE: (self.target,),
        }[kind]
        return Scope(relations=relations, place=place, case_sensitive=self.case_sensitive)

    def _one_side(self, relation: Relation, clause: Clause) -> Scope:
        place = f"{clause.action.value.upper()} clause"
        return Scope(relations=(relation,), place=place, case_sensitive=self.case_sensitive)

    def _resolve_clause(self, clause: Clause) -> tuple[_Left, ...]:
        """Resolve the names of a clause, actions before the condition (R-113), and expand its star."""
        verb = clause.action.value.upper()
        values = self._scope(clause.kind, f"{verb} clause")
        lefts = list(self._expanded_star(clause)) if clause.star else []
        evolves = self.evolution and clause.kind is not Kind.NOT_MATCHED_BY_SOURCE
        for assignment in clause.assignments:
            source = self._one_side(self.source, clause) if evolves else None
            path, written = assigned_path(assignment.path, self._one_side(self.target, clause), source)
            lefts.append(_Left(path=path, written=written, value=assignment.value))
            self._check_names(assignment.value, values)
        if clause.condition is not None:
            self._check_names(clause.condition, self._scope(clause.kind, f"{verb} condition"))
        return tuple(lefts)

    def _expanded_star(self, clause: Clause) -> Iterator[_Left]:
        """List the columns of a star: the source's with evolution (R-202, R-203), else the target's (R-201)."""
        if self.evolution:
            names = self.source.schema.names
        else:
            names = self.target.schema.names
            for name in names:
                self._one_side(self.source, clause).resolve((name,))
        for name in names:
            yield _Left(path=(name,), written=name, value=None)

    def _final_schema(self, clauses: Sequence[Clause], lefts: Sequence[tuple[_Left, ...]]) -> Schema:
        if not self.evolution:
            return self.target.schema
        adding = [
            (clause, left)
            for clause, left in zip(clauses, lefts, strict=True)
            if clause.kind is not Kind.NOT_MATCHED_BY_SOURCE and clause.action is not Action.DELETE
        ]
        wanted = SourceFilter(
            assigned=frozenset(one.path for clause, left in adding if not clause.star for one in left),
            star=any(clause.star for clause, _ in adding),
            case_sensitive=self.case_sensitive,
        )
        final = evolved_schema(self.target.schema, self.source.schema, wanted)
        if any(column.type == VOID for column in final.columns):
            if self.drops_null_columns:
                raise RejectedError("DELTA_MERGE_ADD_VOID_COLUMN", "Cannot add a column with type VOID.")
            raise UnsupportedByReferenceError("a new column of type VOID (R-144)")
        return final

    def _old_row(self, final: Schema) -> tuple[Typed, ...]:
        """Convert the row before the merge to the final schema: new columns and fields are NULL (R-241)."""
        present = [
            Typed(sql=f"t{index}", type=column.type, sides=frozenset({Side.TARGET}))
            for index, column in enumerate(self.target.schema.columns)
        ]
        convert = Aligner(evolution=True)
        existing = [convert.align(old, c.type) for old, c in zip(present, final.columns, strict=False)]
        new = [Typed(sql=typed_null(c.type), type=c.type) for c in final.columns[len(present) :]]
        return (*existing, *new)

    def _check_names(self, node: exp.Expr, scope: Scope) -> None:
        for name in _names(node):
            scope.resolve(name)

    def _clause(self, clause: Clause, lefts: tuple[_Left, ...], values: RowValues) -> ResolvedClause:
        scope = self._scope(clause.kind, f"{clause.action.value.upper()} clause")
        conditions = Translator(scope, clock=self.clock)
        translator = Translator(scope, subqueries=self.subqueries)
        condition = None if clause.condition is None else conditions.condition(clause.condition)
        for assignment in clause.assignments:
            check_value(assignment.value)
        assigned = tuple(
            Assigned(
                path=left.path,
                written=left.written,
                value=self._star_value(left, clause) if left.value is None else translator.translate(left.value),
                preserves=left.value is None and self.evolution,
            )
            for left in lefts
        )
        is_matched = clause.kind is Kind.MATCHED
        return ResolvedClause(
            kind=clause.kind,
            action=clause.action,
            condition=condition,
            target_only=_target_only(clause.condition, conditions) if clause.condition and is_matched else (),
            assigned=assigned,
            values=self._values(clause.action, assigned, values),
        )

    def _values(self, action: Action, assigned: tuple[Assigned, ...], values: RowValues) -> tuple[Typed, ...]:
        if action is Action.DELETE:
            return ()
        if action is Action.UPDATE:
            check_update(assigned, values.schema, case_sensitive=self.case_sensitive)
            return values.updated(assigned)
        check_insert(assigned, self.target.schema, case_sensitive=self.case_sensitive)
        return values.inserted(assigned)

    def _star_value(self, left: _Left, clause: Clause) -> Typed:
        name = self._one_side(self.source, clause).resolve(left.path)
        return Typed(sql=name.sql, type=name.type, sides=frozenset({name.side}))


def _names(node: exp.Expr) -> Iterator[tuple[str, ...]]:
    """Walk the names of an expression in order, without those inside subqueries (they have scopes of their own)."""
    if isinstance(node, exp.Query | exp.DataType):
        return
    if isinstance(node, exp.Column | exp.Dot) and _is_name(node):
        yield name_parts(node)
        return
    if isinstance(node, exp.Var) and node.name.upper() == "DEFAULT":  # DEFAULT is read as a column name
        yield ("DEFAULT",)
        return
    for child in node.iter_expressions():
        yield from _names(child)


def _is_name(node: exp.Expr) -> bool:
    try:
        name_parts(node)
    except RejectedError:
        return False
    return True


def _target_only(condition: exp.Expr, translator: Translator) -> tuple[Typed, ...]:
    """Translate the top-level conjuncts that use the target only; a conjunct without columns is none (R-321)."""
    conjuncts = condition.unnest()
    parts = list(conjuncts.flatten()) if isinstance(conjuncts, exp.And) else [conjuncts]
    typed = [translator.condition(part) for part in parts]
    return tuple(part for part in typed if part.sides == frozenset({Side.TARGET}))
