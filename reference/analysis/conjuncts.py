"""The conjuncts of a condition: which speak of the target alone, and whether rows can be joined by one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import INTEGER_BITS
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.analysis.resolved import JoinKey, TargetConjunct
from mergecheck.reference.asked.asker import sides_of
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.expressions.translation import Translator


def is_equality(condition: exp.Expr, translator: Translator, *, asks: bool) -> bool:
    """Return whether ON equates values of the two tables, and has no conjunct without columns."""
    each = frozenset({TableSide.TARGET}), frozenset({TableSide.SOURCE})
    found = False
    for part in conjuncts(condition):
        if not _sides(part, translator, asks=asks):
            return False
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            sides = [_sides(operand, translator, asks=asks) for operand in (part.this, part.expression)]
            found = found or set(sides) == set(each)
    return found


def may_fail(condition: exp.Expr, translator: Translator) -> bool:
    """Return whether a condition that is asked for can fail on some row: also if it has no translation."""
    try:
        return translator.translate(condition).partial
    except (UnsupportedByReferenceError, RejectedError):
        return True


def sole_keys(condition: exp.Expr, translator: Translator) -> tuple[Typed, ...]:
    """Translate the operands if ON is one equality of a column of each table, or of casts of columns; else none."""
    (part, *others) = conjuncts(condition)
    if others or not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return ()
    if not all(_is_column_or_cast(operand) for operand in (part.this, part.expression)):
        return ()
    found = [translator.translate(operand) for operand in (part.this, part.expression)]
    wanted = {frozenset({TableSide.TARGET}), frozenset({TableSide.SOURCE})}
    return tuple(found) if {one.sides for one in found} == wanted else ()


def integer_keys(condition: exp.Expr, translator: Translator) -> tuple[JoinKey, ...]:
    """Give the integer columns, of one type and one of each table, that conjuncts of ON equate."""
    found = []
    for part in conjuncts(condition):
        if not isinstance(part, exp.EQ) or not (is_name(part.this) and is_name(part.expression)):
            continue
        by_side = {one.sides: one for one in map(translator.translate, (part.this, part.expression))}
        target, source = (by_side.get(frozenset({side})) for side in (TableSide.TARGET, TableSide.SOURCE))
        if target is not None and source is not None and target.type == source.type and target.type in INTEGER_BITS:
            found.append(JoinKey(target=target, source=source))
    return tuple(found)


def _is_column_or_cast(node: exp.Expr) -> bool:
    bare = node.unnest()
    return is_name(bare.this.unnest() if isinstance(bare, exp.Cast) else bare)


def _sides(node: exp.Expr, translator: Translator, *, asks: bool) -> frozenset[TableSide]:
    return sides_of(node, translator.scope) if asks else translator.translate(node).sides


def target_only_conjuncts(
    parts: Iterable[exp.Expr], translator: Translator, *, asks: bool
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
        if asks and not sides_of(part, translator.scope) <= frozenset({TableSide.TARGET}):
            continue
        try:
            typed = translator.operand(part)
        except (UnsupportedByReferenceError, RejectedError):
            if not asks:
                raise
            is_known = False
        else:
            if typed.sides <= frozenset({TableSide.TARGET}):
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


def implied_conjuncts(condition: exp.Expr, *, negated: bool = False) -> list[exp.Expr]:
    """Give the conjuncts of a clause condition as Spark's optimizer writes it (R-421).

    NOT is pushed into AND and OR. A conjunct that both sides of an OR have is a conjunct of the whole, too.
    """
    inner = condition.unnest()
    if isinstance(inner, exp.Not):
        return implied_conjuncts(inner.this, negated=not negated)
    whole = [exp.Not(this=exp.Paren(this=inner.copy())) if negated else inner]
    if not isinstance(inner, exp.And | exp.Or):
        return whole
    left, right = (implied_conjuncts(side, negated=negated) for side in (inner.this, inner.expression))
    if isinstance(inner, exp.Or) == negated:
        return left + right
    return [part for part in left if part in right] + whole
