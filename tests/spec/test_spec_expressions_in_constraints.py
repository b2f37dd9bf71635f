"""R-747: what CHECK constraints and invariants may hold, and when a merge fails for it.

``expressions_in_constraints.json`` has Delta Lake 4.4's answer for each constraint and merge: the error class, or null
if the merge succeeds. The reference and the merge are held to it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import BooleanType, IntegerType, StructType, TimestampType

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.expressions.functions import reads_tables
from mergecheck.merge.table.writing.checks import VIOLATED, table_checks
from mergecheck.model.case_file import case_from_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.model.case import Case

ANSWERS = json.loads(Path(__file__).with_name("expressions_in_constraints.json").read_text(encoding="utf-8"))
REFERENCE = MergeReference()
AT = "2020-01-01 00:00:00"
CELLS = [
    (name, place, merge)
    for name, entry in ANSWERS["constraints"].items()
    for place in ("CHECK", "INVARIANT")
    for merge in entry[place]
]
LEFT_TO_SPARK = {"nofn"}
"""What only Spark finds: the reference has no list of all functions."""
QUERIES = {"correlated"}
"""The questions of the merge to Spark when it plans the write."""


def case_of(text: str, place: str, merge: str) -> Case:
    """Make a case whose target has a constraint."""
    given = ANSWERS["merges"][merge]
    properties, invariant = dict(given["properties"]), ""
    if place == "CHECK":
        properties["delta.constraints.c"] = text
    else:
        invariant = f" INVARIANT ({text})"
    schema = f"id INT, ts TIMESTAMP, v BOOLEAN{invariant}, w STRUCT<start: TIMESTAMP, `end`: TIMESTAMP>"
    rows: list[list[Any]] = [] if merge == "empty source" else [[1, AT], [9, AT]]
    document = {
        "format_version": 1,
        "id": "constraint",
        "target": {"schema": schema, "rows": [[1, AT, True, None], [2, AT, True, None]], "properties": properties},
        "source": {"schema": "id INT, ts TIMESTAMP", "rows": rows},
        "sql": f"MERGE INTO target t USING source s ON t.id = s.id {given['clauses']}",
    }
    return case_from_json(document, where="test")


@pytest.mark.parametrize(("name", "place", "merge"), CELLS)
def test_the_reference_answers_as_delta_does(name: str, place: str, merge: str) -> None:
    """It refuses what Delta refuses, when Delta does and by its class, and nothing else."""
    entry = ANSWERS["constraints"][name]
    wanted = entry[place][merge]

    answer = REFERENCE.evaluate(case_of(entry["text"], place, merge)).answer

    if name in LEFT_TO_SPARK:
        assert isinstance(answer, Unsupported)
    elif wanted is None:
        assert isinstance(answer, Prediction), answer
    else:
        assert isinstance(answer, Rejection), answer
        assert not answer.other_classes
        assert wanted == answer.error_class or wanted.startswith(f"{answer.error_class}."), answer


@pytest.mark.parametrize("name", ANSWERS["constraints"])
def test_the_merge_sorts_constraints_as_delta_does(name: str) -> None:
    """A constraint keeps it from planning a write, or it fails on each row, or it is a condition like others."""
    entry = ANSWERS["constraints"][name]
    wanted = entry["CHECK"]["insert"]
    schema = (
        StructType()
        .add("id", IntegerType())
        .add("ts", TimestampType())
        .add("v", BooleanType())
        .add("w", StructType().add("start", TimestampType()).add("end", TimestampType()))
    )
    (check,) = table_checks({"delta.constraints.c": entry["text"]}, schema)
    found = check.error_class if check.refusal is None else check.refusal.error_class
    if name in QUERIES:
        assert check.refusal is not None
    elif wanted is None or name in LEFT_TO_SPARK:
        assert (found, check.refusal) == (VIOLATED, None)
    else:
        assert found == wanted


UNCOMPUTED, IN_PLAN, INTERNAL = "DELTA_CANNOT_RESOLVE_EXPRESSION", "INVALID_USAGE_OF_STAR_OR_REGEX", "INTERNAL_ERROR"
GENERATED = [
    ("coalesce(*)", "WHEN MATCHED THEN UPDATE SET v = 5", UNCOMPUTED),
    ("coalesce(*)", "WHEN MATCHED AND s.v = 77 THEN UPDATE SET v = 5", UNCOMPUTED),
    ("coalesce(*)", "AND s.v = 77 WHEN MATCHED THEN UPDATE SET v = 5", UNCOMPUTED),
    ("coalesce(*)", "WHEN MATCHED THEN UPDATE SET id = 1", UNCOMPUTED),
    ("coalesce(*)", "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)", UNCOMPUTED),
    ("coalesce(*)", "WHEN NOT MATCHED THEN INSERT (id, v, g) VALUES (s.id, s.v, 3)", IN_PLAN),
    ("coalesce(*)", "WHEN MATCHED THEN UPDATE SET g = 3", IN_PLAN),
    ("coalesce(*)", "WHEN MATCHED THEN DELETE", IN_PLAN),
    ("IDENTIFIER('v')", "WHEN MATCHED THEN UPDATE SET v = 5", INTERNAL),
    ("IDENTIFIER('v')", "AND s.v = 77 WHEN MATCHED THEN UPDATE SET v = 5", None),
    ("IDENTIFIER('v')", "WHEN NOT MATCHED THEN INSERT (id, v, g) VALUES (s.id, s.v, 30)", INTERNAL),
    ("IDENTIFIER('v')", "WHEN MATCHED THEN DELETE", INTERNAL),
    ("IDENTIFIER('abs')(v)", "WHEN MATCHED THEN UPDATE SET v = 5", None),
]


@pytest.mark.parametrize(("text", "clauses", "wanted"), GENERATED)
def test_a_generated_column_is_checked_by_the_same_rules(text: str, clauses: str, wanted: str | None) -> None:
    """A star in it is met earlier where a clause computes the column; Delta Lake 4.4 was asked."""
    document = {
        "format_version": 1,
        "id": "generated",
        "target": {"schema": f"id INT, v INT, g INT GENERATED ALWAYS AS ({text})", "rows": [[1, 1, 1]]},
        "source": {"schema": "id INT, v INT", "rows": [[1, 10], [3, 30]]},
        "sql": f"MERGE INTO target t USING source s ON t.id = s.id {clauses}",
    }
    answer = REFERENCE.evaluate(case_from_json(document, where="test")).answer
    assert isinstance(answer, Prediction if wanted is None else Rejection), answer
    assert wanted is None or (answer.error_class, answer.other_classes) == (wanted, frozenset())


@pytest.mark.parametrize(
    ("text", "refusal"), [("coalesce(*)", IN_PLAN), ("IDENTIFIER('v')", INTERNAL), ("IDENTIFIER('abs')(v)", None)]
)
def test_the_merge_checks_a_generated_column_by_the_same_rules(text: str, refusal: str | None) -> None:
    """Its merges are in tests/regress/expressions-of-a-table.jsonl."""
    schema = StructType().add("v", IntegerType())
    schema = schema.add("g", IntegerType(), metadata={"delta.generationExpression": text})
    (check,) = table_checks({}, schema)
    assert (None if check.refusal is None else check.refusal.error_class) == refusal


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("n IN (SELECT id FROM source)", True),
        ("EXISTS (SELECT 1 FROM a.b.c WHERE 1 = 1)", True),
        ("EXISTS (SELECT 1 FROM (SELECT 1) q JOIN source)", True),
        ("n IN (TABLE source)", True),
        ("(SELECT max(x) FROM range(3) AS q(x)) > 0", False),
        ("(WITH q AS (SELECT 1 AS x) SELECT x FROM q) = 1", False),
        ("(SELECT 1 FROM (SELECT 1)) = 1", False),
        ("EXISTS (SELECT 1 WHERE 1 IS DISTINCT FROM n)", False),
        ("n > 0", False),
    ],
)
def test_a_table_in_a_subquery_is_seen(text: str, *, reads: bool) -> None:
    """R-747: Delta finds no table there, so both sides distinguish such subqueries from others."""
    assert reads_tables(text) is reads
    answer = REFERENCE.evaluate(numbers(text, "1")).answer
    assert (isinstance(answer, Rejection) and answer.error_class == "TABLE_OR_VIEW_NOT_FOUND") is reads, answer


@pytest.mark.parametrize(
    ("text", "sets", "fails"),
    [
        ("n = 0 OR 10 DIV n > 1", "0", None),
        ("10 DIV n > 1 OR n = 0", "0", "DIVIDE_BY_ZERO"),
        ("n <> 0 AND 10 DIV n > 1", "0", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("n IS NOT NULL OR 10 DIV n > 1", "NULL", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ("sum(n) > 0 AND n > 5", "7", "INTERNAL_ERROR"),
    ],
)
def test_what_the_left_side_decides_is_not_looked_at(text: str, sets: str, fails: str | None) -> None:
    """Constraints are evaluated in order, whatever an optimizer does elsewhere."""
    answer = REFERENCE.evaluate(numbers(text, sets)).answer

    assert (answer.error_class if isinstance(answer, Rejection) else None) == fails, answer


def numbers(text: str, sets: str, **properties: str) -> Case:
    """Make a case with a constraint over an INT that a merge sets."""
    document = {
        "format_version": 1,
        "id": "numbers",
        "target": {"schema": "id INT, n INT", "rows": [[1, 1]], "properties": {"delta.constraints.c": text}},
        "source": {"schema": "id INT", "rows": [[1]]},
        "sql": f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = {sets}",
    }
    case = case_from_json(document, where="test")
    return replace(case, target=replace(case.target, properties={**case.target.properties, **properties}))


def test_a_part_without_a_value_that_may_be_left_out_is_unsupported() -> None:
    """Neither side predicts the result."""
    assert isinstance(REFERENCE.evaluate(numbers("n > 0 OR sum(n) > 0", "1")).answer, Unsupported)
    with pytest.raises(UnsupportedStatementError, match="the constraint c with the expression id > 0 OR sum"):
        table_checks({"delta.constraints.c": "id > 0 OR sum(id) > 0"}, StructType().add("id", IntegerType()))


def test_of_a_constraint_that_fails_and_one_that_is_broken_either_may_be_met_first() -> None:
    """R-254: in one row, too."""
    case = numbers("10 DIV n > 1", "0", **{"delta.constraints.d": "n > 5"})

    answer = REFERENCE.evaluate(case).answer

    assert isinstance(answer, Rejection), answer
    assert {answer.error_class, *answer.other_classes} == {"DIVIDE_BY_ZERO", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"}


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT 1)",
        "EXISTS (SELECT 1)",
        "n IN (SELECT 1)",
        "(VALUES (1))",
        "(WITH q AS (SELECT 1) SELECT * FROM q)",
        "count(*)",
        "`sum`(n)",
        "system.builtin.max(n)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY n)",
        "row_number() OVER (ORDER BY n)",
        "row_number()",
        "sum(n) OVER w",
        "explode(array(n))",
        "window(TIMESTAMP'2020-01-01', '1 hour').start",
        "grouping(n)",
    ],
)
@pytest.mark.parametrize("place", ["DEFAULT ({text})", "GENERATED ALWAYS AS ({text})"])
def test_a_column_with_what_no_statement_gives_it_is_refused(text: str, place: str) -> None:
    """The message names the column and its fault."""
    schema = f"id INT, n INT {place.format(text=text)}"
    document = {"format_version": 1, "id": "c", "target": {"schema": schema, "rows": []}, "source": {}, "sql": ""}
    with pytest.raises(CaseFormatError, match=r"of column 'n' has a.*, so that no statement creates the table"):
        case_from_json(document, where="test")


@pytest.mark.parametrize(
    "text",
    [
        "'SELECT'",
        "'sum(1)'",
        "`sum`",
        "(`values`)",
        "exists(array(1), x -> x > 0)",
        "'x' LIKE ANY ('x')",
        "array_max(a)",
    ],
)
def test_columns_may_have_what_only_looks_like_it(text: str) -> None:
    """Texts, names of columns, predicates and other functions."""
    document = {
        "format_version": 1,
        "id": "c",
        "target": {"schema": f"id INT, n STRING GENERATED ALWAYS AS ({text})", "rows": []},
        "source": {"schema": "id INT", "rows": []},
        "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
    }
    assert case_from_json(document, where="test").target.schema.columns[1].generated == text
