"""Unit tests of the three-valued evaluation that steers the drawing."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.types.data_types import INT, STRING
from mergecheck.strategies.statement.matches import disambiguated, is_multi_matched, match_matrix
from mergecheck.strategies.syntax.columns import Column, Schemas
from mergecheck.strategies.syntax.expressions import (
    FALSE,
    NULL,
    TRUE,
    UNKNOWN,
    And,
    ArrayCall,
    Between,
    CaseWhen,
    Cast,
    Coalesce,
    Comparison,
    FieldAccess,
    In,
    IsNull,
    Literal,
    MergeTable,
    NamedStruct,
    Not,
    Operator,
    Or,
    Reference,
    Sum,
    Verbatim,
    nodes,
)
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.rows import Tables

if TYPE_CHECKING:
    from mergecheck.strategies.syntax.expressions import Expression

ID = (Column(name="id", type=INT),)
T_ID = Reference(side=MergeTable.TARGET, name="ID")
S_ID = Reference(side=MergeTable.SOURCE, name="id")
NAN = Literal(math.nan, None)
PAIR = Literal((1, None), None)


def number(value: int | None) -> Literal:
    return Literal(value, INT)


def struct_of(reference: Reference, position: int) -> FieldAccess:
    return FieldAccess(reference, "a", position)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (And(TRUE, UNKNOWN), None),
        (And(FALSE, UNKNOWN), False),
        (Or(TRUE, UNKNOWN), True),
        (Or(FALSE, UNKNOWN), None),
        (Not(UNKNOWN), None),
        (Not(FALSE), True),
        (Comparison(Operator.EQUAL, NULL, NULL), None),
        (Comparison(Operator.NULL_SAFE_EQUAL, NULL, NULL), True),
        (Comparison(Operator.NULL_SAFE_EQUAL, number(1), NULL), False),
        (Comparison(Operator.EQUAL, NAN, NAN), True),
        (Comparison(Operator.GREATER, NAN, Literal(math.inf, None)), True),
        (Comparison(Operator.NOT_EQUAL, Literal(-0.0, None), Literal(0.0, None)), False),
        (In(number(1), (number(2), NULL)), None),
        (In(number(1), (NULL, number(1))), True),
        (Between(number(2), number(1), NULL), None),
        (Between(number(0), number(1), NULL), False),
        (IsNull(operand=NULL), True),
        (IsNull(operand=number(1), negated=True), True),
        (Coalesce(UNKNOWN, TRUE), True),
        (CaseWhen(UNKNOWN, TRUE, FALSE), False),
        (Comparison(Operator.EQUAL, Sum(left=T_ID, right=S_ID, minus=True), number(-1)), True),
        (Comparison(Operator.EQUAL, Cast(Sum(left=T_ID, right=S_ID), INT), number(3)), True),
        (Sum(left=T_ID, right=NULL), None),
        # a struct of NULLs is not NULL, and its NULL fields equal others
        (IsNull(operand=NamedStruct(("a",), (NULL,))), False),
        (Comparison(Operator.EQUAL, NamedStruct(("a", "b"), (number(1), NULL)), PAIR), True),
        (Comparison(Operator.EQUAL, Cast(T_ID, STRING), Literal("1", STRING)), True),
        (Verbatim("rand() < 2"), None),
        (ArrayCall("array_distinct", (T_ID,)), None),
        (Verbatim("now() > DATE '2001-01-01'", value=True), True),
    ],
)
def test_nulls_and_nan_come_out_as_in_spark(expression: Expression, expected: object) -> None:
    """Kleene's logic, NaN equal to itself and greatest, -0.0 equal to 0.0 (R-301, R-801, R-802)."""
    result = evaluator(expression, places(ID, ID))((1,), (2,))
    assert result is expected


def test_a_text_beside_a_number_or_a_date_is_read_as_one() -> None:
    """10 is more than '9' (R-312); as texts it would be less."""
    found = places(ID, ID)
    less = Comparison(Operator.LESS, T_ID, Cast(S_ID, STRING))
    assert evaluator(less, found)((10,), (9,)) is False
    assert evaluator(less, found)((9,), (10,)) is True
    assert evaluator(less, found)((dt.date(2020, 1, 1),), (dt.date(2021, 1, 1),)) is True


def test_a_field_of_a_null_struct_is_null() -> None:
    """Access into a NULL struct is NULL; into a struct it is the field."""
    access = struct_of(S_ID, 1)
    holds = evaluator(access, places(ID, ID))
    assert [holds((), (row,)) for row in (None, (1, 2))] == [None, 2]


def test_nodes_walks_through_every_part() -> None:
    """Options of IN and both branches of CASE are visited."""
    walked = list(nodes(CaseWhen(In(T_ID, (S_ID, NULL)), TRUE, FALSE)))
    assert {T_ID, S_ID, NULL, TRUE, FALSE} <= set(walked)
    assert len(walked) == 7


SCHEMAS = Schemas(target=ID, source=ID, keys=(("id", "id"),), namesakes=(("id", "id"),))
EQUAL = Comparison(Operator.EQUAL, T_ID, S_ID)


def test_only_rows_that_make_a_match_ambiguous_are_dropped() -> None:
    """Duplicates stay among source rows that match nothing; the first of the matching ones stays (R-320)."""
    tables = Tables(files=(((1,), (2,)),), source=((1,), (9,), (9,), (1,), (None,), (2,)))
    kept = disambiguated(EQUAL, SCHEMAS, tables)
    assert kept.source == ((1,), (9,), (9,), (None,), (2,))
    assert kept.files == tables.files
    assert not is_multi_matched(match_matrix(EQUAL, SCHEMAS, kept.target, kept.source))


def test_a_self_merge_loses_target_rows_instead() -> None:
    """A table merged into itself becomes unambiguous by losing repeated rows; no empty file is left."""
    itself = Schemas(target=ID, source=ID, keys=(("id", "id"),), namesakes=(("id", "id"),), self_merge=True)
    tables = Tables(files=(((1,), (2,)), ((1,),), ((3,), (2,))), source=())
    assert disambiguated(EQUAL, itself, tables).files == (((1,), (2,)), ((3,),))
