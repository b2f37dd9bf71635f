"""Invariants and lengths of texts: what columns ask of the rows that are written (R-746, R-822)."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from mergecheck.merge.table.writing.checks import TOO_LONG, VIOLATED, table_checks
from mergecheck.merge.types.invariants import INVARIANT, invariants
from mergecheck.merge.types.text_limits import DECLARED_TYPE, has_char_inside, length_condition, padded_columns

OF_ONE = "(element_0 IS NULL OR length(element_0) <= 1)"


def invariant(name: str, text: str, *, nullable: bool = True) -> StructField:
    said = f'{{"expression": {{"expression": "{text}"}}}}'
    return StructField(name, IntegerType(), nullable=nullable, metadata={INVARIANT: said})


def test_invariants_of_columns_and_fields_are_found() -> None:
    """R-746: not constraints of NOT NULL columns, which are only searched for NULLs."""
    inner = StructType([invariant("x", "s.x > 1")])
    schema = StructType([invariant("a", "a > 0"), StructField("s", inner), invariant("b", "b > 2", nullable=False)])
    assert list(invariants(schema)) == ["a > 0", "s.x > 1"]


def test_checks_have_the_classes_of_their_errors() -> None:
    """R-746, R-822: an invariant fails as a CHECK does, a text that is too long by a class of its own."""
    text = StructField("v", StringType(), metadata={DECLARED_TYPE: "varchar(3)"})
    checks = table_checks({}, StructType([invariant("a", "a > 0"), text]))
    assert [(check.error_class, check.sql) for check in checks] == [
        (VIOLATED, "target_0 > 0"),
        (TOO_LONG, "(target_1 IS NULL OR length(target_1) <= 3)"),
    ]


@pytest.mark.parametrize(
    ("declared", "condition"),
    [
        ("char(2)", "(c IS NULL OR length(c) <= 2)"),
        ("struct<`a b`:varchar(4),n:int>", "(c.`a b` IS NULL OR length(c.`a b`) <= 4)"),
        ("array<varchar(1)>", f"(c IS NULL OR forall(c, element_0 -> {OF_ONE}))"),
        ("map<int,char(1)>", f"(map_values(c) IS NULL OR forall(map_values(c), element_0 -> {OF_ONE}))"),
        ("struct<n:int>", None),
    ],
)
def test_lengths_are_checked_at_every_depth(declared: str, condition: str | None) -> None:
    """R-822: also of elements, keys, values and fields."""
    assert length_condition({DECLARED_TYPE: declared}, "c") == condition


def test_only_char_is_padded() -> None:
    """R-822: Spark pads it where it reads a column; inside of columns it is refused."""
    declared = ("char(2)", "struct<a:char(3)>", "varchar(2)", "char(4)")
    fields = [StructField(f"c{i}", StringType(), metadata={DECLARED_TYPE: kind}) for i, kind in enumerate(declared)]
    schema = StructType([StructField("k", StringType()), *fields])
    assert padded_columns(schema, padding=True) == {1: 2, 4: 4}
    assert padded_columns(schema, padding=False) == {}
    assert [has_char_inside(field.metadata) for field in schema.fields] == [False, False, True, False, False]
