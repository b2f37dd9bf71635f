"""Array functions of the reference: elements are compared as Spark does, operands are cast first (R-246)."""

from __future__ import annotations

import pytest
from reference_cases import merge, merge_case, predicted

from mergecheck.harness.properties.facts import facts_of
from mergecheck.model.outcome import Unsupported
from mergecheck.reference import MergeReference

REFERENCE = MergeReference()


SCHEMA = "k INT, r ARRAY<INT>"
SOURCE = "k INT, r ARRAY<INT>, q ARRAY<INT>, e INT"


@pytest.mark.parametrize(
    ("call", "given", "result"),
    [
        ("array_distinct(s.r)", [[1, 1, None, 2, None], [], 1], (1, None, 2)),
        ("array_distinct(s.r)", [None, [], 1], None),
        ("array_union(s.r, s.q)", [[1, None], [2, 1, None], 1], (1, None, 2)),
        ("array_union(s.r, s.q)", [[1], None, 1], None),
        ("array_except(s.r, s.q)", [[3, 1, 3, None], [1], 1], (3, None)),
        ("array_intersect(s.r, s.q)", [[3, 1, 3, None], [None, 3], 1], (3, None)),
        ("array_remove(s.r, s.e)", [[3, 1, 3, None], [], 3], (1, None)),
        ("array_remove(s.r, s.e)", [[3], [], None], None),
    ],
)
def test_elements(call: str, given: list[object], result: object) -> None:
    """NULL elements equal each other; the first of equal ones stays; a NULL operand gives NULL."""
    clauses = f"WHEN MATCHED THEN UPDATE SET r = {call}"
    reference = merge(clauses, target=[[1, [9]]], source=[[1, *given]], schema=SCHEMA, source_schema=SOURCE)

    assert predicted(reference).rows == ((1, result),)


def test_operands_are_cast_before() -> None:
    """R-246: 1.2 and 1.4 become 1 first and are one element then."""
    case = merge_case(
        "WHEN MATCHED THEN UPDATE SET r = array_distinct(s.r)",
        target=[[1, []]],
        source=[[1, [{"b": "1.2", "a": 7}, {"b": "1.4", "a": 7}]]],
        schema="k INT, r ARRAY<STRUCT<a: INT, b: INT>>",
        source_schema="k INT, r ARRAY<STRUCT<b: DECIMAL(3,1), a: INT>>",
    )

    reference = REFERENCE.evaluate(case)
    assert predicted(reference).rows == ((1, ((7, 1),)),)
    assert "R-246" in facts_of(case, reference).rules


def test_elements_with_floating_point_values() -> None:
    """Zeros of both signs and NaN are compared in their own way, which the reference does not claim to know."""
    reference = merge(
        "WHEN MATCHED THEN UPDATE SET r = array_distinct(s.r)",
        target=[[1, []]],
        source=[[1, []]],
        schema="k INT, r ARRAY<DOUBLE>",
    )

    assert isinstance(reference.answer, Unsupported)
