"""Give a parsed MERGE its meaning: names, validation, stars, aligned values (parts 1 and 2 of the specification).

The order of the steps is R-113's, because the first that fails decides the error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError, fault_in
from mergecheck.model.types.data_types import BOOLEAN, STRING, VOID, Schema, type_at
from mergecheck.model.types.typed import Typed, typed_null
from mergecheck.reference.analysis.conjuncts import (
    implied_conjuncts,
    integer_keys,
    is_equality,
    may_fail,
    sole_keys,
    target_only_conjuncts,
)
from mergecheck.reference.analysis.resolved import Resolved, ResolvedClause
from mergecheck.reference.analysis.several_faults import Late, LateFaults
from mergecheck.reference.analysis.validation import check_condition, check_value
from mergecheck.reference.analysis.values.alignment import Aligner
from mergecheck.reference.analysis.values.assignments import Assigned, check_insert, check_update, generated_ids
from mergecheck.reference.analysis.values.row_values import RowValues
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.analysis.resolved import TargetConjunct
    from mergecheck.reference.analysis.values.assignments import Left
    from mergecheck.reference.asked.asker import Asked, Asker
    from mergecheck.reference.doubts import Doubts
    from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
    from mergecheck.reference.syntax.statement import Clause, Statement

_TRUE = Typed(sql="TRUE", type=BOOLEAN)
_ON = "ON"
_ALIGNED = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE, Kind.NOT_MATCHED)
"""The order in which Delta aligns the clauses (R-113); their names are resolved in the order of ``Kind``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves one statement against the two tables.

    Attributes:
        names: the tables and the rules for their names.
        subqueries: evaluates the scalar subqueries of values (R-134).
        clock: the statement's one time (R-136).
        asker: asks for expressions without a translation.
        doubts: collects the values that cannot be predicted; None refuses them.
    """

    names: ClauseNames
    subqueries: ScalarSubqueries
    clock: dt.datetime
    aligner: Aligner
    asker: Asker
    doubts: Doubts | None = None

    def resolve(self, statement: Statement) -> Resolved:
        """Resolve, validate and align.

        Raises:
            RejectedError: with the class of the first rule that the statement breaks, but for R-135.
            UnsupportedByReferenceError: if the reference has no meaning for an expression.
        """
        ordered = [clause for kind in Kind for clause in statement.of(kind)]
        on_scope = self.names.scope(Kind.MATCHED, "search condition")
        with fault_in(_ON):
            self.names.check_names(statement.on, on_scope)
        lefts = [self._lefts(clause) for clause in ordered]
        evolved = self.names.final_schema(ordered, lefts)
        final = _with_stand_ins(evolved)
        with fault_in(_ON):
            check_condition(statement.on, "search condition of MERGE operation", self._tables)
        for clause in ordered:
            if clause.condition is not None:
                place = f"{clause.action.value.upper()} condition of MERGE operation"
                with fault_in(clause.place):
                    check_condition(clause.condition, place, self._tables)
        old = self._old_row(final, preserve_null_structs=self.aligner.preserve_null_structs)
        values = RowValues(
            schema=final,
            num_old=len(self.names.target.schema.columns),
            old=old,
            aligner=self.aligner,
            case_sensitive=self.names.case_sensitive,
            asker=self.asker,
        )
        translator = Translator(on_scope, clock=self.clock, is_search_condition=True)
        late = LateFaults()
        on = late.kept(
            lambda: self.asker.condition(statement.on, statement.on_text, translator),
            Late.NOT_BOOLEAN,
            instead=_TRUE,
            place=_ON,
        )
        asked = list(self.asker.take())
        written = [self._clause(clause, left, asked, late, final) for clause, left in zip(ordered, lefts, strict=True)]
        places = sorted(range(len(ordered)), key=lambda place: _ALIGNED.index(ordered[place].kind))
        aligned = {place: self._aligned(written[place], lefts[place], values, late) for place in places}
        late.raise_first()
        search = statement.on if late.not_boolean is None else exp.true()  # nothing more is asked of one without truth
        clauses = tuple(aligned[place] for place in range(len(ordered)))
        resolved = Resolved(
            on=on,
            on_parts=(on,) if on.asked else tuple(map(translator.operand, conjuncts(search))),
            constants=(*translator.constants(search), *self._constants_of_conditions(ordered)),
            on_target_only=target_only_conjuncts(conjuncts(search), translator, asks=bool(asked))[0],
            on_is_equality=is_equality(search, translator, asks=bool(asked)),
            clauses=clauses,
            final_schema=final,
            old=old,
            stored=self._old_row(final, preserve_null_structs=True, as_read=False),
            asked=tuple(asked),
            not_boolean=late.not_boolean,
            on_may_fail=on.partial or (on.asked and may_fail(search, translator)),
            join_keys=() if on.asked else integer_keys(search, translator),
            keys=sole_keys(search, translator) if on.partial and not asked else (),
        )
        self.names.check_void(evolved)
        return resolved

    def _lefts(self, clause: Clause) -> tuple[Left, ...]:
        with fault_in(clause.place):
            return self.names.resolve_clause(clause)

    @property
    def _tables(self) -> tuple[str, ...]:
        """The table names that a subquery may mention."""
        return tuple(self.subqueries.tables)

    def _old_row(self, final: Schema, *, preserve_null_structs: bool, as_read: bool = True) -> tuple[Typed, ...]:
        """Convert the row before the merge to the final schema: new columns and fields are NULL (R-241, R-244).

        Args:
            final: the columns after the merge.
            preserve_null_structs: a NULL struct stays NULL.
            as_read: as the merge reads the row; else as its file has it (R-822).
        """
        target = self.names.target
        places = range(len(target.schema.columns))
        present = [target.read(place) if as_read else target.typed(place) for place in places]
        convert = Aligner(evolution=True, preserve_null_structs=preserve_null_structs)
        existing = [convert.align(old, c.type) for old, c in zip(present, final.columns, strict=False)]
        new = [Typed(sql=typed_null(c.type), type=c.type) for c in final.columns[len(present) :]]
        return (*existing, *new)

    def _clause(
        self, clause: Clause, lefts: tuple[Left, ...], asked_conditions: list[Asked], late: LateFaults, final: Schema
    ) -> ResolvedClause:
        """Resolve a clause, still without the values of columns; an assignment that is refused later is left out.

        If its condition is asked for, it is added to ``asked_conditions``.
        """
        scope = self.names.scope(clause.kind, f"{clause.action.value.upper()} clause")
        conditions = Translator(scope, clock=self.clock)
        translator = Translator(scope, subqueries=self.subqueries)
        condition: Typed | None = None
        target_only: tuple[TargetConjunct, ...] = ()
        is_known = True
        if (given := clause.condition) is not None:
            _refuse_null(given, conditions)
            condition = late.kept(
                lambda: self.asker.condition(given, clause.condition_text or "", conditions),
                Late.NOT_BOOLEAN,
                instead=None,
                place=clause.place,
            )
            asked = self.asker.take()
            asked_conditions += asked
            if clause.kind is Kind.MATCHED and condition is not None:
                implied = implied_conjuncts(given)
                target_only, is_known = target_only_conjuncts(implied, conditions, asks=bool(asked))
        texts = iter(assignment.text for assignment in clause.assignments)
        assigned = tuple(
            Assigned(path=left.path, value=value, preserves=left.value is None and self.names.evolution)
            for left in lefts
            if (value := self._value(left, clause, texts, translator, late=late, final=final)) is not None
        )
        return ResolvedClause(
            kind=clause.kind,
            action=clause.action,
            place=clause.place,
            condition=condition,
            target_only=target_only,
            assigned=assigned,
            values=(),
            asked=self.asker.take(),
            is_target_only_known=is_known,
            constants=tuple(
                constant
                for assignment in clause.assignments
                if len(assigned) == len(lefts)
                for constant in translator.constants(assignment.value)
            ),
        )

    def _value(
        self,
        left: Left,
        clause: Clause,
        texts: Iterator[str],
        translator: Translator,
        *,
        late: LateFaults,
        final: Schema,
    ) -> Typed | None:
        """Translate an assigned value; None if it is refused later."""
        if (given := left.value) is None:
            return self.names.one_side(self.names.source, clause).resolve(left.path).typed()
        text = next(texts)

        def translated() -> Typed:
            check_value(given)
            try:
                return self.asker.value(given, text, translator)
            except UnsupportedByReferenceError as unknown:
                if self.doubts is None:
                    raise
                return self.doubts.stand_in(left.path, final, unknown)

        place = f"{clause.place}, column {'.'.join(left.path)}"
        return late.kept(translated, Late.OPERATOR, instead=None, place=place)

    def _aligned(
        self, clause: ResolvedClause, lefts: tuple[Left, ...], values: RowValues, late: LateFaults
    ) -> ResolvedClause:
        """Check the columns that a clause assigns, and give each column its value."""
        case_sensitive = self.names.case_sensitive
        with fault_in(clause.place):
            if clause.action is Action.UPDATE:
                check_update(lefts, values.schema, case_sensitive=case_sensitive)
            elif clause.action is Action.INSERT:
                check_insert(lefts, self.names.target.schema, case_sensitive=case_sensitive)
        assigned, asked, place = clause.assigned, clause.asked, clause.place
        new = late.kept(lambda: _values(clause.action, assigned, values), Late.CAST, instead=(), place=place)
        constants = late.kept(
            lambda: tuple(self._cast_constants(assigned, values.schema)), Late.CAST, instead=(), place=place
        )
        fields = late.kept(lambda: tuple(self._fields(assigned, values.schema)), Late.CAST, instead=(), place=place)
        return replace(
            clause,
            values=new,
            fields=fields,
            asked=(*asked, *self.asker.take()),
            constants=(*clause.constants, *constants),
            generated_ids=generated_ids(lefts, values.schema, case_sensitive=case_sensitive)
            if clause.action is Action.INSERT
            else frozenset(),
        )

    def _cast_constants(self, assigned: Sequence[Assigned], schema: Schema) -> Iterator[Typed]:
        """Cast the assigned values that use no column: the cast may fail, too."""
        for one in assigned:
            if one.value.sides or one.value.asked:
                continue
            wanted = type_at(schema, one.path)
            if wanted is not None:
                with fault_in(f"column {'.'.join(one.path)}"):
                    constant = self.aligner.align(one.value, wanted)
                yield constant

    def _fields(self, assigned: Sequence[Assigned], schema: Schema) -> Iterator[tuple[int, Typed]]:
        """Cast the values of assigned fields, each by itself, and give the positions of their columns."""
        for one in assigned:
            wanted = type_at(schema, one.path) if len(one.path) > 1 else None
            if wanted is not None:
                yield _position(schema, one.path[0]), self.aligner.align(one.value, wanted)

    def _constants_of_conditions(self, clauses: Sequence[Clause]) -> Iterator[Typed]:
        for clause in clauses:
            if clause.condition is not None:
                scope = self.names.scope(clause.kind, f"{clause.action.value.upper()} clause")
                yield from Translator(scope, clock=self.clock).constants(clause.condition)


def _position(schema: Schema, name: str) -> int:
    """Return the position of a column; a path to a new field has the column's name as the statement writes it."""
    names = schema.names
    return names.index(name) if name in names else [each.lower() for each in names].index(name.lower())


def _values(action: Action, assigned: tuple[Assigned, ...], values: RowValues) -> tuple[Typed, ...]:
    if action is Action.DELETE:
        return ()
    return values.updated(assigned) if action is Action.UPDATE else values.inserted(assigned)


def _refuse_null(condition: exp.Expr, translator: Translator) -> None:
    """Refuse a clause whose condition is an untyped NULL (R-135).

    Raises:
        UnsupportedByReferenceError: Delta refuses it in some plans only.
    """
    try:
        is_null = translator.translate(condition).type == VOID
    except (UnsupportedByReferenceError, RejectedError):
        return  # whatever is wrong with it is found later
    if is_null:
        raise UnsupportedByReferenceError("a clause whose condition is an untyped NULL")


def _with_stand_ins(schema: Schema) -> Schema:
    """Give VOID columns a type that rows can have: what else is wrong with the statement is met before they are."""
    return Schema(tuple(replace(c, type=STRING) if c.type == VOID else c for c in schema.columns))
