"""The names of a clause: those its expressions may use, the columns it assigns, its additions to the schema."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError, fault_in
from mergecheck.model.types.data_types import VOID
from mergecheck.model.types.widening import WideningMode
from mergecheck.reference.analysis.evolution import SourceFilter, evolved_schema
from mergecheck.reference.analysis.validation import check_rewritten
from mergecheck.reference.analysis.values.assignments import Left, assigned_path
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.written_names import names_in
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import exp

    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Clause


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseNames:
    """Resolves the names of clauses against the two tables.

    Attributes:
        evolution: whether schema evolution is on (part 2).
        drops_null_columns: ``createDataFrame.dropNullColumns`` (R-144).
        widening: which types evolution widens (R-237).
        asks: whether another evaluator resolves names that the reference cannot follow.
    """

    target: Relation
    source: Relation
    case_sensitive: bool
    evolution: bool = False
    drops_null_columns: bool = False
    widening: WideningMode = WideningMode.NEVER
    asks: bool = False

    def scope(self, kind: Kind, place: str) -> Scope:
        """Give the relations that a clause kind may use (R-115); ON sees what MATCHED sees."""
        relations = {
            Kind.MATCHED: (self.target, self.source),
            Kind.NOT_MATCHED: (self.source,),
            Kind.NOT_MATCHED_BY_SOURCE: (self.target,),
        }[kind]
        return Scope(relations=relations, place=place, case_sensitive=self.case_sensitive)

    def one_side(self, relation: Relation, clause: Clause) -> Scope:
        """Give the columns of one relation, as the actions of a clause see them."""
        place = f"{clause.action.value.upper()} clause"
        return Scope(relations=(relation,), place=place, case_sensitive=self.case_sensitive)

    def resolve_clause(self, clause: Clause) -> tuple[Left, ...]:
        """Resolve the names of a clause, actions before the condition (R-113), and expand its star."""
        verb = clause.action.value.upper()
        values = self.scope(clause.kind, f"{verb} clause")
        lefts = list(self._expanded_star(clause)) if clause.star else []
        evolves = self.evolution and clause.kind is not Kind.NOT_MATCHED_BY_SOURCE
        for assignment in clause.assignments:
            source = self.one_side(self.source, clause) if evolves else None
            path, written = assigned_path(assignment.path, self.one_side(self.target, clause), source)
            lefts.append(Left(path=path, written=written, value=assignment.value))
            with fault_in(f"column {'.'.join(path)}"):
                self.check_names(assignment.value, values)
        if clause.condition is not None:
            self.check_names(clause.condition, self.scope(clause.kind, f"{verb} condition"))
        return tuple(lefts)

    def _expanded_star(self, clause: Clause) -> Iterator[Left]:
        """List the columns of a star: the source's with evolution (R-202, R-203), else the target's (R-201)."""
        if self.evolution:
            names = self.source.schema.names
        else:
            names = self.target.schema.names
            for name in names:
                self.one_side(self.source, clause).resolve((name,))
        for name in names:
            yield Left(path=(name,), written=name, value=None)

    def final_schema(self, clauses: Sequence[Clause], lefts: Sequence[tuple[Left, ...]]) -> Schema:
        """Add the columns and fields that the clauses take from the source, if evolution is on (R-230, R-233).

        Raises:
            RejectedError: if the schemas do not merge (R-236, R-238).
        """
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
        return evolved_schema(self.target.schema, self.source.schema, wanted, widening=self.widening)

    def check_void(self, final: Schema) -> None:
        """Check new columns for VOID once all else of the statement is resolved (R-144).

        Raises:
            RejectedError: if the session takes no VOID column.
            UnsupportedByReferenceError: if it does.
        """
        if self.evolution and any(column.type == VOID for column in final.columns):
            if self.drops_null_columns:
                raise RejectedError("DELTA_MERGE_ADD_VOID_COLUMN", "Cannot add a column with type VOID.")
            raise UnsupportedByReferenceError("a new column of type VOID (R-144)")

    def check_names(self, node: exp.Expr, scope: Scope) -> None:
        """Resolve every name of an expression.

        Raises:
            RejectedError: for one that means nothing (R-117) or more than one thing (R-118), or as ``check_rewritten``.
        """
        check_rewritten(node, scope)
        for name in names_in(node):
            if scope.literal_function(name) is not None:
                continue
            with suppress(UnsupportedByReferenceError) if self.asks else nullcontext():
                scope.resolve(name)
