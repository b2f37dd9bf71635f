"""An author's expectations, compared with answers written by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mergecheck.harness.compare.answers.expectations import compare_expectation
from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Check
from mergecheck.model.case import Expectation
from mergecheck.model.outcome import MergePath, Outcome, Prediction, Rejection
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.model.types.ddl import parse_schema

ID_NAME = Schema((Field("id", types.INT), Field("name", types.STRING), Field("n", types.BIGINT)))
EVERYTHING = Capabilities()
GOT = Outcome(
    schema=ID_NAME,
    rows=((1, "a", 1),),
    metrics={"numOutputRows": 1, "numSourceRows": 5},
    cdf=None,
    committed=True,
    path=MergePath.D,
)


def expectation_kinds(expect: Any, result: Any) -> Any:
    compared = compare_expectation(expect, result, capabilities=EVERYTHING, schema=ID_NAME)
    assert {m.against for m in compared.mismatches} <= {"expect"}
    return [m.kind for m in compared.mismatches]


def test_expectations_check_what_they_say() -> None:
    """Each part of ``expect`` that is given is held, the others are not."""
    got = dataclasses.replace(GOT, cdf=((1, "a", 1, "insert"),))
    assert expectation_kinds(Expectation(), got) == []
    assert expectation_kinds(Expectation(rows=((1, "a", 1),), schema=ID_NAME), got) == []
    assert expectation_kinds(Expectation(rows=()), got) == ["extra_rows"]
    assert expectation_kinds(Expectation(metrics={"numOutputRows": 2}), got) == ["numOutputRows"]
    assert expectation_kinds(Expectation(cdf=()), got) == ["extra_rows"]
    assert expectation_kinds(Expectation(unchanged=True), got) == ["committed"]
    assert expectation_kinds(Expectation(error="ANY"), got) == ["no_error"]


@pytest.mark.parametrize(
    ("expect", "capabilities", "unsupported", "metrics"),
    [
        (Expectation(), Capabilities(schema=False, metrics=False), (), ()),
        (Expectation(schema=parse_schema("other INT")), Capabilities(schema=False), (Check.SCHEMA,), ()),
        (Expectation(rows=((1, "a", 1),)), Capabilities(schema=False), (), ()),
        (Expectation(metrics={"numOutputRows": 9}), Capabilities(metrics=False), (Check.METRICS,), ()),
        (
            Expectation(metrics={"numOutputRows": 9, "numSourceRows": 5}),
            Capabilities(metric_names=frozenset({"numSourceRows"})),
            (Check.METRICS,),
            ("numOutputRows",),
        ),
        (Expectation(metrics={"numSourceRows": 5}), EVERYTHING, (), ()),
        (Expectation(cdf=((1, "a", 1, "insert"),)), EVERYTHING, (Check.CDF,), ()),
    ],
)
def test_what_is_expected_and_cannot_be_shown_is_unsupported(
    expect: Any, capabilities: Any, unsupported: Any, metrics: Any
) -> None:
    """It is neither a difference nor passed."""
    compared = compare_expectation(expect, GOT, capabilities=capabilities, schema=ID_NAME)
    assert (compared.mismatches, compared.unsupported, compared.unsupported_metrics) == ((), unsupported, metrics)


@pytest.mark.parametrize(("has_classes", "unsupported"), [(True, ()), (False, (Check.ERROR,))])
def test_an_expected_error_of_an_engine_without_classes(has_classes: Any, unsupported: Any) -> None:
    """Only its failure is known."""
    failed = Rejection(error_class="DELTA_X", message="", unchanged=True)
    capabilities = Capabilities(error_class=has_classes)
    expect = Expectation(error="DELTA_X" if has_classes else "DELTA_Y")
    compared = compare_expectation(expect, failed, capabilities=capabilities, schema=ID_NAME)
    assert (compared.mismatches, compared.unsupported) == ((), unsupported)


def test_expected_errors_are_searched_in_class_and_message() -> None:
    """The regular expression may speak of either."""
    failed = Rejection(error_class="DELTA_X", message="cannot do this", unchanged=False)
    assert expectation_kinds(Expectation(error="^DELTA_X"), failed) == []
    assert expectation_kinds(Expectation(error="do this$"), failed) == []
    assert expectation_kinds(Expectation(error="DELTA_Y"), failed) == ["error_class"]
    assert expectation_kinds(Expectation(error="DELTA_X", unchanged=True), failed) == ["changed_after_error"]
    assert expectation_kinds(Expectation(rows=()), failed) == ["spurious_error"]


@pytest.mark.parametrize(
    ("wanted", "got", "kinds"),
    [
        ("s STRUCT<x: INT>", "s STRUCT<x: INT NOT NULL>", []),
        ("l ARRAY<STRUCT<x: INT NOT NULL>>", "l ARRAY<STRUCT<x: INT>>", ["nullability"]),
        ("m MAP<INT, STRUCT<x: INT NOT NULL>>", "m MAP<INT, STRUCT<x: INT>>", ["nullability"]),
        ("k INT", "k INT DEFAULT 5", []),
        ("k INT DEFAULT 5", "k INT", ["column_values"]),
        ("g INT GENERATED ALWAYS AS (1 + 1)", "g INT GENERATED ALWAYS AS (2)", ["column_values"]),
        ("i BIGINT GENERATED ALWAYS AS IDENTITY", "i BIGINT GENERATED BY DEFAULT AS IDENTITY", ["column_values"]),
        ("s STRUCT<x: INT, y: INT>", "s STRUCT<y: INT, x: INT>", ["column_types"]),
    ],
)
def test_an_expected_schema_may_say_less(wanted: Any, got: Any, kinds: Any) -> None:
    """NOT NULL, DEFAULT and GENERATED are checked if the author declares them; a reference declares all."""
    result = dataclasses.replace(GOT, schema=parse_schema(got), rows=(), metrics={})
    assert expectation_kinds(Expectation(schema=parse_schema(wanted)), result) == kinds
    prediction = Prediction(
        schema=parse_schema(wanted), rows=(), metrics={}, cdf=None, committed=True, path=MergePath.D
    )
    assert len(compare_outcome(prediction, result, capabilities=EVERYTHING).mismatches) == 1
