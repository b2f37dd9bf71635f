"""Mutation tests of the comparator: whatever is done to an outcome, it is noticed; order alone is not."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.answers.rejections import compare_rejection
from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Bound, MergePath, Outcome, Prediction, Rejection
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import ArrayType, DecimalType, Field, MapType, Schema, StructType

PAIR = StructType((Field("a", types.INT), Field("b", types.STRING)))
MAP = MapType(types.STRING, types.INT)
ENGINE = Capabilities(exact_metric_names=True)
QUICK = settings(max_examples=25, deadline=None, database=None, derandomize=True)

SMALL = st.integers(-2, 2)
CELLS = {
    types.BOOLEAN: st.booleans(),
    types.INT: SMALL,
    types.BIGINT: SMALL | st.just(2**63 - 1),
    types.DOUBLE: st.sampled_from([0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324]),
    types.STRING: st.sampled_from(["", "a", "b", "é", "NULL"]),
    types.BINARY: st.sampled_from([b"", b"a", b"\x00"]),
    DecimalType(10, 2): SMALL.map(lambda n: Decimal(n).scaleb(-2)),
    types.DATE: st.sampled_from([dt.date.min, dt.date(1970, 1, 1), dt.date.max]),
    types.TIMESTAMP: st.sampled_from([dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    PAIR: st.tuples(st.none() | SMALL, st.none() | st.just("")),
    ArrayType(types.INT): st.lists(st.none() | SMALL, max_size=3).map(tuple),
    MAP: st.dictionaries(st.sampled_from("xyz"), st.none() | SMALL, max_size=3).map(lambda d: tuple(d.items())),
}


@st.composite
def tables(draw: Any, *, first: Any = ()) -> Any:
    """A schema whose first columns are given, then some more, and rows of it."""
    more = draw(st.lists(st.sampled_from(list(CELLS)), max_size=3))
    kinds = [*first, *more]
    schema = Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(kinds)))
    rows = draw(st.lists(st.tuples(*(st.none() | CELLS[kind] for kind in kinds)), max_size=5))
    return schema, tuple(rows)


def outcome_of(schema: Any, rows: Any, *, cdf: Any = ()) -> Any:
    return Outcome(
        schema=schema,
        rows=tuple(rows),
        metrics=dict.fromkeys(HISTORY_METRICS, 2),
        cdf=tuple(cdf),
        committed=True,
        path=MergePath.D,
    )


def as_predicted(outcome: Any) -> Any:
    """The prediction that an outcome fulfils exactly."""
    return Prediction(
        schema=outcome.schema,
        rows=outcome.rows,
        metrics={name: Bound(value, value) for name, value in outcome.metrics.items()},
        cdf=outcome.cdf,
        committed=outcome.committed,
        path=outcome.path,
    )


def checks(right: Any, mutant: Any) -> Any:
    compared = compare_outcome(as_predicted(right), mutant, capabilities=ENGINE)
    assert all(len(line) <= 100 for m in compared.mismatches for line in m.lines)
    assert all(1 <= len(m.lines) <= 12 for m in compared.mismatches)
    return {m.check for m in compared.mismatches}


def shuffled(cell: Any, kind: Any, draw: Any) -> Any:
    return tuple(draw(st.permutations(cell))) if kind == MAP and cell is not None else cell


@QUICK
@given(table=tables(), data=st.data())
def test_shuffled_copies_agree(table: Any, data: Any) -> None:
    """Order of rows, of change rows and of the pairs of a map means nothing."""
    schema, rows = table
    kinds = [column.type for column in schema.columns]
    right = outcome_of(schema, rows, cdf=[(*row, "insert") for row in rows])
    mixed = [
        tuple(shuffled(cell, kind, data.draw) for cell, kind in zip(row, kinds, strict=True))
        for row in data.draw(st.permutations(rows))
    ]
    copy = outcome_of(schema, mixed, cdf=[(*row, "insert") for row in reversed(mixed)])
    assert checks(right, copy) == set()


INSTANT = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
LOCAL = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - a timestamp without zone


def next_float(value: Any) -> Any:
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return struct.unpack(">d", struct.pack(">q", bits + 1))[0]


CELL_MUTANTS = [
    ("NULL and empty text", types.STRING, None, ""),
    ("NULL and empty bytes", types.BINARY, None, b""),
    ("NULL and zero", types.INT, None, 0),
    ("NULL and FALSE", types.BOOLEAN, None, False),
    ("NULL struct and struct of NULLs", PAIR, None, (None, None)),
    ("NULL and empty array", ArrayType(types.INT), None, ()),
    ("NULL and empty map", MAP, None, ()),
    ("text NULL and NULL", types.STRING, "NULL", None),
    ("sign of zero", types.DOUBLE, 0.0, -0.0),
    ("NaN and NULL", types.DOUBLE, math.nan, None),
    ("NaN and infinity", types.DOUBLE, math.nan, math.inf),
    ("sign of infinity", types.DOUBLE, math.inf, -math.inf),
    ("last bit of a float", types.DOUBLE, 0.1, next_float(0.1)),
    ("smallest float and zero", types.DOUBLE, 5e-324, 0.0),
    (
        "last digit of a decimal",
        DecimalType(38, 2),
        Decimal("123456789012345678901234567890.12"),
        Decimal("123456789012345678901234567890.13"),
    ),
    ("scale of a decimal", DecimalType(10, 2), Decimal("1.00"), Decimal("1.0")),
    ("sign of a decimal", DecimalType(10, 2), Decimal("0.01"), Decimal("-0.01")),
    ("integer and boolean", types.INT, 1, True),
    ("integer and float", types.INT, 1, 1.0),
    ("integer and decimal", types.INT, 1, Decimal(1)),
    ("integer and text", types.INT, 1, "1"),
    ("text and bytes", types.STRING, "a", b"a"),
    ("trailing blank", types.STRING, "a", "a "),
    ("case of a letter", types.STRING, "a", "A"),
    ("composed and decomposed letter", types.STRING, "\u00e9", "e\u0301"),
    ("one microsecond", types.TIMESTAMP, INSTANT, INSTANT + dt.timedelta(microseconds=1)),
    ("loss of the time zone", types.TIMESTAMP, INSTANT, LOCAL),
    ("another zone's wall clock", types.TIMESTAMP, INSTANT, INSTANT.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))),
    ("one microsecond without zone", types.TIMESTAMP_NTZ, LOCAL, LOCAL + dt.timedelta(microseconds=1)),
    ("date and its midnight", types.DATE, dt.date(2020, 1, 1), LOCAL),
    ("one day", types.DATE, dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
    ("field of a struct", PAIR, (1, "x"), (1, "y")),
    ("fields of a struct swapped", StructType((Field("a", types.INT), Field("b", types.INT))), (1, 2), (2, 1)),
    ("NULL in a struct", PAIR, (1, None), (1, "")),
    ("value of a map", MAP, (("x", 1), ("y", 2)), (("x", 2), ("y", 1))),
    ("key of a map", MAP, (("x", 1),), (("y", 1),)),
    ("pair of a map twice", MAP, (("x", 1),), (("x", 1), ("x", 1))),
    ("order of an array", ArrayType(types.INT), (1, 2), (2, 1)),
    ("NULL in an array", ArrayType(types.INT), (1, None), (1,)),
    ("element of an array", ArrayType(types.INT), (1, None), (1, 0)),
    ("float deep inside", ArrayType(StructType((Field("d", types.DOUBLE),))), ((0.0,),), ((-0.0,),)),
    ("array and map of the same look", ArrayType(PAIR), ((1, "x"), (2, "y")), ((2, "y"), (1, "x"))),
]


@pytest.mark.parametrize("direction", ["there", "back"])
@pytest.mark.parametrize(("kind", "before", "after"), [m[1:] for m in CELL_MUTANTS], ids=[m[0] for m in CELL_MUTANTS])
@QUICK
@given(table=tables(), data=st.data())
def test_a_changed_cell_is_noticed(
    *, kind: Any, before: Any, after: Any, direction: Any, table: Any, data: Any
) -> None:
    """One other cell, in any row of any table, in the table as in the change feed."""
    schema, rows = table
    if direction == "back":
        before, after = after, before
    schema = Schema((Field("k", kind), *schema.columns))
    others = data.draw(st.sampled_from(rows)) if rows else (None,) * (len(schema.columns) - 1)
    rest = [(data.draw(st.sampled_from([before, after, None])), *row) for row in rows]
    right, wrong = [(before, *others), *rest], [(after, *others), *rest]
    assert checks(outcome_of(schema, right), outcome_of(schema, wrong)) == {Check.ROWS}
    feeds = [outcome_of(schema, (), cdf=[(*row, "insert") for row in rows]) for rows in (right, wrong)]
    assert checks(*feeds) == {Check.CDF}


@QUICK
@given(table=tables(first=(types.INT,)), data=st.data())
def test_a_lost_or_doubled_row_is_noticed(table: Any, data: Any) -> None:
    """Rows are occurrences (R-002)."""
    schema, rows = table
    rows = (*rows, (7, *[None] * (len(schema.columns) - 1)))
    chosen = data.draw(st.integers(0, len(rows) - 1))
    right = outcome_of(schema, rows)
    assert checks(right, outcome_of(schema, rows[:chosen] + rows[chosen + 1 :])) == {Check.ROWS}
    assert checks(right, outcome_of(schema, (*rows, rows[chosen]))) == {Check.ROWS}


@QUICK
@given(table=tables(first=(types.INT, types.INT)), cells=st.permutations([1, 2, 3, None]))
def test_swapped_cells_of_a_row_are_noticed(table: Any, cells: Any) -> None:
    """Two columns of one type that trade values."""
    schema, rows = table
    rest = (None,) * (len(schema.columns) - 2)
    right = outcome_of(schema, (*rows, (cells[0], cells[1], *rest)))
    assert checks(right, outcome_of(schema, (*rows, (cells[1], cells[0], *rest)))) == {Check.ROWS}


@QUICK
@given(table=tables(first=(types.INT, types.STRING)))
def test_cells_swapped_between_rows_are_noticed(table: Any) -> None:
    """The multiset of each column is right, the rows are not."""
    schema, rows = table
    rest = (None,) * (len(schema.columns) - 2)
    right = outcome_of(schema, (*rows, (8, "p", *rest), (9, "q", *rest)))
    assert checks(right, outcome_of(schema, (*rows, (8, "q", *rest), (9, "p", *rest)))) == {Check.ROWS}


SCHEMA_MUTANTS = {
    "widened type": lambda s: Schema((Field(s.columns[0].name, types.BIGINT), *s.columns[1:])),
    "renamed column": lambda s: Schema((Field("renamed", s.columns[0].type), *s.columns[1:])),
    "other spelling": lambda s: Schema((Field(s.columns[0].name.upper(), s.columns[0].type), *s.columns[1:])),
    "reordered columns": lambda s: Schema((*s.columns[1:], s.columns[0])),
    "NOT NULL": lambda s: Schema((dataclasses.replace(s.columns[0], nullable=False), *s.columns[1:])),
    "a default": lambda s: Schema((dataclasses.replace(s.columns[0], default="1"), *s.columns[1:])),
    "a generation expression": lambda s: Schema((dataclasses.replace(s.columns[0], generated="1"), *s.columns[1:])),
    "NOT NULL in a struct": lambda s: Schema(
        (
            *s.columns[:2],
            Field(s.columns[2].name, StructType((Field("a", types.INT, nullable=False), PAIR.fields[1]))),
            *s.columns[3:],
        )
    ),
    "decimal scale": lambda s: Schema((s.columns[0], Field(s.columns[1].name, DecimalType(10, 3)), *s.columns[2:])),
    "field of a struct renamed": lambda s: Schema(
        (*s.columns[:2], Field(s.columns[2].name, StructType((Field("A", types.INT), PAIR.fields[1]))), *s.columns[3:])
    ),
}


@pytest.mark.parametrize("mutate", SCHEMA_MUTANTS.values(), ids=SCHEMA_MUTANTS.keys())
@QUICK
@given(table=tables(first=(types.INT, DecimalType(10, 2), PAIR)))
def test_a_changed_schema_is_noticed(mutate: Any, table: Any) -> None:
    """Names, spelling, order, types, NOT NULL at every depth, and the values that columns have of their own."""
    schema, _ = table
    assert checks(outcome_of(schema, ()), outcome_of(mutate(schema), ())) == {Check.SCHEMA}


@QUICK
@given(table=tables(first=(types.INT,)))
def test_swapped_images_are_noticed(table: Any) -> None:
    """A pre-image built from the new row, and a post-image from the old one."""
    schema, rows = table
    rest = (None,) * (len(schema.columns) - 1)
    others = [(*row, "insert") for row in rows]
    right = [(1, *rest, "update_preimage"), (2, *rest, "update_postimage"), *others]
    wrong = [(2, *rest, "update_preimage"), (1, *rest, "update_postimage"), *others]
    assert checks(outcome_of(schema, rows, cdf=right), outcome_of(schema, rows, cdf=wrong)) == {Check.CDF}


@pytest.mark.parametrize("other", ["insert", "update_preimage", "update_postimage", None, "DELETE"])
@QUICK
@given(table=tables(first=(types.INT,)))
def test_a_changed_change_type_is_noticed(other: Any, table: Any) -> None:
    """The type is a cell like any other."""
    schema, rows = table
    row = (1, *[None] * (len(schema.columns) - 1))
    right, wrong = (outcome_of(schema, rows, cdf=[(*row, kind)]) for kind in ("delete", other))
    assert checks(right, wrong) == {Check.CDF}


@pytest.mark.parametrize("name", sorted(HISTORY_METRICS))
@pytest.mark.parametrize("mutation", ["one more", "one less", "missing"])
def test_a_changed_metric_is_noticed(name: Any, mutation: Any) -> None:
    """Each metric, up, down and gone."""
    right = outcome_of(Schema(()), ())
    metrics = dict(right.metrics)
    if mutation == "missing":
        del metrics[name]
    else:
        metrics[name] += 1 if mutation == "one more" else -1
    assert checks(right, dataclasses.replace(right, metrics=metrics)) == {Check.METRICS}


OUTCOME_MUTANTS = {
    "extra metric": (lambda o: dataclasses.replace(o, metrics={**o.metrics, "numRows": 0}), Check.METRICS),
    "committed flipped": (lambda o: dataclasses.replace(o, committed=False), Check.COMMIT),
    "another path": (lambda o: dataclasses.replace(o, path=MergePath.A), Check.PATH),
    "no change feed": (lambda o: dataclasses.replace(o, cdf=None), Check.CDF),
    "a change row more": (lambda o: dataclasses.replace(o, cdf=(*o.cdf, o.cdf[0])), Check.CDF),
    "a change row less": (lambda o: dataclasses.replace(o, cdf=o.cdf[1:]), Check.CDF),
}


@pytest.mark.parametrize(("mutate", "check"), OUTCOME_MUTANTS.values(), ids=OUTCOME_MUTANTS.keys())
def test_a_changed_outcome_is_noticed(mutate: Any, check: Any) -> None:
    """Other observables than rows are compared too."""
    right = outcome_of(Schema((Field("id", types.INT),)), ((1,),), cdf=((1, "insert"),))
    assert checks(right, mutate(right)) == {check}


EVOLUTION_MUTANTS = {
    "new column left out": lambda o: dataclasses.replace(
        o, schema=Schema(o.schema.columns[:-1]), rows=tuple(row[:-1] for row in o.rows)
    ),
    "new column in front": lambda o: dataclasses.replace(
        o, schema=Schema(o.schema.columns[::-1]), rows=tuple(row[::-1] for row in o.rows)
    ),
    "new column of another type": lambda o: dataclasses.replace(
        o, schema=Schema((o.schema.columns[0], Field("new", types.BIGINT)))
    ),
    "new column NOT NULL": lambda o: dataclasses.replace(
        o, schema=Schema((o.schema.columns[0], Field("new", types.INT, nullable=False)))
    ),
    "no commit": lambda o: dataclasses.replace(o, committed=False),
    "a value in an old row": lambda o: dataclasses.replace(o, rows=((1, 5), *o.rows[1:])),
    "change rows in the old schema": lambda o: dataclasses.replace(o, cdf=((2, "insert"),)),
}


@pytest.mark.parametrize("mutate", EVOLUTION_MUTANTS.values(), ids=EVOLUTION_MUTANTS.keys())
def test_a_wrong_evolution_is_noticed(mutate: Any) -> None:
    """The final schema, rows and change rows in it, and the commit that R-732 wants."""
    schema = Schema((Field("id", types.INT), Field("new", types.INT)))
    right = outcome_of(schema, ((1, None), (2, 2)), cdf=((2, 2, "insert"),))
    assert checks(right, right) == set()
    assert checks(right, mutate(right))


def test_an_error_among_several_right_ones() -> None:
    """If no rule fixes the value that fails first, each class is right, and only these are."""
    wanted = Rejection(error_class="A", message="", other_classes=frozenset({"B.C"}))
    for error_class, agrees in {"A": True, "B.C": True, "B": True, "B.D": False, "D": False}.items():
        found = Rejection(error_class=error_class, message="m", unchanged=True)
        compared = compare_rejection(wanted, found, capabilities=ENGINE)
        assert (not compared.mismatches) is agrees
        assert agrees or compared.mismatches[0].lines[0] == "reference: A or B.C"
