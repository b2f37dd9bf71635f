"""Give a parsed MERGE its meaning: names, validation, stars, aligned values (parts 1 and 2 of the specification).

The order of the steps is R-113's, because the first that fails decides the error.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.analysis.alignment import Aligner
from mergecheck.reference.analysis.assignments import Assigned, check_insert, check_update, generated_ids
from mergecheck.reference.analysis.row_values import RowValues
from mergecheck.reference.analysis.several_faults import Late, LateFaults
from mergecheck.reference.analysis.validation import check_condition, check_value
from mergecheck.reference.asked.asker import sides_of
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Action, Kind, name_parts
from mergecheck.reference.types.data_types import BOOLEAN, STRING, VOID, Schema, type_at
from mergecheck.reference.types.typed import Side, Typed, typed_null

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from mergecheck.reference.analysis.assignments import Left
    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.asked.asker import Asked, Asker
    from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
    from mergecheck.reference.syntax.statement import Clause, Statement

_TRUE = Typed(sql="TRUE", type=BOOLEAN)
_ALIGNED = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE, Kind.NOT_MATCHED)
"""The order in which Delta aligns the clauses (R-113); their names are resolved in the order of ``Kind``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConjunct:
    """A conjunct of a condition that uses no source column (R-421).

    Attributes:
        columns: positions of the target columns that it uses.
        constants: the values in it that use no column.
    """

    condition: Typed
    columns: frozenset[int]
    constants: tuple[Typed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause ready to evaluate.

    Attributes:
        condition: None if the clause has none.
        target_only: the condition's target-only conjuncts (R-421); empty if there are none.
        assigned: what the statement assigns, stars expanded; empty for DELETE.
        values: one per column of the final schema, over the rows of both sides and the row's own new values ``c<i>``;
            empty for DELETE.
        asked: the values among these that the other evaluator is asked for.
        is_target_only_known: whether ``target_only`` is complete.
        constants: parts of the values that use no column and may fail (R-257).
        generated_ids: positions of the identity columns that an INSERT leaves to the table (R-226).
    """

    kind: Kind
    action: Action
    condition: Typed | None
    target_only: tuple[TargetConjunct, ...]
    assigned: tuple[Assigned, ...]
    values: tuple[Typed, ...]
    asked: tuple[Asked, ...] = ()
    is_target_only_known: bool = True
    constants: tuple[Typed, ...] = ()
    generated_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A MERGE whose expressions are DuckDB SQL over the evaluation's tables.

    Attributes:
        constants: parts of the conditions that use no column and may fail (R-257).
        on_target_only: the conjuncts of ON that use the target only (R-420).
        on_is_equality: whether ON has a conjunct that equates a value of one table with one of the other, and none
            without columns, so that an executor can join by keys.
        final_schema: the table's columns after the merge (R-233).
        old: the row before the merge in the final schema, one value per column (R-241, R-610).
        stored: the same as readers show it, if its file is not rewritten.
        asked: the conditions that the other evaluator is asked for.
    """

    on: Typed
    constants: tuple[Typed, ...]
    on_target_only: tuple[TargetConjunct, ...]
    on_is_equality: bool
    clauses: tuple[ResolvedClause, ...]
    final_schema: Schema
    old: tuple[Typed, ...]
    stored: tuple[Typed, ...]
    asked: tuple[Asked, ...] = ()

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
        asker: asks for what has no translation.
    """

    names: ClauseNames
    subqueries: ScalarSubqueries
    clock: dt.datetime
    aligner: Aligner
    asker: Asker

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
            asker=self.asker,
        )
        translator = Translator(on_scope, clock=self.clock, is_search_condition=True)
        late = LateFaults()
        on = late.kept(
            lambda: self.asker.condition(statement.on, statement.on_text, translator), Late.NOT_BOOLEAN, instead=_TRUE
        )
        asked = list(self.asker.take())
        written = [self._clause(clause, left, asked, late) for clause, left in zip(ordered, lefts, strict=True)]
        places = sorted(range(len(ordered)), key=lambda place: _ALIGNED.index(ordered[place].kind))
        aligned = {place: self._aligned(written[place], lefts[place], values, late) for place in places}
        late.raise_first()
        clauses = tuple(aligned[place] for place in range(len(ordered)))
        resolved = Resolved(
            on=on,
            constants=(*translator.constants(statement.on), *self._constants_of_conditions(ordered)),
            on_target_only=_target_only(_written_conjuncts(statement.on), translator, asks=bool(asked))[0],
            on_is_equality=_is_equality(statement.on, translator, asks=bool(asked)),
            clauses=clauses,
            final_schema=final,
            old=old,
            stored=self._old_row(final, preserve_null_structs=True, as_read=False),
            asked=tuple(asked),
        )
        self.names.check_void(evolved)
        return resolved

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
        self, clause: Clause, lefts: tuple[Left, ...], asked_conditions: list[Asked], late: LateFaults
    ) -> ResolvedClause:
        """Resolve what a clause says, still without the values of columns; what is refused later is not assigned.

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
            )
            asked = self.asker.take()
            asked_conditions += asked
            if clause.kind is Kind.MATCHED and condition is not None:
                implied = _implied_conjuncts(given)
                target_only, is_known = _target_only(implied, conditions, asks=bool(asked))
        texts = iter(assignment.text for assignment in clause.assignments)
        assigned = tuple(
            Assigned(path=left.path, value=value, preserves=left.value is None and self.names.evolution)
            for left in lefts
            if (value := self._value(left, clause, texts, translator, late)) is not None
        )
        return ResolvedClause(
            kind=clause.kind,
            action=clause.action,
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
        self, left: Left, clause: Clause, texts: Iterator[str], translator: Translator, late: LateFaults
    ) -> Typed | None:
        """Translate what is assigned; None if it is refused later."""
        if (given := left.value) is None:
            return self.names.one_side(self.names.source, clause).resolve(left.path).typed()
        text = next(texts)

        def translated() -> Typed:
            check_value(given)
            return self.asker.value(given, text, translator)

        return late.kept(translated, Late.OPERATOR, instead=None)

    def _aligned(
        self, clause: ResolvedClause, lefts: tuple[Left, ...], values: RowValues, late: LateFaults
    ) -> ResolvedClause:
        """Check the columns that a clause assigns, and give each column its value."""
        case_sensitive = self.names.case_sensitive
        if clause.action is Action.UPDATE:
            check_update(lefts, values.schema, case_sensitive=case_sensitive)
        elif clause.action is Action.INSERT:
            check_insert(lefts, self.names.target.schema, case_sensitive=case_sensitive)
        assigned, asked = clause.assigned, clause.asked
        new = late.kept(lambda: _values(clause.action, assigned, values), Late.CAST, instead=())
        constants = late.kept(lambda: tuple(self._cast_constants(assigned, values.schema)), Late.CAST, instead=())
        return replace(
            clause,
            values=new,
            asked=(*asked, *self.asker.take()),
            constants=(*clause.constants, *constants),
            generated_ids=generated_ids(lefts, values.schema, case_sensitive=case_sensitive)
            if clause.action is Action.INSERT
            else frozenset(),
        )

    def _cast_constants(self, assigned: Sequence[Assigned], schema: Schema) -> Iterator[Typed]:
        """Cast the assigned values that use no column: the cast may fail, too."""
        for one in assigned:
            wanted = type_at(schema, one.path)
            if wanted is not None and not one.value.sides and not one.value.asked:
                yield self.aligner.align(one.value, wanted)

    def _constants_of_conditions(self, clauses: Sequence[Clause]) -> Iterator[Typed]:
        for clause in clauses:
            if clause.condition is not None:
                scope = self.names.scope(clause.kind, f"{clause.action.value.upper()} clause")
                yield from Translator(scope, clock=self.clock).constants(clause.condition)


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


def _is_equality(condition: exp.Expr, translator: Translator, *, asks: bool) -> bool:
    each = frozenset({Side.TARGET}), frozenset({Side.SOURCE})
    found = False
    for part in conjuncts(condition):
        if not _sides(part, translator, asks=asks):
            return False
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            sides = [_sides(operand, translator, asks=asks) for operand in (part.this, part.expression)]
            found = found or set(sides) == set(each)
    return found


def _sides(node: exp.Expr, translator: Translator, *, asks: bool) -> frozenset[Side]:
    return sides_of(node, translator.scope) if asks else translator.translate(node).sides


def _target_only(
    parts: Sequence[exp.Expr], translator: Translator, *, asks: bool
) -> tuple[tuple[TargetConjunct, ...], bool]:
    """Translate the conjuncts that use no source column: those without any column too (R-321).

    Args:
        parts: the conjuncts of a condition.
        translator: translates them.
        asks: whether the condition as a whole is asked for, so that a conjunct may have no translation.

    Returns:
        The conjuncts, and whether these are all.
    """
    found: list[TargetConjunct] = []
    is_known = True
    for part in parts:
        if asks and not sides_of(part, translator.scope) <= frozenset({Side.TARGET}):
            continue
        try:
            typed = translator.operand(part)
        except (UnsupportedByReferenceError, RejectedError):
            if not asks:
                raise
            is_known = False
        else:
            if typed.sides <= frozenset({Side.TARGET}):
                columns, constants = _columns(part, translator), _constants(part, translator)
                found.append(TargetConjunct(condition=typed, columns=columns, constants=constants))
    return tuple(found), is_known


def _columns(condition: exp.Expr, translator: Translator) -> frozenset[int]:
    found: set[int] = set()
    for column in condition.find_all(exp.Column):
        with suppress(RejectedError, UnsupportedByReferenceError):  # a variable of a lambda is no column
            found.add(translator.scope.column(name_parts(column))[1])
    return frozenset(found)


def _constants(condition: exp.Expr, translator: Translator) -> tuple[Typed, ...]:
    """Translate the numbers, texts and casts of a condition that use no column, as far as they are values."""
    found: list[Typed] = []
    for node in condition.find_all(exp.Literal, exp.Neg, exp.Cast):
        if node.find(exp.Column) is None:
            with suppress(RejectedError, UnsupportedByReferenceError):  # a part of an interval or of a type
                found.append(translator.translate(node))
    return tuple(found)


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
