"""What may be NULL inside a value and not inside its column (R-741)."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, MapType, StringType, StructField, StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.nullability import demands_values_inside, refuse_narrowing
from mergecheck.merge.types.struct_fields import FieldRule

INT = IntegerType()


def struct(*, nullable: bool, kind: DataType = INT, name: str = "a") -> StructType:
    return StructType([StructField(name, kind, nullable=nullable), StructField("b", INT)])


LOOSE, STRICT = struct(nullable=True), struct(nullable=False)
NARROWED = (
    (LOOSE, STRICT),
    (struct(nullable=True, name="A"), STRICT),
    (ArrayType(LOOSE), ArrayType(STRICT)),
    (ArrayType(INT, containsNull=True), ArrayType(INT, containsNull=False)),
    (MapType(StringType(), LOOSE), MapType(StringType(), STRICT)),
    (MapType(StringType(), INT, valueContainsNull=True), MapType(StringType(), INT, valueContainsNull=False)),
    (struct(nullable=True, kind=LOOSE), struct(nullable=True, kind=STRICT)),
    # the outer one is rebuilt, its members are cast as a whole
    (StructType([StructField("n", LOOSE), StructField("b", LongType())]), struct(nullable=True, kind=STRICT, name="n")),
)


@pytest.mark.parametrize(("source", "target"), NARROWED, ids=lambda kind: kind.simpleString())
def test_what_may_be_null_is_refused_where_the_column_may_not(source: DataType, target: DataType) -> None:
    """At any depth, where the types are equal otherwise."""
    with pytest.raises(AnalysisError, match="may be NULL") as raised:
        refuse_narrowing(source, target, FieldRule.BY_NAME, strict=False)
    assert raised.value.error_class == "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"
    refuse_narrowing(target, target, FieldRule.BY_NAME, strict=False)


@pytest.mark.parametrize(
    "source",
    [
        STRICT,
        struct(nullable=True, kind=LongType()),
        StructType([StructField("b", INT), StructField("a", INT)]),
        StringType(),
    ],
    ids=lambda kind: kind.simpleString(),
)
def test_what_is_rebuilt_or_never_null_passes(source: DataType) -> None:
    """Another type or order of the fields loses the type's NOT NULL, as in Delta Lake."""
    refuse_narrowing(source, STRICT, FieldRule.BY_NAME, strict=False)


def test_a_schema_that_demands_values_inside_its_columns() -> None:
    """NOT NULL of a column itself does not count: readers keep that."""
    outside = StructType([StructField("id", INT, nullable=False), StructField("s", LOOSE, nullable=False)])
    assert not demands_values_inside(outside)
    for _, target in NARROWED:
        assert demands_values_inside(StructType([StructField("s", target)]))
