"""Conditions over nested columns: a field compared with a constant, a whole struct or array under ``=`` (R-806)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.scopes import Candidate, draw_constant, draw_reference
from mergecheck.strategies.syntax.columns import Column
from mergecheck.strategies.syntax.expressions import Comparison, IsNull, Literal, NamedStruct, Operator
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.table.nested import comparable, fields_below

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Value
    from mergecheck.strategies.expression.scopes import Scope
    from mergecheck.strategies.syntax.expressions import Expression

_EQUALITIES = st.sampled_from((Operator.EQUAL, Operator.NULL_SAFE_EQUAL, Operator.NOT_EQUAL))


def structs(scope: Scope) -> tuple[Candidate, ...]:
    """Return the struct columns of a scope."""
    return tuple(candidate for candidate in scope.candidates if isinstance(candidate.column.type, StructType))


def equatable(scope: Scope) -> tuple[Candidate, ...]:
    """Return the nested columns of a scope that ``=`` takes (R-807)."""
    return tuple(found for found in scope.candidates if found.column.nested and comparable(found.column.type))


def compare_field(draw: DrawFn, scope: Scope, operators: SearchStrategy[Operator]) -> Expression:
    """Draw a test of one field of a struct column."""
    candidate = draw(st.sampled_from(structs(scope)))
    # always qualified: an unqualified ``column.field`` could be read as ``alias.column``
    base = draw_reference(draw, replace(scope, features=frozenset()), candidate)
    leaf = draw(st.sampled_from(tuple(fields_below(base, candidate.column.type))))
    stand_in = Column(name=leaf.path[-1], type=leaf.type)
    if stand_in.nested or chance(draw, 30):
        return IsNull(operand=leaf.access, negated=draw(st.booleans()))
    field = Candidate(side=candidate.side, column=stand_in, cells=tuple(map(leaf.value, candidate.observed)))
    return Comparison(draw(operators), leaf.access, draw_constant(draw, scope, field))


def compare_nested(draw: DrawFn, scope: Scope) -> Expression:
    """Draw an equality of two struct or array columns, or of a struct column and a constant."""
    candidate = draw(st.sampled_from(equatable(scope)))
    column = candidate.column
    reference = draw_reference(draw, scope, candidate)
    constant = _constant(draw, candidate)
    if constant is not None and chance(draw, 35):
        return Comparison(draw(_EQUALITIES), reference, constant)
    alike = [other for other in equatable(scope) if other.column.type == column.type]
    across = [other for other in alike if other.side is not candidate.side]
    other = draw_reference(draw, scope, draw(st.sampled_from(across or alike)))
    return Comparison(draw(_EQUALITIES), reference, other)


def _constant(draw: DrawFn, candidate: Candidate) -> Expression | None:
    """Draw a value of the struct column or a struct of NULLs, as ``NAMED_STRUCT``; None for an array."""
    struct = candidate.column.type
    if not isinstance(struct, StructType):
        return None
    nulls = (None,) * len(struct.fields)
    usable = [value for value in candidate.observed if struct_constant(value, struct) is not None]
    return struct_constant(draw(st.sampled_from((*usable, nulls))), struct)


def struct_constant(value: Value, struct: StructType) -> NamedStruct | None:
    """Return a struct value as an expression; None if a field has no literal."""
    parts: list[Expression] = []
    for cell, field in zip(value, struct.fields, strict=True):
        if isinstance(field.type, StructType):
            inner = struct_constant(cell if cell is not None else (None,) * len(field.type.fields), field.type)
            if inner is None:
                return None
            parts.append(inner)
        elif Column(name=field.name, type=field.type).nested or not writable(cell):
            return None
        else:
            parts.append(Literal(cell, field.type))
    return NamedStruct(tuple(field.name for field in struct.fields), tuple(parts))
