"""CHECK constraints and generated columns as conditions over positional columns, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.table.writing.checks import Check, table_checks


def schema(*names: str, generated: dict[str, str] | None = None) -> t.StructType:
    expressions = generated or {}
    return t.StructType(
        [
            t.StructField(
                name,
                t.StructType([t.StructField("x.y", t.LongType())]) if name == "s" else t.LongType(),
                metadata={"delta.generationExpression": expressions[name]} if name in expressions else {},
            )
            for name in names
        ]
    )


def only(text: str, *names: str) -> Check:
    (check,) = table_checks({"delta.constraints.c": text}, schema(*names))
    return check


def test_a_table_without_constraints_has_no_checks() -> None:
    """Other properties mean nothing here."""
    assert table_checks({"delta.appendOnly": "true"}, schema("id")) == ()


def test_constraints_are_in_the_order_of_their_names() -> None:
    """Whatever the order of the properties, so that the same one is reported for a row that breaks both."""
    properties = {"delta.constraints.b": "id > 1", "delta.constraints.a": "id > 0"}
    for given in (properties, dict(reversed(properties.items()))):
        checks = table_checks(given, schema("id"))
        assert [check.name for check in checks] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "names", "sql"),
    [
        ("n > 0", ("id", "n"), "target_1 > 0"),
        ("((N > 0))", ("id", "n"), "target_1 > 0"),
        ("(n > 0) OR (id > 1)", ("id", "n"), "(target_1 > 0) OR (target_0 > 1)"),
        ("`a.b` <> `c d```", ("a.b", "c d`"), "target_0 <> target_1"),
        ("s.`x.y` IN (1, n)", ("n", "s"), "target_1.`x.y` IN (1, target_0)"),
        ("n = 'n' -- and so on", ("n",), "target_0 = 'n'"),
    ],
)
def test_names_of_columns_become_positions(text: str, names: tuple[str, ...], sql: str) -> None:
    """Whatever the columns are called; strings, fields and brackets inside stay as they are."""
    assert only(text, *names).sql == sql


def test_messages_name_the_constraint_and_its_columns() -> None:
    """R-742: the condition without its own brackets, and only the columns that it refers to."""
    check = only("(b + a > 0)", "a", "b", "c")
    assert (check.name, check.text, dict(check.columns)) == ("c", "b + a > 0", {"target_0": "a", "target_1": "b"})


@pytest.mark.parametrize(("text", "sql"), [("N > 0", "target_0 > 0"), ("no > 0", "NULL > 0"), ("t.n > 0", "NULL > 0")])
def test_names_mean_columns_in_any_case_and_others_are_null(text: str, sql: str) -> None:
    """R-747: whatever the session's case rule is."""
    assert only(text, "n").sql == sql


@pytest.mark.parametrize(
    "text",
    [
        "rand() < 2",
        "RAND(1) < 2 AND n > 0",
        "uuid() > ''",
        "shuffle(array(n)) IS NOT NULL",
        "`randn`() < 9",
        "reflect('java.lang.Math', 'abs', n) > ''",
        "uniform(1, 5) > 0",
        "randstr(3) > ''",
    ],
)
def test_what_takes_a_start_in_each_task_fails_on_a_row(text: str) -> None:
    """R-747: Delta does not start it, so no row can be written."""
    check = only(text, "n")
    assert (check.error_class, check.refusal, check.sql) == ("SparkException", None, "false")


@pytest.mark.parametrize(
    "text",
    [
        "n > 0 OR rand() < 2",
        "rand() < 2 AND sum(n) > 0",
        "input_file_name() = ''",
        "input_file_block_start() < 0",
        "spark_partition_id() >= 0",
        "monotonically_increasing_id() < 9",
    ],
)
def test_what_may_not_be_computed_or_depends_on_the_plan_is_unsupported(text: str) -> None:
    """R-747: the constraint is named."""
    with pytest.raises(UnsupportedStatementError, match="the constraint c with the expression"):
        only(text, "n")


def test_an_expression_beyond_our_parser_is_refused() -> None:
    """Rows that cannot be checked are not written; the constraint is named."""
    with pytest.raises(UnsupportedStatementError, match=r"the constraint c with the expression \(n >>>>"):
        only("(n >>>> )", "n")


def test_generated_columns_are_checked_after_constraints() -> None:
    """R-222: null-safe equality with the expression, whatever the column is called."""
    columns = schema("key", "case g", generated={"case g": "(key * 10)"})
    found = table_checks({"delta.constraints.c": "key > 0"}, columns)
    assert [(check.name, check.text) for check in found] == [
        ("c", "key > 0"),
        ("Generated Column", "case g <=> (key * 10)"),
    ]
    assert found[1].sql == "target_1 <=> (target_0 * 10)"
