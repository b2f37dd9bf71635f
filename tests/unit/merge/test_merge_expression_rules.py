"""Resolution of conditions and values: their allowed parts, and the questions to Spark."""

from __future__ import annotations

import pytest
from resolving import ON, Answers, failure, run

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.functions import called_functions, subqueries


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("rand() > 0.5", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        ("max(s.v) > 1", "DELTA_AGGREGATION_NOT_SUPPORTED"),
        ("rand() > max(s.v)", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        ("s.v IN (SELECT 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("EXISTS (SELECT rand())", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        ("row_number() OVER (ORDER BY s.v) = 1", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
        ("explode(array(true))", "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"),
    ],
)
def test_conditions_are_validated(condition: str, expected: str) -> None:
    """R-130 to R-133, in that order, for ON and for each kind of clause."""
    for sql in (
        f"MERGE INTO target t USING source s ON {condition} WHEN MATCHED THEN DELETE",
        ON + f"WHEN NOT MATCHED AND {condition} THEN INSERT *",
    ):
        assert failure(sql).error_class == expected


def test_names_are_resolved_before_conditions_are_validated() -> None:
    """R-113: an unresolved name in a later clause is reported before a forbidden function in ON."""
    error = failure("MERGE INTO target t USING source s ON rand() > 0 WHEN NOT MATCHED AND nope THEN INSERT *")
    assert error.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


def test_an_action_is_resolved_before_its_condition() -> None:
    """R-113, inside one clause."""
    error = failure(ON + "WHEN MATCHED AND cond THEN UPDATE SET v = val")
    assert "Cannot resolve val in UPDATE clause" in error.message


@pytest.mark.parametrize("value", ["sum(s.v)", "rank() OVER (ORDER BY s.v)", "first(s.v)"])
def test_values_take_no_aggregates_and_no_windows(value: str) -> None:
    """R-134."""
    assert failure(ON + f"WHEN MATCHED THEN UPDATE SET v = {value}").error_class == "UNSUPPORTED_EXPR_FOR_OPERATOR"


@pytest.mark.parametrize("value", ["EXISTS (SELECT 1 FROM u)", "s.v IN (SELECT v FROM u)", "NOT exists(SELECT 1)"])
def test_values_take_no_predicates_with_a_query(value: str) -> None:
    """R-134."""
    found = failure(ON + f"WHEN MATCHED THEN UPDATE SET v = CASE WHEN {value} THEN s.v END").error_class
    assert found == "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"


def test_values_may_be_non_deterministic() -> None:
    """R-134: ``rand()`` is fine in a value, and it is evaluated once."""
    merge = run(ON + "WHEN MATCHED THEN UPDATE SET v = rand()", types=Answers())
    assert merge.matched[0].values == ("target_0", "rand()")


@pytest.mark.parametrize("condition", ["t.v", "'true'"])
def test_conditions_are_boolean(condition: str) -> None:
    """R-135: the statement is resolved all the same, as its new schema is looked at before."""
    clause = run(ON + f"WHEN MATCHED AND {condition} THEN DELETE").not_boolean
    on = run(f"MERGE INTO target t USING source s ON {condition} WHEN MATCHED THEN DELETE").not_boolean
    assert clause is not None
    assert on is not None
    assert clause.error_class == "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
    assert on.error_class == "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"


def test_one_instant_for_the_whole_statement() -> None:
    """R-136: the functions of the current time become literals; a column or a string of that name does not."""
    merge = run(
        ON + "WHEN MATCHED THEN UPDATE SET v = f(current_timestamp(), NOW(), 'now()', current_date, t.`now`)",
        target="id INT, v INT, now INT",
        types=Answers(),
    )
    instant = "TIMESTAMP_LTZ'2026-01-02 03:04:05.000006 UTC'"
    assert merge.matched[0].values[1] == f"f({instant}, {instant}, 'now()', CAST({instant} AS DATE), target_2)"


def test_comments_at_the_end_of_an_expression_are_cut() -> None:
    """An expression is put into larger SQL, where a comment would swallow what follows."""
    merge = run("MERGE INTO target t USING source s ON t.id = s.id -- key\nWHEN MATCHED THEN DELETE")
    assert merge.condition.sql == "target_0 = source_0"


def test_spark_is_asked_once_for_what_the_schemas_do_not_tell() -> None:
    """Round trips are dear: one question for all, none for what follows from the types of columns and literals."""
    answers = Answers()
    run(
        ON + "WHEN MATCHED AND t.v IS NULL AND NOT t.id >= 3 THEN UPDATE SET v = abs(s.v) "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id + 1, abs(s.v))",
        types=answers,
    )
    assert [asked for asked in answers.asked if asked] == [("abs(source_1)",)]


def test_a_target_without_columns_is_refused() -> None:
    """R-141."""
    with pytest.raises(AnalysisError, match="DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET"):
        run("MERGE INTO target t USING source s ON true WHEN NOT MATCHED THEN INSERT *", target="")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Sum(x) + `max`(1) + t.min(2) + builtin.avg(3)", {"sum", "max", "avg"}),
        ("x LIKE ANY ('a') AND any (y)", {"any"}),
        ("(SELECT max(x) FROM y) + abs(1)", {"abs"}),
        ("(values.a) + length('count(1)')", {"length"}),
        ("a IN (1) AND f(g(h()))", {"in", "f", "g", "h"}),
    ],
)
def test_functions_are_told_from_what_looks_like_them(text: str, names: set[str]) -> None:
    """Functions of other schemas, LIKE ANY, strings and the insides of subqueries are no calls of this expression."""
    assert called_functions(text) == names


def test_subqueries_are_cut_out_whole() -> None:
    """Nested brackets belong to their query; a bracketed name is none."""
    text = "a IN (SELECT (b) FROM (SELECT 1)) OR EXISTS(WITH x AS (SELECT 2) SELECT * FROM x) OR (values.c) = (d)"
    assert subqueries(text) == ("(SELECT (b) FROM (SELECT 1))", "(WITH x AS (SELECT 2) SELECT * FROM x)")
