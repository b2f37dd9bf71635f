"""Unit tests of the text that drawn statements become."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from mergecheck.strategies.syntax.expressions import (
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
)
from mergecheck.strategies.syntax.literals import literal, writable
from mergecheck.strategies.syntax.spark_sql import expression_text, statement_text
from mergecheck.strategies.syntax.statement import Action, Aliases, Assignment, Clause, ClauseKind, Statement

if TYPE_CHECKING:
    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.syntax.expressions import Expression

T_ID = Reference(side=MergeTable.TARGET, name="id")
S_ID = Reference(side=MergeTable.SOURCE, name="id")
ONE = Literal(1, INT)


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        (True, BOOLEAN, "TRUE"),
        (-5, INT, "-5"),
        (-(2**63), BIGINT, "CAST('-9223372036854775808' AS BIGINT)"),
        (7, TINYINT, "CAST(7 AS TINYINT)"),
        (float("nan"), DOUBLE, "CAST('NaN' AS DOUBLE)"),
        (float("-inf"), FLOAT, "CAST('-Infinity' AS FLOAT)"),
        (-0.0, DOUBLE, "CAST('-0.0' AS DOUBLE)"),
        (Decimal("-1.50"), DecimalType(10, 2), "CAST(-1.50 AS DECIMAL(10,2))"),
        ("it's a \\", STRING, "'it\\'s a \\\\'"),
        (b"\x00\xff", BINARY, "X'00FF'"),
        (date(1, 1, 1), DATE, "DATE '0001-01-01'"),
        (datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC), TIMESTAMP, "TIMESTAMP '2020-01-01 00:00:00.000001+00:00'"),
        (datetime(2020, 1, 1), TIMESTAMP_NTZ, "TIMESTAMP_NTZ '2020-01-01 00:00:00'"),  # noqa: DTZ001 - NTZ has no zone
        (None, STRING, "CAST(NULL AS STRING)"),
        (None, None, "NULL"),
    ],
)
def test_literals_are_typed_and_escaped(value: Value, data_type: DataType | None, expected: str) -> None:
    """Every constant reads as exactly its typed value."""
    assert literal(value, data_type) == expected


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        ((1, None), ArrayType(INT), "CAST(array(1, CAST(NULL AS INT)) AS ARRAY<INT>)"),
        ((("a", 1),), MapType(STRING, INT), "CAST(map('a', 1) AS MAP<STRING, INT>)"),
        (
            (1, (2,)),
            StructType((Field("a", INT), Field("b'", ArrayType(INT)))),
            "CAST(named_struct('a', 1, 'b\\'', CAST(array(2) AS ARRAY<INT>)) AS STRUCT<a: INT, `b'`: ARRAY<INT>>)",
        ),
    ],
)
def test_nested_constants_have_the_type_of_their_column(value: object, data_type: DataType, expected: str) -> None:
    """By the cast, members may be NULL."""
    assert literal(value, data_type) == expected


def test_values_that_text_cannot_carry_are_not_writable() -> None:
    """NUL and Spark's variable substitution never reach SQL text; an array without members has no type."""
    assert [writable(value) for value in ((), (1, "${x}"), (("a", 1),))] == [False, False, True]
    assert [writable(value) for value in ("a", "a\0", "${x}", "$x", b"\0", 1)] == [True, False, False, True, True, True]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Comparison(Operator.NULL_SAFE_EQUAL, T_ID, S_ID), "t.id <=> s.id"),
        (
            Not(And(Or(TRUE, UNKNOWN), IsNull(operand=T_ID))),
            "NOT ((TRUE OR CAST(NULL AS BOOLEAN)) AND (t.id IS NULL))",
        ),
        (Comparison(Operator.EQUAL, T_ID, Sum(left=S_ID, right=ONE, minus=True)), "t.id = (s.id - 1)"),
        (In(T_ID, (ONE, Literal(None, INT))), "t.id IN (1, CAST(NULL AS INT))"),
        (Between(T_ID, ONE, S_ID), "t.id BETWEEN 1 AND s.id"),
        (CaseWhen(TRUE, T_ID, NULL), "CASE WHEN TRUE THEN t.id ELSE NULL END"),
        (Coalesce(Cast(T_ID, BIGINT), ONE), "COALESCE(CAST(t.id AS BIGINT), 1)"),
        (FieldAccess(Reference(side=MergeTable.SOURCE, name="a.b"), "x", 0), "s.`a.b`.x"),
        (FieldAccess(FieldAccess(T_ID, "b", 0), "two words", 1), "t.id.b.`two words`"),
        (
            NamedStruct(("a", "it's"), (ONE, Literal(None, STRING))),
            "NAMED_STRUCT('a', 1, 'it\\'s', CAST(NULL AS STRING))",
        ),
        (And(TRUE, Verbatim("(RAND() < 2)")), "TRUE AND ((RAND() < 2))"),
        (ArrayCall("array_distinct", (S_ID,)), "array_distinct(s.id)"),
        (ArrayCall("array_remove", (S_ID, ONE)), "array_remove(s.id, 1)"),
        (Reference(side=MergeTable.SOURCE, name="back`tick", qualified=False), "`back``tick`"),
        (IsNull(operand=S_ID, negated=True), "s.id IS NOT NULL"),
    ],
)
def test_expressions_keep_their_structure(expression: Expression, expected: str) -> None:
    """Parentheses stand wherever precedence could regroup an expression."""
    assert expression_text(expression, Aliases()) == expected


def test_statement_with_every_clause() -> None:
    """One statement shows the order and the spelling of all parts."""
    set_v = Assignment(column="order", value=NULL, qualified=True)
    statement = Statement(
        condition=Comparison(Operator.EQUAL, T_ID, S_ID),
        clauses=(
            Clause(kind=ClauseKind.MATCHED, action=Action.UPDATE, condition=TRUE, star=True),
            Clause(kind=ClauseKind.MATCHED, action=Action.DELETE),
            Clause(
                kind=ClauseKind.NOT_MATCHED,
                action=Action.INSERT,
                assignments=(Assignment(column="id", value=S_ID), Assignment(column="two words", value=ONE)),
            ),
            Clause(kind=ClauseKind.NOT_MATCHED_BY_SOURCE, action=Action.UPDATE, assignments=(set_v,)),
        ),
    )
    assert statement_text(statement) == (
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND TRUE THEN UPDATE SET * "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, `two words`) VALUES (s.id, 1) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.`order` = NULL"
    )


def test_statement_with_evolution_a_query_and_nested_paths() -> None:
    """The words before INTO, the query in parentheses, paths and qualifiers on the left side (R-212, R-231)."""
    update = (
        Assignment(column="n", path=("a", "two words"), value=ONE, qualified=True),
        Assignment(column="extra", value=ONE, by_source=True),
    )
    statement = Statement(
        condition=TRUE,
        clauses=(Clause(kind=ClauseKind.MATCHED, action=Action.UPDATE, assignments=update),),
        source_query="SELECT * FROM source",
        with_schema_evolution=True,
    )
    assert statement_text(statement) == (
        "MERGE WITH SCHEMA EVOLUTION INTO target t USING (SELECT * FROM source) s ON TRUE "
        "WHEN MATCHED THEN UPDATE SET t.n.a.`two words` = 1, s.extra = 1"
    )


@pytest.mark.parametrize(
    ("aliases", "self_merge", "expected"),
    [
        (Aliases(target=None, source=None), False, "MERGE INTO target USING source ON target.id = source.id"),
        (Aliases(with_as=True), False, "MERGE INTO target AS t USING source AS s ON t.id = s.id"),
        (Aliases(), True, "MERGE INTO target t USING target s ON t.id = s.id"),
    ],
)
def test_tables_are_named_as_the_aliases_say(aliases: Aliases, self_merge: bool, expected: str) -> None:  # noqa: FBT001 - a column of the table above
    """Without an alias the table's name qualifies; a self-merge names the target twice (R-810)."""
    statement = Statement(
        condition=Comparison(Operator.EQUAL, T_ID, S_ID),
        clauses=(Clause(kind=ClauseKind.MATCHED, action=Action.DELETE),),
        aliases=aliases,
        self_merge=self_merge,
    )
    assert statement_text(statement) == f"{expected} WHEN MATCHED THEN DELETE"


@pytest.mark.parametrize(
    ("kind", "action", "star"),
    [
        (ClauseKind.MATCHED, Action.INSERT, True),
        (ClauseKind.NOT_MATCHED, Action.DELETE, False),
        (ClauseKind.NOT_MATCHED_BY_SOURCE, Action.UPDATE, True),
        (ClauseKind.MATCHED, Action.UPDATE, False),
        (ClauseKind.MATCHED, Action.DELETE, True),
    ],
)
def test_clauses_outside_the_grammar_are_refused(kind: ClauseKind, action: Action, star: bool) -> None:  # noqa: FBT001 - a column of the table above
    """A clause that SQL cannot express cannot be built (R-005, R-101)."""
    with pytest.raises(ValueError, match=r"clause|need"):
        Clause(kind=kind, action=action, star=star)
