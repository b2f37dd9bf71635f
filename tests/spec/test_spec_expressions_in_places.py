"""R-117, R-130 to R-134, R-137, R-138: which expressions may stand where in a merge.

``expressions_in_places.json`` has Delta Lake 4.4's answer for each expression in each place: the error class, or null
if the merge succeeds. The reference and the merge are held to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, StringType, StructType, TimestampType

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import MergeError
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Rejection
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPRESSIONS = json.loads(Path(__file__).with_name("expressions_in_places.json").read_text(encoding="utf-8"))
REFERENCE = MergeReference()
DDL = (
    "id INT, v INT, ts TIMESTAMP, a ARRAY<INT>, st STRUCT<p: STRING, q: STRING>, "
    "w STRUCT<start: TIMESTAMP, `end`: TIMESTAMP>"
)
SCHEMA = (
    StructType()
    .add("id", IntegerType())
    .add("v", IntegerType())
    .add("ts", TimestampType())
    .add("a", ArrayType(IntegerType()))
    .add("st", StructType().add("p", StringType()).add("q", StringType()))
    .add("w", StructType().add("start", TimestampType()).add("end", TimestampType()))
)
STATEMENTS = {
    "ON": "AND {source_condition} WHEN MATCHED THEN UPDATE SET v = s.v",
    "MATCHED AND": "WHEN MATCHED AND {source_condition} THEN UPDATE SET v = s.v",
    "NOT MATCHED AND": "WHEN NOT MATCHED AND {source_condition} THEN INSERT *",
    "NOT MATCHED BY SOURCE AND": "WHEN NOT MATCHED BY SOURCE AND {target_condition} THEN UPDATE SET v = 77",
    "SET": "WHEN MATCHED THEN UPDATE SET {column} = {source_value}",
    "SET by source": "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET {column} = {target_value}",
    "VALUES": "WHEN NOT MATCHED THEN INSERT (id, {column}) VALUES (s.id, {source_value})",
}


def statement(name: str, place: str) -> str:
    """Write an expression in a place: over the target's columns where only these are in scope."""
    entry = EXPRESSIONS[name]
    texts = {
        f"{side}_{kind}": entry[kind].format(x=side[0])
        for side in ("source", "target")
        for kind in ("value", "condition")
    }
    clause = STATEMENTS[place].format(column=entry["column"], **texts)
    return f"MERGE INTO target t USING source s ON t.id = s.id {clause}"


LEFT_TO_SPARK = {"correlated scalar"}
"""Spark's answers when the merge asks it for types, or for the fault of a text."""
CELLS = [(name, place) for name, entry in EXPRESSIONS.items() for place in entry["answers"]]


@pytest.mark.parametrize(("name", "place"), CELLS)
def test_the_reference_answers_as_delta_does(name: str, place: str) -> None:
    """It refuses what Delta refuses, by its class, and nothing else; what needs Spark's values may be unsupported."""
    wanted = EXPRESSIONS[name]["answers"][place]
    document = {
        "format_version": 1,
        "id": name,
        "target": {"schema": DDL, "rows": [[1, 1, None, [1], None, None], [3, 3, None, [3], None, None]]},
        "source": {"schema": DDL, "rows": [[1, 9, None, [1], None, None], [8, 8, None, [8], None, None]]},
        "sql": statement(name, place),
    }

    answer = REFERENCE.evaluate(case_from_json(document, where="test")).answer

    if wanted is None:
        assert not isinstance(answer, Rejection), answer
        return
    assert isinstance(answer, Rejection), answer
    assert any(is_class(wanted, known) for known in (answer.error_class, *answer.other_classes)), answer


@pytest.mark.parametrize(("name", "place"), [cell for cell in CELLS if cell[0] not in LEFT_TO_SPARK])
def test_the_merge_answers_as_delta_does(name: str, place: str) -> None:
    """It refuses what Delta refuses, with its class, and nothing else; a few texts are none that it reads."""
    wanted = EXPRESSIONS[name]["answers"][place]
    found = None
    try:
        resolve(
            parse_merge(statement(name, place)),
            target_schema=SCHEMA,
            source_schema=SCHEMA,
            conf=MergeConf(),
            types=Integers(),
        )
    except MergeError as error:
        found = error.error_class

    assert found is None if wanted is None else is_class(wanted, found or ""), found


class Integers:
    """Takes every expression for an INT; faults are found without the type."""

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        return tuple(IntegerType() for _ in expressions)


def is_class(wanted: str, found: str) -> bool:
    """Compare classes; the one found may be the first part of the one wanted."""
    return wanted == found or wanted.startswith(f"{found}.")
