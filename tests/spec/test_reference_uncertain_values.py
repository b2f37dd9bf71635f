"""The reference's answers for values that Spark computes at other times than DuckDB, or that DuckDB cannot hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from reference_cases import REFERENCE, merge, merge_case, rejected

from mergecheck.model.outcome import Prediction, Rejection, Unsupported

if TYPE_CHECKING:
    from mergecheck.reference.answer import Reference

NUMBERS: dict[str, Any] = {"schema": "k INT, v INT", "target": [[1, 1]], "source": [[1, 5]]}
NOWHERE = "WHEN MATCHED AND t.v = 99 THEN UPDATE SET v = "
IDLE = "a constant that fails, in a clause that applies to no row"
CONDITION = "a condition that fails on some row (R-312)"
LEFT_OUT = "a value that fails in a part that Spark may leave out"


def reason(reference: Reference) -> str:
    assert isinstance(reference.answer, Unsupported), reference.answer
    return reference.answer.reason


@pytest.mark.parametrize("value", ["1 DIV 0", "1 DIV 0 + t.v", "99999999999", "CASE WHEN t.v = 7 THEN 1 DIV 0 END"])
def test_a_failing_constant_in_an_idle_clause_is_uncertain(value: str) -> None:
    """R-257: Spark may compute it before it looks at a row; where the clause applies, the failure is certain."""
    assert reason(merge(NOWHERE + value, **NUMBERS)) == IDLE


def test_a_failing_constant_in_a_clause_that_applies_fails() -> None:
    """R-257."""
    assert rejected(merge("WHEN MATCHED THEN UPDATE SET v = 1 DIV 0 + t.v", **NUMBERS)) == "DIVIDE_BY_ZERO"


def test_a_failing_constant_in_a_condition_is_uncertain_without_any_row() -> None:
    """R-257: Spark computes it, DuckDB would not."""
    none = {**NUMBERS, "target": [], "source": []}
    assert reason(merge("WHEN MATCHED AND 1 DIV 0 = 1 THEN DELETE", **none)) == CONDITION


@pytest.mark.parametrize(
    "value",
    [
        "CAST(t.v = t.v OR 1 DIV (s.v - 5) = 1 AS INT)",
        "CAST(NULL AND 1 DIV (s.v - 5) = 1 AS INT)",
        "CAST(s.v IN (5, 1 DIV (s.v - 5)) AS INT)",
        "CAST((1 DIV (s.v - 5)) IS NULL AS INT)",
        "CASE WHEN 1 DIV (s.v - 5) = 1 THEN 2 ELSE 2 END",
        "t.v + 1 DIV (s.v - 5)",
    ],
)
def test_a_failing_part_that_may_be_left_out_is_uncertain(value: str) -> None:
    """R-257: Spark stops early, or its optimizer removes the part."""
    assert reason(merge(f"WHEN MATCHED THEN UPDATE SET v = {value}", **NUMBERS)) == LEFT_OUT


@pytest.mark.parametrize(
    "value", ["1 DIV (s.v - 5)", "1 DIV (s.v - 5) + t.v", "CASE WHEN t.v = 1 THEN 1 DIV (s.v - 5) END"]
)
def test_a_failing_part_that_is_surely_evaluated_fails(value: str) -> None:
    """R-257: first operands and the chosen branch."""
    assert rejected(merge(f"WHEN MATCHED THEN UPDATE SET v = {value}", **NUMBERS)) == "DIVIDE_BY_ZERO"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM (SELECT k, v + 2147483647 AS o FROM source)",
        "SELECT k, v + 2147483647 AS o FROM source",
        "SELECT k, 2147483647 + 1 AS o FROM source WHERE FALSE",
        "SELECT k FROM source WHERE v = 99 AND v + 2147483647 > 0",
    ],
)
def test_a_source_query_that_fails_where_spark_may_not_look_is_uncertain(query: str) -> None:
    """R-257: DuckDB's optimizer, which would leave the column out as Spark's does, is off."""
    sql = f"MERGE INTO target t USING ({query}) s ON t.k = s.k WHEN MATCHED THEN DELETE"
    case = replace(merge_case("WHEN MATCHED THEN DELETE", **NUMBERS), sql=sql)
    assert reason(REFERENCE.evaluate(case)) == "a source query that fails on some row"


@pytest.mark.parametrize("condition", ["NULL", "coalesce(NULL, NULL)"])
def test_an_untyped_null_is_no_condition(condition: str) -> None:
    """R-135: certain for ON only."""
    on = merge("WHEN MATCHED THEN DELETE", **NUMBERS, on=condition)
    assert rejected(on) == "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"
    found = merge(f"WHEN MATCHED AND {condition} THEN DELETE", **NUMBERS)
    assert reason(found) == "a clause whose condition is an untyped NULL"
    assert isinstance(merge(f"WHEN MATCHED AND ({condition} IS NULL) THEN DELETE", **NUMBERS).answer, Prediction)


@pytest.mark.parametrize("check", ["v IS NOT NULL", "COALESCE(v, 'n') <> 'n'"])
def test_a_row_that_breaks_a_constraint_as_it_is_stored_is_refused(check: str) -> None:
    """R-744, R-742: the empty text fulfils the constraint, but the NULL that the table would hold does not."""
    given: dict[str, Any] = {"target": [[1, "x"]], "source": [[2, ""]], "partition_by": ("v",)}
    found = merge("WHEN NOT MATCHED THEN INSERT *", **given, properties={"delta.constraints.c": check})
    assert rejected(found) == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert found.alternative is None


def test_a_constraint_that_only_the_empty_text_breaks_leaves_two_answers() -> None:
    """R-744: the plan decides whether Delta sees the empty text or the NULL that is stored; both are right."""
    given: dict[str, Any] = {"target": [[1, "x"]], "source": [[2, ""]], "partition_by": ("v",)}
    check = {"delta.constraints.c": "COALESCE(v, 'n') <> ''"}
    found = merge("WHEN NOT MATCHED THEN INSERT *", **given, properties=check)
    assert rejected(found) == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert found.alternative is not None
    assert found.alternative.rows == ((1, "x"), (2, None))


@pytest.mark.parametrize(
    ("source", "target", "keys", "expected"),
    [
        ("DOUBLE", "INT", [1.2, 1.7], "DUPLICATED_MAP_KEY"),
        ("STRING", "DOUBLE", ["nan", "NaN"], "DUPLICATED_MAP_KEY"),
        ("TIMESTAMP", "DATE", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"], "a map with a key twice"),
        ("DOUBLE", "DOUBLE", [0.0, "-0.0"], "a table with a map in which a key comes twice"),
    ],
)
def test_keys_that_a_cast_makes_equal(source: str, target: str, keys: list[Any], expected: str) -> None:
    """R-256: refused if the map is rebuilt key by key; else Delta writes a map that DuckDB does not have."""
    answer = merge(
        "WHEN MATCHED THEN UPDATE SET m = s.m",
        schema=f"k INT, m MAP<{target}, INT>",
        source_schema=f"k INT, m MAP<{source}, INT>",
        target=[[1, None]],
        source=[[1, [[key, number] for number, key in enumerate(keys)]]],
    ).answer
    found = answer.error_class if isinstance(answer, Rejection) else answer.reason  # type: ignore[union-attr] # else unsupported
    assert found == expected


def test_bytes_that_are_no_text_are_unsupported() -> None:
    """R-253: no text of a case holds them."""
    found = merge("WHEN MATCHED THEN UPDATE SET v = CAST(X'FF' AS STRING)", target=[[1, "a"]], source=[[1, "b"]])
    assert reason(found) == "bytes that are no text"


def test_more_pairs_than_can_be_looked_at_one_by_one_are_unsupported() -> None:
    """Two tables of 8,191 rows whose ON is TRUE are 67 million pairs: Python has no room for them."""
    rows = [[number, number] for number in range(1_001)]
    large = {**NUMBERS, "target": rows, "source": rows}
    deleted = merge("WHEN MATCHED THEN DELETE", **large)
    assert isinstance(deleted.answer, Prediction)
    assert deleted.answer.rows == ()
    assert reason(merge("WHEN MATCHED THEN DELETE", on="TRUE", **large)) == "over 1000000 pairs of rows that match"
