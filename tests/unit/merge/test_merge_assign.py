"""A value brought to its column's type: by which SQL, evaluated how often, and the known facts of the cast."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from mergecheck.merge.conf import MergeConf, StoreAssignmentPolicy
from mergecheck.merge.types.assign import Assigned, Casting, assign
from mergecheck.merge.types.struct_fields import FieldRule

INT, LONG, TEXT, DATE, VOID = IntegerType(), LongType(), StringType(), DateType(), NullType()


def record(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


GIVEN, WANTED = record(a=INT, b=INT), record(b=INT, a=INT)
MOVED = "named_struct('b', {0}.`b`, 'a', {0}.`a`)"
BY_NAME = Casting(conf=MergeConf(), fields=FieldRule.BY_NAME)


def assigned(source: DataType, target: DataType, casting: Casting = BY_NAME, *, repeatable: bool = False) -> Assigned:
    return assign("f(x)", source, target, casting, repeatable=repeatable)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (INT, INT, "f(x)"),
        (INT, LONG, "CAST((f(x)) AS BIGINT)"),
        (record(A=INT), record(a=INT), "CAST((f(x)) AS STRUCT<`a`: INT>)"),
        (ArrayType(INT), ArrayType(LONG), "CAST((f(x)) AS ARRAY<BIGINT>)"),
        (
            MapType(INT, MapType(INT, INT)),
            MapType(LONG, MapType(LONG, LONG)),
            "CAST((f(x)) AS MAP<BIGINT, MAP<BIGINT, BIGINT>>)",
        ),
    ],
)
def test_one_cast_does_where_nothing_is_rebuilt(source: DataType, target: DataType, expected: str) -> None:
    """R-245: NULL stays NULL by itself then."""
    assert assigned(source, target).sql == expected


@pytest.mark.parametrize("policy", list(StoreAssignmentPolicy))
def test_other_letters_alone_rebuild_nothing(policy: StoreAssignmentPolicy) -> None:
    """Fields that differ in case are the same, under policies that look at every leaf too."""
    casting = Casting(conf=MergeConf(store_assignment_policy=policy), fields=FieldRule.BY_NAME)
    assert assigned(record(A=INT), record(a=INT), casting).sql == "CAST((f(x)) AS STRUCT<`a`: INT>)"


def test_a_struct_is_rebuilt_by_name_around_one_evaluation() -> None:
    """R-242: the text names the value several times, so a value that is no column is given a name first."""
    moved = MOVED.format("assigned")
    assert assigned(GIVEN, WANTED).sql == f"transform(array(f(x)), assigned -> IF(assigned IS NULL, NULL, {moved}))[0]"
    assert assigned(GIVEN, WANTED, repeatable=True).sql == f"IF(f(x) IS NULL, NULL, {MOVED.format('f(x)')})"


def test_elements_keys_and_values_are_converted_under_names_of_their_own() -> None:
    """An inner lambda does not hide a name of an outer one; a part that has its type already is left alone."""
    deep = assigned(ArrayType(ArrayType(ArrayType(GIVEN))), ArrayType(ArrayType(ArrayType(WANTED)))).sql
    inner = f"element_2 -> IF(element_2 IS NULL, NULL, {MOVED.format('element_2')})"
    assert deep == (f"transform((f(x)), element_0 -> transform(element_0, element_1 -> transform(element_1, {inner})))")
    both = assigned(MapType(INT, GIVEN), MapType(LONG, WANTED)).sql
    value = f"(key_0, value_0) -> IF(value_0 IS NULL, NULL, {MOVED.format('value_0')})"
    assert both == (f"transform_values(transform_keys((f(x)), (key_0, value_0) -> CAST(key_0 AS BIGINT)), {value})")
    nested = assigned(
        MapType(INT, MapType(INT, MapType(INT, GIVEN))), MapType(INT, MapType(INT, MapType(INT, WANTED)))
    ).sql
    assert [f"(key_{depth}, value_{depth}) ->" in nested for depth in range(4)] == [True, True, True, False]
    keys = assigned(
        MapType(MapType(MapType(GIVEN, INT), INT), INT), MapType(MapType(MapType(WANTED, INT), INT), INT)
    ).sql
    assert [f"(key_{depth}, value_{depth}) ->" in keys for depth in range(4)] == [True, True, True, False]


def test_a_map_is_no_array() -> None:
    """The kinds of both sides decide; Spark refuses what there is no cast for."""
    assert assigned(MapType(INT, GIVEN), ArrayType(WANTED)).sql.startswith("CAST(")
    assert assigned(ArrayType(GIVEN), MapType(INT, WANTED)).sql.startswith("CAST(")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (LONG, INT, True),
        (VOID, INT, True),
        (DATE, INT, False),
        (record(a=LONG, b=INT), WANTED, True),
        (record(a=LONG, b=DATE), WANTED, False),
        (ArrayType(LONG), ArrayType(INT), True),
        (ArrayType(DATE), ArrayType(INT), False),
        (MapType(LONG, LONG), MapType(INT, INT), True),
        (MapType(DATE, LONG), MapType(INT, INT), False),
        (MapType(LONG, DATE), MapType(INT, INT), False),
        (MapType(INT, INT), ArrayType(INT), False),
        (ArrayType(INT), INT, False),
    ],
)
def test_a_cast_that_surely_exists_needs_no_question(source: DataType, target: DataType, *, expected: bool) -> None:
    """Where a part of a value may have no cast to its type, Spark's analyser is asked (R-251)."""
    assert assigned(source, target).certain is expected


def test_null_structs_become_structs_of_null_where_they_are_not_kept() -> None:
    """R-244, by the setting."""
    casting = Casting(conf=MergeConf(), fields=FieldRule.BY_NAME, keep_null_structs=False)
    assert assigned(GIVEN, WANTED, casting, repeatable=True).sql == MOVED.format("f(x)")
    longer = assigned(GIVEN, record(a=LONG, b=INT), casting, repeatable=True).sql
    assert longer == "named_struct('a', CAST(f(x).`a` AS BIGINT), 'b', f(x).`b`)"


def test_a_conversion_that_names_its_value_twice_evaluates_it_once() -> None:
    """The LEGACY policy's conversions of numbers look at a value before they take it (R-251)."""
    legacy = Casting(conf=MergeConf(store_assignment_policy=StoreAssignmentPolicy.LEGACY), fields=FieldRule.BY_NAME)
    twice = assigned(TEXT, INT, legacy).sql
    assert twice.count("f(x)") == 1
    assert assigned(ArrayType(TEXT), ArrayType(INT), legacy).sql.startswith("transform((f(x)), element_0 -> ")
