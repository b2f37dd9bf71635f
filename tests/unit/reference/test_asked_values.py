"""The seam to another evaluator, with one that knows a few expressions by heart and needs no Spark."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.model.types.data_types import BOOLEAN, STRING, VOID
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.reference.asked.evaluator import Answers
from mergecheck.reference.queries.source_query import SourceRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.expressions.names import Relation

SCHEMA = parse_schema("id BIGINT, v STRING")
IN_EXISTS = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"
HEAD = "MERGE INTO target t USING source s ON t.id = s.id"


class Failing(Exception):  # noqa: N818 - an expression's, in the words of the fake
    """The error of an expression of the fake."""


def boom(*_: Any) -> str:
    raise Failing("USER_RAISED_EXCEPTION")


def boom_above_one(*columns: Any) -> str:
    if columns[0] > 1:
        raise Failing("DIVIDE_BY_ZERO")
    return "small"


# Text, then the type and the function of the columns of its relations, by position.
KNOWN: dict[str, tuple[DataType, Callable[..., Any]]] = {
    "soundex(s.v)": (STRING, lambda *columns: f"<{columns[-1]}>"),
    "raise_error('no')": (VOID, boom),
    "sentences(s.v)": (STRING, boom_above_one),
    "soundex(t.v) = soundex(s.v)": (BOOLEAN, lambda _, v, _id, w: v == w),
    "soundex(t.v) = 'a'": (BOOLEAN, lambda _, v: v == "a"),
    "soundex(v) <> 'bad'": (BOOLEAN, lambda _, v: v != "bad"),
    "soundex('d')": (STRING, lambda *_: "default"),
    "soundex(v)": (STRING, lambda _, v, *__: f"<{v}>"),
    "`g` <=> (soundex(v))": (BOOLEAN, lambda _, v, g: g == f"<{v}>"),
    "string(DATE '2024-01-31' + INTERVAL '1 day 2.5 seconds')": (STRING, lambda *_: "2024-02-01 00:00:02.5"),
    "string(DATE '2024-01-31' + INTERVAL 1 DAY 1.5 SECONDS)": (STRING, lambda *_: "2024-02-01 00:00:01.5"),
    "t.id = s.id": (BOOLEAN, lambda i, _, j, __: i == j),
    "s.v": (STRING, lambda *columns: columns[-1]),
}


class FakeEvaluator:
    """Knows the expressions above, and one query; keeps the questions, and on how many rows."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    @contextmanager
    def opened(self, tables: Mapping[str, Any], conf: Mapping[str, str]) -> Iterator[FakeEvaluator]:
        assert "target" in tables
        assert conf is not None
        yield self

    def query(self, text: str) -> SourceRelation:
        if text != "SELECT * FROM source LIMIT 1":
            raise UnsupportedByReferenceError("another query")
        return SourceRelation(schema=SCHEMA, rows=((1, "limited"),))

    def type_of(self, text: str, relations: Sequence[Relation]) -> DataType:
        assert all(relation.schema.columns for relation in relations)
        if text not in KNOWN:
            raise RejectedError("UNRESOLVED_ROUTINE", text)
        return KNOWN[text][0]

    def values(self, texts: Sequence[str], relations: Sequence[Relation], rows: Sequence[Row]) -> list[Answers]:
        assert all(len(row) == sum(len(relation.schema.columns) for relation in relations) for row in rows)
        found = []
        for text in texts:
            self.rows[text] = self.rows.get(text, 0) + len(rows)
            values: list[Any] = []
            errors: list[str | None] = []
            for row in rows:
                try:
                    value, error = KNOWN[text][1](*row), None
                except Failing as failing:
                    value, error = None, str(failing)
                values.append(value)
                errors.append(error)
            found.append(Answers(tuple(values), tuple(errors)))
        return found


def merge(
    sql: str,
    *,
    source: tuple[Row, ...] = ((1, "x"), (3, "y")),
    evaluator: FakeEvaluator | None = None,
    always: bool = False,
    target: str = "id BIGINT, v STRING",
    **given: Any,
) -> Any:
    schema = parse_schema(target)
    files = (tuple((*row, *(None for _ in schema.columns[2:])) for row in ((1, "a"), (2, "b"))),)
    case = Case(
        id="asked",
        target=Target(schema=schema, files=files, **given),
        source=Source(schema=SCHEMA, rows=source),
        sql=sql,
    )
    return MergeReference(evaluator or FakeEvaluator(), always).evaluate(case)


def rows_of(reference: Any) -> list[Row]:
    assert isinstance(reference.answer, Prediction), reference.answer
    return sorted(reference.answer.rows, key=str)


def test_value_is_asked_for_as_it_is_written_where_its_clause_applies() -> None:
    evaluator = FakeEvaluator()
    reference = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)", evaluator=evaluator)
    assert rows_of(reference) == [(1, "<x>"), (2, "b")]
    assert reference.asked == ("soundex(s.v)",)
    assert evaluator.rows == {"soundex(s.v)": 1}


def test_without_an_evaluator_the_case_is_unsupported() -> None:
    case = Case(
        id="asked",
        target=Target(schema=SCHEMA, files=(((1, "a"),),)),
        source=Source(schema=SCHEMA, rows=((1, "x"),)),
        sql=f"{HEAD} WHEN MATCHED THEN UPDATE SET v = soundex(s.v)",
    )
    reference = MergeReference().evaluate(case)
    assert isinstance(reference.answer, Unsupported)
    assert reference.asked == ()


def test_nothing_is_asked_for_that_has_a_translation() -> None:
    assert merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = upper(s.v)").asked == ()


def test_everything_is_asked_for_on_request() -> None:
    reference = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = s.v", always=True)
    assert reference.asked == ("t.id = s.id", "s.v")
    assert rows_of(reference) == [(1, "x"), (2, "b")]


def test_search_condition_is_asked_for_on_all_pairs() -> None:
    evaluator = FakeEvaluator()
    sql = "MERGE INTO target t USING source s ON soundex(t.v) = soundex(s.v) WHEN MATCHED THEN DELETE"
    reference = merge(f"{sql} WHEN NOT MATCHED THEN INSERT *", source=((7, "a"), (8, "c")), evaluator=evaluator)
    assert rows_of(reference) == [(2, "b"), (8, "c")]
    assert evaluator.rows == {"soundex(t.v) = soundex(s.v)": 4}


@pytest.mark.parametrize("source", [(), ((7, "a"),)])
def test_a_search_condition_that_is_asked_for_may_fail_without_pairs(source: tuple[Row, ...]) -> None:
    """R-312: no pair of rows shows how its parts do on the rows of one table."""
    sql = "MERGE INTO target t USING source s ON soundex(t.v) = soundex(s.v) WHEN MATCHED THEN DELETE"
    reference = merge(sql, source=source)
    if source:
        assert rows_of(reference) == [(2, "b")]
    else:
        assert isinstance(reference.answer, Unsupported)
        assert reference.left_out == {"error"}
    # a translation shows that this one cannot fail
    assert rows_of(merge(f"{HEAD} WHEN MATCHED THEN DELETE", source=(), always=True)) == [(1, "a"), (2, "b")]


def test_condition_of_one_side_is_asked_for_on_the_rows_of_that_side() -> None:
    evaluator = FakeEvaluator()
    reference = merge(f"{HEAD} WHEN NOT MATCHED BY SOURCE AND soundex(t.v) = 'a' THEN DELETE", evaluator=evaluator)
    assert rows_of(reference) == [(1, "a"), (2, "b")]
    assert evaluator.rows == {"soundex(t.v) = 'a'": 2}


def test_value_of_type_void_is_evaluated() -> None:
    """``raise_error`` has no type that a column could have, and fails all the same."""
    reference = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = raise_error('no')")
    assert isinstance(reference.answer, Rejection)
    assert reference.answer.error_class == "USER_RAISED_EXCEPTION"
    unused = merge(f"{HEAD} WHEN MATCHED AND s.id > 5 THEN UPDATE SET v = raise_error('no')")
    assert rows_of(unused) == [(1, "a"), (2, "b")]


def test_error_class_is_that_of_the_rows_to_which_the_clause_applies() -> None:
    sql = f"{HEAD} WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, sentences(s.v))"
    reference = merge(sql)
    assert isinstance(reference.answer, Rejection)
    assert reference.answer.error_class == "DIVIDE_BY_ZERO"
    assert rows_of(merge(sql, source=((0, "z"),))) == [(0, "small"), (1, "a"), (2, "b")]


def test_source_query_is_asked_for() -> None:
    sql = "MERGE INTO target t USING (SELECT * FROM source LIMIT 1) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    reference = merge(sql)
    assert rows_of(reference) == [(1, "limited"), (2, "b")]
    assert reference.asked == ("SELECT * FROM source LIMIT 1",)


def test_check_constraint_is_asked_for() -> None:
    properties = {"delta.constraints.good": "soundex(v) <> 'bad'"}
    sql = f"{HEAD} WHEN MATCHED THEN UPDATE SET v = s.v"
    assert rows_of(merge(sql, properties=properties)) == [(1, "x"), (2, "b")]
    broken = merge(sql, properties=properties, source=((1, "bad"),)).answer
    assert isinstance(broken, Rejection)
    assert broken.error_class == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"


def test_default_and_generated_column_are_asked_for() -> None:
    sql = f"{HEAD} WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    filled = merge(sql, target="id BIGINT, v STRING DEFAULT soundex('d')")
    assert (3, "default") in rows_of(filled)
    computed = merge(
        f"{HEAD} WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
        target="id BIGINT, v STRING, g STRING GENERATED ALWAYS AS (soundex(v))",
    )
    assert (3, "y", "<y>") in rows_of(computed)


@pytest.mark.parametrize(
    ("value", "error_class"),
    [
        ("soundex(*)", "INVALID_USAGE_OF_STAR_OR_REGEX"),
        ("no_such(s.v)", "UNRESOLVED_ROUTINE"),
        ("string(EXISTS (SELECT 1 FROM source))", IN_EXISTS),
        ("string(s.id IN (SELECT id FROM source))", IN_EXISTS),
    ],
)
def test_what_a_merge_refuses_is_refused_although_a_query_may_have_it(value: str, error_class: str) -> None:
    answer = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = {value}").answer
    assert isinstance(answer, Rejection)
    assert answer.error_class == error_class


@pytest.mark.parametrize("value", ["uuid()", "soundex(string(rand()))", "string(current_timestamp())"])
def test_what_no_oracle_can_know_is_not_asked_for(value: str) -> None:
    answer = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = {value}").answer
    assert answer == Unsupported("a value that no oracle can know")


@pytest.mark.parametrize(
    ("interval", "value"),
    [
        ("INTERVAL '1 day 2.5 seconds'", "2024-02-01 00:00:02.5"),
        ("INTERVAL 1 DAY 1.5 SECONDS", "2024-02-01 00:00:01.5"),
    ],
)
def test_an_interval_that_sqlglot_misreads_is_asked_for(interval: str, value: str) -> None:
    """DuckDB never evaluates a text with units inside, nor a count with a fraction."""
    text = f"string(DATE '2024-01-31' + {interval})"
    reference = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = {text}")
    assert (1, value) in rows_of(reference)
    assert reference.asked == (text,)


def test_exists_of_an_array_is_no_subquery_of_a_value() -> None:
    """A value may call the function ``exists``; only EXISTS with a query is refused there."""
    reference = merge(f"{HEAD} WHEN MATCHED THEN UPDATE SET v = string(exists(array(s.id), x -> x > 0))")
    assert (1, "true") in rows_of(reference)
