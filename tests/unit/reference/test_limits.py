"""Small files that would cost minutes: one message when they are read, or an answer in seconds."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from mergecheck.model.case_file import case_from_json, parse_cases
from mergecheck.model.errors import CaseFormatError, UnsupportedByReferenceError
from mergecheck.model.limits import MAX_CELLS, MAX_CHARACTERS, MAX_DEPTH, MAX_DOCUMENT, MAX_FIELDS, MAX_WORDS
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.reference.evaluation.failures import interrupted_late, rejection_of
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_grammar import SPARK
from mergecheck.reference.syntax.spark_tokens import read_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = {"schema": "id INT, v STRING", "rows": [[1, "a"]]}
PLAIN = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def document(condition: str = "TRUE", **parts: Any) -> dict[str, Any]:
    sql = PLAIN.replace("t.id = s.id", f"t.id = s.id AND {condition}")
    return {"format_version": 1, "id": "large", "target": TABLE, "source": TABLE, "sql": sql, **parts}


def nested_type(depth: int) -> str:
    return "ARRAY<" * depth + "INT" + ">" * depth


def columns(number: int) -> str:
    return ", ".join(f"c{i} INT" for i in range(number))


@pytest.mark.parametrize(
    ("large", "said"),
    [
        (document(" + ".join(["s.id"] * 12_000) + " > 0"), "words and symbols of SQL"),
        ({**document(), "sql": PLAIN + " WHEN MATCHED AND s.id = 1 THEN DELETE" * 3_000}, "words and symbols of SQL"),
        (document(f"s.id IN ({','.join(map(str, range(100_000)))})"), "words and symbols of SQL"),
        (document("(" * 100_000 + "TRUE" + ")" * 100_000), "words and symbols of SQL"),
        (document("(" * 100_000), "words and symbols of SQL"),
        (document("s.id = " + "9" * 1_000_000), "characters of SQL"),
        (document(f"s.v = '{'a' * 1_000_000}'"), "characters of SQL"),
        (document(target={"schema": f"id INT, v STRING DEFAULT {'a' * 1_000_000}", "rows": []}), "characters of SQL"),
        (document(target={"schema": columns(20_000), "rows": []}), "columns and fields"),
        (document(source={"schema": f"id INT, v STRUCT<{columns(2_000)}>", "rows": []}), "columns and fields"),
        (document(target={"schema": f"id INT, v {nested_type(51)}", "rows": []}), "types inside each other"),
        (document(target={"schema": f"id INT, v {nested_type(400)}", "rows": []}), "types inside each other"),
        (document(target={"schema": f"id INT, v {nested_type(100_000)}", "rows": []}), "is nested too deeply"),
        (document(target={"schema": "id INT, v STRING", "rows": [[1, "a"]] * 50_001}), "cells"),
        (document(layout=[[]]), "unknown key"),
    ],
)
def test_what_is_too_large_is_refused_when_it_is_read(large: dict[str, Any], said: str) -> None:
    """By one short message."""
    begin = time.process_time()
    with pytest.raises(CaseFormatError, match=said) as refused:
        case_from_json(large, where="file")
    assert len(str(refused.value)) < 2_000
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    "text", ['{"id": ' + "[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a": 1' + "0" * 6_000 + "}"]
)
def test_json_that_is_deep_or_has_long_numbers_is_refused(text: str) -> None:
    with pytest.raises(CaseFormatError):
        parse_cases(text, name="file", lines=False)


def test_a_document_of_too_many_characters_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(CaseFormatError, match="characters of JSON"):
        parse_cases(" " * (MAX_DOCUMENT + 1), name="file", lines=False)


@pytest.mark.parametrize("exponent", ["1e999999999", "1e-999999999", "1e" + "9" * 30, "9" * 5_000, "1." + "0" * 5_000])
def test_numbers_beyond_all_types_take_no_time(exponent: str) -> None:
    begin = time.process_time()
    MergeReference().evaluate(case_from_json(document(f"s.id < {exponent}"), where="file"))
    assert time.process_time() - begin < 5


def test_the_largest_that_is_read_is_evaluated() -> None:
    """The limits are far above what people write: a type of 50 levels, and a row of 500 columns."""
    assert MAX_DEPTH == 50
    assert MAX_FIELDS >= 1_000
    assert MAX_CELLS >= 50_000
    assert MAX_WORDS < MAX_CHARACTERS
    deep = {"schema": f"id INT, v {nested_type(MAX_DEPTH - 2)}", "rows": [[1, None]]}
    wide = {"schema": columns(500).replace("c0", "id"), "rows": [[1] * 500]}
    for table in (deep, wide):
        answer = MergeReference().evaluate(case_from_json(document(target=table, source=table), where="file")).answer
        assert isinstance(answer, Prediction)


LISTS: dict[str, Callable[[int], str]] = {
    "terms": lambda n: document(" + ".join(["s.id"] * n) + " = 1")["sql"],
    "conjunctions": lambda n: document(" AND ".join(["s.id = 1"] * n))["sql"],
    "clauses": lambda n: PLAIN + " WHEN MATCHED AND s.id = 1 THEN DELETE" * (n // 3),
    "arguments": lambda n: document(f"concat({','.join(['s.v'] * n)}) = ''")["sql"],
    "rows": lambda n: PLAIN.replace("source s", f"(VALUES {','.join(['(1, 2)'] * (n // 2))}) s"),
    "unions": lambda n: PLAIN.replace("source", f"({' UNION ALL '.join(['SELECT * FROM source'] * n)})"),
    "strings": lambda n: document("s.v = " + "'a' " * n)["sql"],
}


@pytest.mark.parametrize("kind", LISTS)
def test_the_time_to_read_a_list_grows_as_the_list(kind: str) -> None:
    """Four times the members take about four times the time: sixteen times would be a square."""

    def seconds(number: int) -> float:
        tokens = read_tokens(LISTS[kind](number))
        gc.collect()
        gc.disable()  # its passes over all objects of the test run are none of the reader's
        try:
            begin = time.process_time()
            assert isinstance(SPARK.read("statement", tokens), Tree)
            return time.process_time() - begin
        finally:
            gc.enable()

    seconds(50)
    small = min(seconds(400) for _ in range(3))
    assert seconds(1_600) < 9 * small


def test_a_query_that_takes_too_long_is_given_up() -> None:
    with duckdb.connect() as connection, interrupted_late(connection, 0.2) as late:
        begin = time.monotonic()
        with pytest.raises(duckdb.InterruptException) as raised:
            connection.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range < 0")
        assert time.monotonic() - begin < 30
        assert late.is_set()
    with pytest.raises(UnsupportedByReferenceError, match="60 s in DuckDB"):
        rejection_of(raised.value)


def test_an_expression_that_is_too_deep_for_duckdb_is_unsupported() -> None:
    """DuckDB nests what Spark takes side by side."""
    answer = MergeReference().evaluate(
        case_from_json(document(f"concat({','.join(['s.v'] * 1_200)}) <> ''"), where="f")
    )
    assert isinstance(answer.answer, Unsupported)
    assert "too deep for DuckDB" in answer.answer.reason
