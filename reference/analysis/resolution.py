"""Give a parsed MERGE its meaning: names, validation, stars, aligned values (parts 1 and 2 of the specification).

The order of the steps is R-113's, because the first that fails decides the error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.analysis.alignment import Aligner
from mergecheck.reference.analysis.assignments import Assigned, check_insert, check_update
from mergecheck.reference.analysis.row_values import RowValues
from mergecheck.reference.analysis.validation import check_condition, check_value
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.statement import Action, Kind
from mergecheck.reference.types.data_types import STRING, VOID, Schema
from mergecheck.reference.types.typed import Side, Typed, typed_null

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from mergecheck.reference.analysis.clause_names import ClauseNames, Left
    from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
    from mergecheck.reference.syntax.statement import Clause, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause ready to evaluate.

    Attributes:
        condition: None if the clause has none.
        target_only: the conjunction of the condition's target-only conjuncts (R-421), None if there are none.
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
        on_is_equality: whether ON has a conjunct that equates a value of one table with one of the other, and none
            without columns, so that an executor can join by keys.
        final_schema: the table's columns after the merge (R-233).
        old: the row before the merge in the final schema, one value per column (R-241, R-610).
        stored: the same as readers show it, if its file is not rewritten.
    """

    on: Typed
    on_target_only: tuple[Typed, ...]
    on_is_equality: bool
    clauses: tuple[ResolvedClause, ...]
    final_schema: Schema
    old: tuple[Typed, ...]
    stored: tuple[Typed, ...]

    def of(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)

    @property
    def is_insert_only(self) -> bool:
        """Whether the statement has insert clauses and no others (R-006)."""
        return {clause.kind for clause in self.clauses} == {Kind.NOT_MATCHED}

    @property
    def is_matched_only(self) -> bool:
        """Whether the statement has matched clauses and no others (R-006)."""
        return {clause.kind for clause in self.clauses} == {Kind.MATCHED}

    @property
    def is_sole_delete(self) -> bool:
        """Whether the matched clauses are exactly one DELETE without a condition, which is syntactic (R-006)."""
        matched = self.of(Kind.MATCHED)
        return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves one statement against the two tables.

    Attributes:
        names: the tables and the rules for their names.
        subqueries: evaluates the scalar subqueries of values (R-134).
        clock: the statement's one time (R-136).
    """

    names: ClauseNames
    subqueries: ScalarSubqueries
    clock: dt.datetime
    aligner: Aligner

    def resolve(self, statement: Statement) -> Resolved:
        """Resolve, validate and align.

        Raises:
            RejectedError: with the class of the first rule that the statement breaks.
            UnsupportedByReferenceError: if the reference does not know what an expression means.
        """
        ordered = [clause for kind in Kind for clause in statement.of(kind)]
        on_scope = self.names.scope(Kind.MATCHED, "search condition")
        self.names.check_names(statement.on, on_scope)
        lefts = [self.names.resolve_clause(clause) for clause in ordered]
        evolved = self.names.final_schema(ordered, lefts)
        final = _with_stand_ins(evolved)
        check_condition(statement.on, "search condition of MERGE operation", self._tables)
        for clause in ordered:
            if clause.condition is not None:
                place = f"{clause.action.value.upper()} condition of MERGE operation"
                check_condition(clause.condition, place, self._tables)
        old = self._old_row(final, preserve_null_structs=self.aligner.preserve_null_structs)
        values = RowValues(
            schema=final,
            num_old=len(self.names.target.schema.columns),
            old=old,
            aligner=self.aligner,
            case_sensitive=self.names.case_sensitive,
        )
        on = Translator(on_scope, clock=self.clock)
        resolved = Resolved(
            on=on.condition(statement.on),
            on_target_only=_target_only(_written_conjuncts(statement.on), on),
            on_is_equality=_is_equality(statement.on, on),
            clauses=tuple(self._clause(clause, left, values) for clause, left in zip(ordered, lefts, strict=True)),
            final_schema=final,
            old=old,
            stored=self._old_row(final, preserve_null_structs=True),
        )
        self.names.check_new_types(evolved)
        return resolved

    @property
    def _tables(self) -> tuple[str, ...]:
        """The table names that a subquery may mention."""
        return tuple(self.subqueries.tables)

    def _old_row(self, final: Schema, *, preserve_null_structs: bool) -> tuple[Typed, ...]:
        """Convert the row before the merge to the final schema: new columns and fields are NULL (R-241, R-244)."""
        target = self.names.target
        present = [target.typed(index) for index in range(len(target.schema.columns))]
        convert = Aligner(evolution=True, preserve_null_structs=preserve_null_structs)
        existing = [convert.align(old, c.type) for old, c in zip(present, final.columns, strict=False)]
        new = [Typed(sql=typed_null(c.type), type=c.type) for c in final.columns[len(present) :]]
        return (*existing, *new)

    def _clause(self, clause: Clause, lefts: tuple[Left, ...], values: RowValues) -> ResolvedClause:
        scope = self.names.scope(clause.kind, f"{clause.action.value.upper()} clause")
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
                preserves=left.value is None and self.names.evolution,
            )
            for left in lefts
        )
        is_matched = clause.kind is Kind.MATCHED
        return ResolvedClause(
            kind=clause.kind,
            action=clause.action,
            condition=condition,
            target_only=_target_only(_implied_conjuncts(clause.condition), conditions)
            if clause.condition and is_matched
            else (),
            assigned=assigned,
            values=self._values(clause.action, assigned, values),
        )

    def _star_value(self, left: Left, clause: Clause) -> Typed:
        return self.names.one_side(self.names.source, clause).resolve(left.path).typed()

    def _values(self, action: Action, assigned: tuple[Assigned, ...], values: RowValues) -> tuple[Typed, ...]:
        if action is Action.DELETE:
            return ()
        if action is Action.UPDATE:
            check_update(assigned, values.schema, case_sensitive=self.names.case_sensitive)
            return values.updated(assigned)
        check_insert(assigned, self.names.target.schema, case_sensitive=self.names.case_sensitive)
        return values.inserted(assigned)


def _with_stand_ins(schema: Schema) -> Schema:
    """Give VOID columns a type that rows can have: what else is wrong with the statement is met before they are."""
    return Schema(tuple(replace(c, type=STRING) if c.type == VOID else c for c in schema.columns))


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    whole = condition.unnest()
    return [part for one in whole.flatten() for part in _conjuncts(one)] if isinstance(whole, exp.And) else [whole]


def _is_equality(condition: exp.Expr, translator: Translator) -> bool:
    each = frozenset({Side.TARGET}), frozenset({Side.SOURCE})
    found = False
    for part in _conjuncts(condition):
        if not translator.condition(part).sides:
            return False
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            sides = [translator.translate(operand).sides for operand in (part.this, part.expression)]
            found = found or set(sides) == set(each)
    return found


def _target_only(conjuncts: Sequence[exp.Expr], translator: Translator) -> tuple[Typed, ...]:
    """Translate the conjuncts that use no source column: those without any column too (R-321)."""
    typed = [translator.condition(part) for part in conjuncts]
    return tuple(part for part in typed if part.sides <= frozenset({Side.TARGET}))


def _written_conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    inner = condition.unnest()
    return list(inner.flatten()) if isinstance(inner, exp.And) else [inner]


def _implied_conjuncts(condition: exp.Expr, *, negated: bool = False) -> list[exp.Expr]:
    """Give the conjuncts of a clause condition as Spark's optimizer writes it (R-421).

    NOT goes into AND and OR, and what both sides of an OR demand stands before it.
    """
    inner = condition.unnest()
    if isinstance(inner, exp.Not):
        return _implied_conjuncts(inner.this, negated=not negated)
    whole = [exp.Not(this=exp.Paren(this=inner.copy())) if negated else inner]
    if not isinstance(inner, exp.And | exp.Or):
        return whole
    left, right = (_implied_conjuncts(side, negated=negated) for side in (inner.this, inner.expression))
    if isinstance(inner, exp.Or) == negated:
        return left + right
    return [part for part in left if part in right] + whole
