"""The reference, rule by rule: statements that are refused, and values as they are assigned and compared."""

from __future__ import annotations

from typing import Any

import pytest
from reference_cases import UPSERT, bag, merge, predicted, rejected

from mergecheck.model.errors import RejectedError
from mergecheck.model.outcome import Bound, MergePath, Prediction, Rejection, Unsupported
from mergecheck.reference.syntax.statement import parse_statement


@pytest.mark.parametrize(
    ("clauses", "error"),
    [
        ("WHEN NOT MATCHED AND t.k = 1 THEN INSERT *", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        ("WHEN NOT MATCHED BY SOURCE AND s.k = 1 THEN DELETE", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        ("WHEN MATCHED AND k = 1 THEN DELETE", "AMBIGUOUS_REFERENCE"),
        ("WHEN MATCHED THEN UPDATE SET s.v = 'x'", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        ("WHEN MATCHED THEN UPDATE SET v = 'x', V = 'y'", "DELTA_CONFLICT_SET_COLUMN"),
        ("WHEN NOT MATCHED THEN INSERT (v, v) VALUES ('x', 'y')", "DELTA_DUPLICATE_COLUMNS_ON_INSERT"),
        ("WHEN NOT MATCHED THEN INSERT (k, v) VALUES (1)", "MERGE_INSERT_VALUE_COUNT_MISMATCH"),
        ("WHEN MATCHED AND rand() > 0 THEN DELETE", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        ("WHEN MATCHED AND max(t.k) > 0 THEN DELETE", "DELTA_AGGREGATION_NOT_SUPPORTED"),
        ("WHEN MATCHED AND t.k IN (SELECT k FROM source) THEN DELETE", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("WHEN MATCHED THEN UPDATE SET v = DEFAULT", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        ("WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE", "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_invalid_statements_are_rejected_by_class(clauses: str, error: str) -> None:
    """Part 1: names, scopes and shapes; the table stays as it was."""
    reference = merge(clauses, target=[[1, "a"]], source=[[1, "b"]])

    assert rejected(reference) == error


@pytest.mark.parametrize("source", ["source", "(SELECT 1 AS k, 'b' AS v)"])
@pytest.mark.parametrize("on", ["t.k = s.k", "CASE WHEN t.k = 1 THEN TRUE ELSE t.k <=> s.k END"])
def test_a_merge_needs_a_clause(source: str, on: str) -> None:
    """R-106; the WHEN of a CASE in ON is none."""
    with pytest.raises(RejectedError) as error:
        parse_statement(f"MERGE INTO target t USING {source} s ON {on}")
    assert error.value.error_class == "MERGE_WITHOUT_WHEN"


@pytest.mark.parametrize(
    ("value", "column", "stored"),
    [
        ("CAST(2.7 AS DOUBLE)", "INT", 2),
        ("CAST(-2.7 AS DOUBLE)", "INT", -2),
        ("3.55", "INT", 3),
        ("1.2355", "DECIMAL(5,2)", "1.24"),
        ("'12'", "INT", 12),
        ("'yes'", "BOOLEAN", True),
        ("TRUE", "INT", 1),
        ("TIMESTAMP '2026-01-31 23:59:59'", "DATE", "2026-01-31"),
        ("7", "STRING", "7"),
    ],
)
def test_store_assignment_casts_as_spark(value: str, column: str, stored: object) -> None:
    """R-251, R-253: truncation, rounding and text as Spark's ANSI cast has them."""
    answer = predicted(
        merge(
            f"WHEN MATCHED THEN UPDATE SET v = {value}",
            target=[[1, None]],
            source=[[1]],
            schema=f"k INT, v {column}",
            source_schema="k INT",
        )
    )

    assert str(stored) == str(answer.rows[0][1])


@pytest.mark.parametrize(
    ("value", "policy", "outcome"),
    [
        ("CAST(5000000000 AS BIGINT)", "ANSI", "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"),
        ("'2.7'", "ANSI", "CAST_INVALID_INPUT"),
        ("CAST(5000000000 AS BIGINT)", "STRICT", "CANNOT_UP_CAST_DATATYPE"),
    ],
)
def test_values_that_do_not_fit_are_rejected(value: str, policy: str, outcome: str) -> None:
    """R-251, R-252: the class names the fault."""
    reference = merge(
        f"WHEN MATCHED THEN UPDATE SET v = {value}",
        target=[[1, None]],
        source=[[1]],
        schema="k INT, v INT",
        source_schema="k INT",
        conf={"spark.sql.storeAssignmentPolicy": policy},
    )

    assert rejected(reference) == outcome


DIVIDES, CASTS = "DIVIDE_BY_ZERO", "CAST_INVALID_INPUT"
OVERFLOWS = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


@pytest.mark.parametrize(
    ("clauses", "classes"),
    [
        ("WHEN MATCHED THEN UPDATE SET a = 1 DIV s.z, b = CAST(s.x AS INT)", {DIVIDES, CASTS}),
        ("WHEN MATCHED THEN UPDATE SET a = CAST(s.x AS INT), b = 1 DIV s.z", {DIVIDES, CASTS}),
        ("WHEN MATCHED THEN UPDATE SET a = s.n, b = CAST(s.x AS INT), c = 1 DIV s.z", {OVERFLOWS, CASTS, DIVIDES}),
        ("WHEN MATCHED THEN UPDATE SET st.p = 1 DIV s.z, ST.q = CAST(s.x AS TINYINT)", {DIVIDES, CASTS}),
        ("WHEN MATCHED THEN UPDATE SET st.p = 1 DIV s.z, st.q = s.n", {DIVIDES, OVERFLOWS}),
        # g = 100 DIV a fails for a = 0 by itself, and not for the other value
        ("WHEN MATCHED THEN UPDATE SET a = s.z, b = CAST(s.x AS INT)", {DIVIDES, CASTS}),
        # g uses the value that fails
        ("WHEN MATCHED THEN UPDATE SET a = CAST(s.x AS INT)", {CASTS}),
        # values come before constraints: g has a wrong value
        ("WHEN MATCHED THEN UPDATE SET g = 7, b = CAST(s.x AS INT)", {CASTS}),
        (
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, a, b) VALUES (s.k, 1 DIV s.z, s.n)",
            {DIVIDES, OVERFLOWS},
        ),
    ],
)
def test_of_several_values_that_fail_any_may_be_met_first(clauses: str, classes: set[str]) -> None:
    """R-254: in one row, too."""
    schema = "k INT, a INT, b INT, c TINYINT, st STRUCT<p: INT, q: TINYINT>, g INT GENERATED ALWAYS AS (100 DIV a)"
    target = [[1, 1, 1, 1, {"p": 1, "q": 1}, 100]]
    source = [[1, "x", 0, 3_000_000_000], [2, "x", 0, 3_000_000_000]]
    answer = merge(
        clauses, target=target, source=source, schema=schema, source_schema="k INT, x STRING, z INT, n BIGINT"
    ).answer

    assert isinstance(answer, Rejection), answer
    assert {answer.error_class, *answer.other_classes} == classes


def test_legacy_policy_wraps() -> None:
    """R-251: 2^32 + 5 into INT is 5 under LEGACY."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET v = CAST(4294967301 AS BIGINT)",
            target=[[1, None]],
            source=[[1]],
            schema="k INT, v INT",
            source_schema="k INT",
            conf={"spark.sql.storeAssignmentPolicy": "LEGACY"},
        )
    )

    assert ((1, 5),) == answer.rows


def test_values_are_lazy() -> None:
    """R-254: a malformed value in a row that no clause handles does not fail."""
    answer = predicted(
        merge(
            "WHEN MATCHED AND s.v = '7' THEN UPDATE SET n = s.v",
            target=[[1, 0], [2, 0]],
            source=[[1, "7"], [2, "seven"]],
            schema="k INT, n INT",
            source_schema="k INT, v STRING",
        )
    )

    assert bag(((1, 7), (2, 0))) == bag(answer.rows)


KEYS: dict[str, Any] = {"schema": "k INT, v INT", "source_schema": "k STRING, v INT"}
CLAUSES = ("WHEN MATCHED THEN UPDATE SET v = s.v", "WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v)")


@pytest.mark.parametrize(
    "clauses",
    [*CLAUSES, " ".join(CLAUSES), "WHEN MATCHED THEN DELETE", "WHEN NOT MATCHED BY SOURCE THEN DELETE"],
)
@pytest.mark.parametrize("text", ["x", "", "1.5", "99999999999999999999"])
def test_a_key_that_is_no_number_fails_the_merge(clauses: str, text: str) -> None:
    """R-312: the key of every row is computed, whichever rows match."""
    bad = [["1", 10], [text, 20]]
    assert rejected(merge(clauses, target=[[1, 1], [2, 2]], source=bad, **KEYS)) == "CAST_INVALID_INPUT"
    turned = {"schema": "k STRING, v INT", "source_schema": "k INT, v INT"}
    assert rejected(merge(clauses, target=bad, source=[[1, 1]], **turned)) == "CAST_INVALID_INPUT"


@pytest.mark.parametrize("on", ["t.k = CAST(s.k AS INT)", "t.k <=> s.k", "(s.k) = t.k"])
def test_a_cast_that_fails_in_a_sole_key_fails_the_merge(on: str) -> None:
    """R-312."""
    found = merge(CLAUSES[0], target=[[1, 1]], source=[["1", 10], ["x", 20]], on=on, **KEYS)
    assert rejected(found) == "CAST_INVALID_INPUT"


@pytest.mark.parametrize(
    ("clauses", "on", "target", "source"),
    [
        (CLAUSES[0], "t.k = s.k AND s.v > 15", [[1, 1]], [["1", 20], ["x", 10]]),
        (CLAUSES[0], "t.k = s.k OR t.v = s.v", [[1, 1]], [["1", 20], ["x", 10]]),
        (CLAUSES[0], "t.k < s.k", [[1, 1]], [["1", 20], ["x", 10]]),
        (CLAUSES[0], "t.k = CASE WHEN s.v = 10 THEN 1 ELSE CAST(s.k AS INT) END", [[1, 1]], [["x", 20]]),
        (CLAUSES[0], "t.k = s.k", [[None, 1]], [["1", 20], ["x", 10]]),
        ("WHEN MATCHED AND t.v > 5 THEN DELETE", "t.k = s.k", [[1, 1]], [["1", 20], ["x", 10]]),
    ],
)
def test_a_key_that_may_not_be_computed_is_not_predicted(
    clauses: str, on: str, target: list[list[Any]], source: list[list[Any]]
) -> None:
    """R-312: another part of ON may leave the row out, or no row has a key, or files are left out."""
    reference = merge(clauses, target=target, source=source, on=on, **KEYS)
    assert reference.answer == Unsupported("a condition that fails on some row (R-312)")


BAD, TURNED = [["1", 10], ["x", 20]], {"schema": "k STRING, v INT", "source_schema": "k INT, v INT"}
WITHOUT_PAIRS = "a condition that fails on a row, if the other table has none (R-312)"


@pytest.mark.parametrize(
    "clauses",
    [
        *CLAUSES,
        " ".join(CLAUSES),
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "WHEN MATCHED AND t.v > 5 THEN DELETE",
        "WHEN NOT MATCHED AND s.v > 15 THEN INSERT (v) VALUES (s.v)",
    ],
)
@pytest.mark.parametrize(
    "on", ["t.k = s.k", "t.k <=> s.k", "t.k = s.k AND s.v > 15", "t.v > 15 AND t.k = s.k", "t.k < s.k"]
)
def test_success_beside_a_table_without_rows_is_not_predicted(clauses: str, on: str) -> None:
    """R-312: an executor may compute the key of a row that has none to match."""
    for reference in (
        merge(clauses, target=[], source=BAD, on=on, **KEYS),
        merge(clauses, target=BAD, source=[], on=on, **TURNED),
    ):
        assert reference.answer == Unsupported(WITHOUT_PAIRS)
        assert reference.left_out == {"error"}
        assert reference.partial is not None
        assert isinstance(reference.partial.answer, Prediction)


@pytest.mark.parametrize(
    "on", ["t.k = s.v AND CAST(s.k AS INT) > 0", "CAST(s.k AS INT) > 0", "t.k = s.v AND t.k = 'x'", "s.v > 'x'"]
)
@pytest.mark.parametrize("source", [BAD, []])
def test_a_part_of_one_table_that_fails_is_uncertain_without_pairs(on: str, source: list[list[Any]]) -> None:
    """R-312: also a text that is no number and is compared with a column, though both tables have no rows."""
    reference = merge(CLAUSES[1], target=[], source=source, on=on, **KEYS)
    if source or "'x'" in on:
        assert reference.answer == Unsupported(WITHOUT_PAIRS)
    else:
        assert isinstance(reference.answer, Prediction)


@pytest.mark.parametrize("target", [[], [[1, 1]]])
def test_keys_that_are_numbers_are_predicted_without_pairs(target: list[list[Any]]) -> None:
    """R-312: nothing fails here, whichever rows there are."""
    source = [] if target else [[" 1", 10], [None, 20]]
    answer = predicted(merge(" ".join(CLAUSES), target=target, source=source, **KEYS))
    assert bag(answer.rows) == bag(((1, 1),) if target else ((None, 10), (None, 20)))


def test_a_key_with_spaces_and_a_sign_is_a_number() -> None:
    """R-251: a cast of a text takes them."""
    answer = predicted(merge(CLAUSES[0], target=[[1, 1], [2, 2]], source=[[" 1 ", 10], ["+2", 20]], **KEYS))
    assert bag(answer.rows) == bag(((1, 10), (2, 20)))


def test_condition_that_may_fail_is_not_predicted() -> None:
    """R-312: which rows an eager condition sees depends on the layout, so the reference does not guess."""
    reference = merge("WHEN MATCHED AND 1 % (t.k - 1) = 0 THEN DELETE", target=[[1, "a"]], source=[[2, "b"]])

    assert reference.answer == Unsupported("a condition that fails on some row (R-312)")


def test_nested_update_of_a_null_struct_makes_a_struct() -> None:
    """R-212, R-213: other fields keep their value, or are NULL where the struct was NULL."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET st.b = 5",
            target=[[1, {"a": 1, "b": 2}], [2, None]],
            source=[[1], [2]],
            schema="k INT, st STRUCT<a: INT, b: INT>",
            source_schema="k INT",
        )
    )

    assert bag(((1, (1, 5)), (2, (None, 5)))) == bag(answer.rows)


def test_a_field_is_assigned_whatever_the_case_of_its_name() -> None:
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET T.ST.A = 7",
            target=[[1, {"a": 2, "b": 3}]],
            source=[[1]],
            schema="k INT, st STRUCT<a: INT, b: INT>",
            source_schema="k INT",
        )
    )

    assert answer.rows == ((1, (7, 3)),)


def test_structs_are_assigned_by_name() -> None:
    """R-242: the order of fields in the source is irrelevant; a NULL struct stays NULL (R-245)."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET *",
            target=[[1, {"a": 0, "b": 0}], [2, {"a": 0, "b": 0}]],
            source=[[1, {"B": 2, "A": 1}], [2, None]],
            schema="k INT, st STRUCT<a: INT, b: INT>",
            source_schema="k INT, st STRUCT<B: INT, A: INT>",
        )
    )

    assert bag(((1, (1, 2)), (2, None))) == bag(answer.rows)


@pytest.mark.parametrize(
    ("on", "num_matched"),
    [("t.x = s.x", 2), ("t.x > 5", 2), ("t.x <=> s.x", 2)],
)
def test_nan_and_negative_zero_in_comparisons(on: str, num_matched: int) -> None:
    """R-801, R-802: NaN equals NaN and is greater than all numbers; -0.0 equals 0.0."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET v = 'hit'",
            target=[[1, "NaN", "a"], [2, "-0.0", "a"]] if "5" not in on else [[1, "NaN", "a"], [2, 6.0, "a"]],
            source=[[1, "NaN", "b"], [2, 0.0, "b"]] if "5" not in on else [[1, 1.0, "b"]],
            schema="k INT, x DOUBLE, v STRING",
            on=on,
        )
    )

    assert answer.metrics["numTargetRowsUpdated"] == Bound(num_matched, num_matched)


def test_not_null_column_left_null_is_an_execution_error() -> None:
    """R-221, R-741: only if a row is really written."""
    clauses = "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    schema = "k INT, v STRING NOT NULL"

    fails = merge(clauses, target=[[1, "a"]], source=[[2, "b"]], schema=schema)
    nothing = merge(clauses, target=[[1, "a"]], source=[[1, "b"]], schema=schema)

    assert rejected(fails) == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    assert predicted(nothing).committed is False


def test_append_only_table_refuses_removals() -> None:
    """R-743: a merge that removes a file fails, one that only adds succeeds."""
    properties = {"delta.appendOnly": "true"}

    assert (
        rejected(merge(UPSERT, target=[[1, "a"]], source=[[1, "b"]], properties=properties))
        == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    )
    assert predicted(merge(UPSERT, target=[[1, "a"]], source=[[2, "b"]], properties=properties)).path is MergePath.B


def test_unknown_settings_are_refused_by_name() -> None:
    """A setting whose effect is not known is never ignored."""
    reference = merge(UPSERT, target=[], source=[], conf={"spark.sql.legacy.sizeOfNull": "true"})

    assert reference.answer == Unsupported("setting spark.sql.legacy.sizeOfNull")
