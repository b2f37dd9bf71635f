"""Give a parsed MERGE its meaning: names, validation, stars, aligned values (parts 1 and 2 of the specification).

The order of the steps is R-113's, because the first that fails decides the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from reference.assignments import insert_values, star_values, update_values
from reference.errors import RejectedError
from reference.expressions import Translator
from reference.names import Relation, Scope, Side
from reference.statement import Action, Kind, name_parts
from reference.validation import check_condition, check_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference.alignment import Aligner
    from reference.statement import Clause, Statement
    from reference.typed import Typed
    from reference.types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause ready to evaluate.

    Attributes:
        condition: None where the clause has none.
        target_only: the conjunction of the condition's target-only conjuncts (R-421), None where there are none.
        values: one per column of the table; empty for DELETE.
    """

    kind: Kind
    action: Action
    condition: Typed | None
    target_only: tuple[Typed, ...]
    values: tuple[Typed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A MERGE whose expressions are DuckDB SQL over the evaluation's tables."""

    on: Typed
    clauses: tuple[ResolvedClause, ...]

    def of(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves one statement against the two tables.

    Attributes:
        tables: the table names that a subquery may mention.
    """

    target: Relation
    source: Relation
    tables: tuple[str, ...]
    case_sensitive: bool
    aligner: Aligner

    def resolve(self, statement: Statement) -> Resolved:
        """Resolve, validate and align.

        Raises:
            RejectedError: with the class of the first rule that the statement breaks.
            UnsupportedByReferenceError: where the reference does not know what an expression means.
        """
        ordered = [clause for kind in Kind for clause in statement.of(kind)]
        on_scope = self._scope(Kind.MATCHED, "search condition")
        self._check_names(statement.on, on_scope)
        for clause in ordered:
            self._check_clause_names(clause)
        check_condition(statement.on, "search condition of MERGE operation", self.tables)
        for clause in ordered:
            if clause.condition is not None:
                place = f"{clause.action.value.upper()} condition of MERGE operation"
                check_condition(clause.condition, place, self.tables)
        return Resolved(
            on=Translator(on_scope).condition(statement.on),
            clauses=tuple(self._clause(clause) for clause in ordered),
        )

    def _scope(self, kind: Kind, place: str) -> Scope:
        """Give the relations that a clause kind may use (R-115); ON sees what MATCHED sees."""
        relations = {
            Kind.MATCHED: (self.target, self.source),
            Kind.NOT_MATCHED: (self.source,),
            Kind.NOT_MATCHED_BY_SOURCE: (self.target,),
        }[kind]
        return Scope(relations=relations, place=place, case_sensitive=self.case_sensitive)

    def _target_scope(self, clause: Clause) -> Scope:
        place = f"{clause.action.value.upper()} clause"
        return Scope(relations=(self.target,), place=place, case_sensitive=self.case_sensitive)

    def _check_clause_names(self, clause: Clause) -> None:
        verb = clause.action.value.upper()
        values = self._scope(clause.kind, f"{verb} clause")
        if clause.star:
            star_values(self.target.schema, self._star_scope(clause))
        for assignment in clause.assignments:
            self._target_scope(clause).column(assignment.path)
            self._check_names(assignment.value, values)
        if clause.condition is not None:
            self._check_names(clause.condition, self._scope(clause.kind, f"{verb} condition"))

    def _star_scope(self, clause: Clause) -> Scope:
        place = f"{clause.action.value.upper()} clause"
        return Scope(relations=(self.source,), place=place, case_sensitive=self.case_sensitive)

    def _check_names(self, node: exp.Expr, scope: Scope) -> None:
        for name in _names(node):
            scope.resolve(name)

    def _clause(self, clause: Clause) -> ResolvedClause:
        translator = Translator(self._scope(clause.kind, f"{clause.action.value.upper()} clause"))
        condition = None if clause.condition is None else translator.condition(clause.condition)
        return ResolvedClause(
            kind=clause.kind,
            action=clause.action,
            condition=condition,
            target_only=_target_only(clause, translator),
            values=self._values(clause, translator),
        )

    def _values(self, clause: Clause, translator: Translator) -> tuple[Typed, ...]:
        for assignment in clause.assignments:
            check_value(assignment.value)
        if clause.action is Action.DELETE:
            return ()
        schema: Schema = self.target.schema
        if clause.star:
            given = star_values(schema, self._star_scope(clause))
            return tuple(
                self.aligner.align(value, column.type) for value, column in zip(given, schema.columns, strict=True)
            )
        assigned = [(a.path, translator.translate(a.value)) for a in clause.assignments]
        if clause.action is Action.UPDATE:
            return update_values(schema, assigned, self._target_scope(clause), self.aligner)
        return insert_values(schema, assigned, self._target_scope(clause), self.aligner)


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


def _target_only(clause: Clause, translator: Translator) -> tuple[Typed, ...]:
    """Translate the top-level conjuncts that use the target only; a conjunct without columns is none (R-321)."""
    if clause.condition is None or clause.kind is not Kind.MATCHED:
        return ()
    conjuncts = clause.condition.unnest()
    parts = list(conjuncts.flatten()) if isinstance(conjuncts, exp.And) else [conjuncts]
    typed = [translator.condition(part) for part in parts]
    return tuple(part for part in typed if part.sides == frozenset({Side.TARGET}))
