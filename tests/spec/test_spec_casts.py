"""Which casts lose nothing, exist surely and name their operand once, held against Spark's own answers (R-251)."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.sql import types as t

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge.conf import MergeConf, StoreAssignmentPolicy
from mergecheck.merge.types.casts import can_up_cast, cast_leaf, casts_once, casts_plainly, surely_castable
from mergecheck.merge.types.struct_fields import FieldRule, same_layout

ANSI, LEGACY, STRICT = StoreAssignmentPolicy.ANSI, StoreAssignmentPolicy.LEGACY, StoreAssignmentPolicy.STRICT
DECIMALS = tuple(
    t.DecimalType(*digits) for digits in ((2, 0), (3, 0), (4, 2), (5, 0), (5, 2), (9, 0), (10, 0), (10, 2), (12, 2))
)
LONG_DECIMALS = tuple(t.DecimalType(*digits) for digits in ((19, 0), (20, 0), (22, 2), (38, 0), (38, 18)))
TYPES: tuple[t.DataType, ...] = (
    *(t.ByteType(), t.ShortType(), t.IntegerType(), t.LongType(), t.FloatType(), t.DoubleType()),
    *(t.StringType(), t.BinaryType(), t.BooleanType()),
    *(t.DateType(), t.TimestampType(), t.TimestampNTZType()),
    *DECIMALS,
    *LONG_DECIMALS,
)


class SparkRules:
    """Spark's own object ``Cast``, asked about types of Python's."""

    def __init__(self) -> None:
        java = start_session()._jvm
        assert java is not None
        self._rules = java.org.apache.spark.sql.catalyst.expressions.Cast
        self._types = {kind: java.org.apache.spark.sql.types.DataType.fromDDL(kind.simpleString()) for kind in TYPES}

    def say(self, question: str, source: t.DataType, target: t.DataType) -> bool:
        return bool(getattr(self._rules, question)(self._types[source], self._types[target]))


@pytest.fixture(scope="module")
def spark_rules() -> SparkRules:
    return SparkRules()


@pytest.mark.spark
def test_up_casts_are_sparks(spark_rules: SparkRules) -> None:
    """Every pair of atomic types, decimals on both sides of every limit."""
    wrong = [
        (source.simpleString(), target.simpleString())
        for source, target in product(TYPES, TYPES)
        if can_up_cast(source, target) != spark_rules.say("canUpCast", source, target)
    ]
    assert wrong == []
    assert all(can_up_cast(t.NullType(), kind) for kind in TYPES)


@pytest.mark.spark
def test_casts_that_surely_exist_do(spark_rules: SparkRules) -> None:
    """The casts known without Spark exist with ANSI mode and without it."""
    known = [(source, target) for source, target in product(TYPES, TYPES) if surely_castable(source, target)]
    assert (t.StringType(), t.DateType()) in known
    assert (t.DateType(), t.StringType()) in known
    assert (t.DoubleType(), t.ByteType()) in known
    assert (t.DateType(), t.IntegerType()) not in known
    assert surely_castable(t.NullType(), t.DateType())
    assert not surely_castable(t.StringType(), t.ArrayType(t.StringType()))
    assert not surely_castable(t.ArrayType(t.StringType()), t.StringType())
    assert not surely_castable(t.IntegerType(), t.BooleanType())
    for source, target in known:
        assert spark_rules.say("canCast", source, target), (source, target)
        assert spark_rules.say("canAnsiCast", source, target), (source, target)


@pytest.mark.parametrize(
    ("policy", "ansi_enabled", "follows", "expected"),
    [
        (ANSI, True, False, True),
        (ANSI, False, False, False),
        (LEGACY, True, False, False),
        (LEGACY, False, False, True),
        (STRICT, True, False, False),
        (STRICT, False, False, False),
        (ANSI, False, True, True),
        (STRICT, True, True, True),
    ],
)
def test_the_sessions_cast_is_that_of_the_policy_or_not(
    policy: StoreAssignmentPolicy, *, ansi_enabled: bool, follows: bool, expected: bool
) -> None:
    conf = MergeConf(store_assignment_policy=policy, ansi_enabled=ansi_enabled, casting_follows_ansi_flag=follows)
    assert casts_plainly(conf) is expected


@pytest.mark.parametrize("ansi_enabled", [True, False])
@pytest.mark.parametrize("policy", list(StoreAssignmentPolicy))
def test_operands_are_named_once_where_it_says_so(policy: StoreAssignmentPolicy, *, ansi_enabled: bool) -> None:
    """``casts_once`` speaks of the text that ``cast_leaf`` writes, also for decimals of a high scale as texts."""
    conf = MergeConf(store_assignment_policy=policy, ansi_enabled=ansi_enabled)
    pairs = [(source, target) for source, target in product(TYPES, TYPES) if can_up_cast(source, target)]
    if policy is not STRICT:
        pairs += [(t.StringType(), t.IntegerType()), (t.LongType(), t.ByteType()), (t.DoubleType(), t.LongType())]
    for source, target in pairs:
        written = cast_leaf("<value>", source, target, conf).count("<value>")
        assert casts_once(source, target, conf) <= (written == 1), (source, target)
    twice = casts_once(t.LongType(), t.ByteType(), conf)
    assert twice is (policy is STRICT or casts_plainly(conf))
    assert casts_once(t.IntegerType(), t.LongType(), conf)
    assert casts_once(t.DecimalType(38, 18), t.StringType(), conf) is twice


def record(**fields: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (record(a=t.LongType(), b=t.LongType()), record(a=t.LongType(), b=t.StringType()), True),
        (record(a=t.LongType(), b=t.LongType()), record(b=t.LongType(), a=t.LongType()), False),
        (record(a=t.LongType()), record(a=t.LongType(), b=t.LongType()), False),
        (record(a=record(x=t.LongType(), y=t.LongType())), record(a=record(y=t.LongType(), x=t.LongType())), False),
    ],
)
def test_a_cast_by_position_fits_where_fields_lie_alike(
    source: t.StructType, target: t.StructType, *, expected: bool
) -> None:
    """At every depth, in elements, keys and values as well (R-242, R-245)."""
    rule, text = FieldRule.BY_NAME_WITH_NULLS, t.StringType()
    assert same_layout(source, target, rule) is expected
    assert same_layout(t.ArrayType(source), t.ArrayType(target), rule) is expected
    assert same_layout(t.MapType(source, text), t.MapType(target, text), rule) is expected
    assert same_layout(t.MapType(text, source), t.MapType(text, target), rule) is expected
