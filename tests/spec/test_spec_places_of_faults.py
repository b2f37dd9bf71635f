"""A rejection names the clause and the column at fault, in the reference and in the merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructType
from reference_cases import merge

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import MergeError
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Sequence

DDL = "k INT, v INT, st STRUCT<x: INT, y: TINYINT>, b BOOLEAN, nn INT NOT NULL"
SOURCE_DDL = "k INT, n INT, z INT, txt STRING, big BIGINT"
TARGET = (
    StructType()
    .add("k", IntegerType())
    .add("v", IntegerType())
    .add("st", StructType().add("x", IntegerType()).add("y", IntegerType()))
    .add("b", BooleanType())
    .add("nn", IntegerType(), nullable=False)
)
SOURCE = (
    StructType()
    .add("k", IntegerType())
    .add("n", IntegerType())
    .add("z", IntegerType())
    .add("txt", StringType())
    .add("big", LongType())
)
DELETES = "WHEN MATCHED AND s.n = 77 THEN DELETE "
FIRST, SECOND, INSERT = "clause 1 WHEN MATCHED", "clause 2 WHEN MATCHED", "clause 2 WHEN NOT MATCHED"
OF_THE_STATEMENT = [
    ("WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k)", INSERT),
    ("WHEN NOT MATCHED THEN INSERT (k, nothing) VALUES (s.k, 1)", INSERT),
    ("WHEN NOT MATCHED THEN INSERT (k, v, v) VALUES (s.k, 1, 2)", INSERT),
    ("WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.nothing)", f"{INSERT}, column v"),
    ("WHEN NOT MATCHED AND rand() > 1 THEN INSERT (k) VALUES (s.k)", INSERT),
    ("WHEN MATCHED THEN UPDATE SET v = 1 WHEN MATCHED THEN DELETE", SECOND),
    ("WHEN MATCHED THEN UPDATE SET v = s.nothing", f"{SECOND}, column v"),
    ("WHEN MATCHED THEN UPDATE SET st.x = s.nothing", f"{SECOND}, column st.x"),
    ("WHEN MATCHED THEN UPDATE SET nothing = 1", SECOND),
    ("WHEN MATCHED AND s.nothing > 1 THEN DELETE", SECOND),
    ("WHEN MATCHED AND k = 1 THEN DELETE", SECOND),
    ("WHEN MATCHED AND max(s.n) > 1 THEN DELETE", SECOND),
    ("WHEN MATCHED THEN UPDATE SET v = max(s.n)", f"{SECOND}, column v"),
    ("WHEN MATCHED THEN UPDATE SET v = explode(array(1))", f"{SECOND}, column v"),
    ("WHEN MATCHED THEN UPDATE SET v = struct(*).n", f"{SECOND}, column v"),
    ("WHEN MATCHED THEN UPDATE SET v = DEFAULT", f"{SECOND}, column v"),
    ("WHEN MATCHED THEN UPDATE SET v = 1, v = 2", SECOND),
    ("WHEN NOT MATCHED BY SOURCE AND s.n = 1 THEN DELETE", "clause 2 WHEN NOT MATCHED BY SOURCE"),
]
OF_TYPES = [
    ("WHEN MATCHED THEN UPDATE SET st = s.n", f"{SECOND}, column st"),
    ("WHEN MATCHED THEN UPDATE SET st.x = array(1)", f"{SECOND}, column st"),
    ("WHEN NOT MATCHED THEN INSERT (k, st) VALUES (s.k, s.n)", f"{INSERT}, column st"),
    ("WHEN MATCHED AND s.n THEN DELETE", SECOND),
]
OF_ROWS = [
    ("WHEN MATCHED THEN UPDATE SET v = s.n DIV s.z", f"{SECOND}, column v: a new value"),
    ("WHEN MATCHED THEN UPDATE SET v = CAST(s.txt AS INT)", f"{SECOND}, column v: a new value"),
    ("WHEN MATCHED THEN UPDATE SET v = s.big", f"{SECOND}, column v: a new value"),
    (
        "WHEN MATCHED THEN UPDATE SET v = s.big, k = s.n DIV s.z",
        f"{SECOND}, column k (DIVIDE_BY_ZERO), column v (DELTA_CAST_OVERFLOW_IN_TABLE_WRITE): a new value",
    ),
    ("WHEN MATCHED THEN UPDATE SET nn = NULL", f"{SECOND}, NOT NULL of column nn: violated"),
    ("WHEN MATCHED THEN UPDATE SET v = -5", f"{SECOND}, constraint pos (v > 0): violated"),
    ("WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 1)", f"{INSERT}, NOT NULL of column nn: violated"),
]


@pytest.mark.parametrize(("clause", "place"), [*OF_THE_STATEMENT, *OF_TYPES, *OF_ROWS])
def test_the_reference_names_the_place(clause: str, place: str) -> None:
    """The clause by its number in the statement, and the column if it is a value's fault."""
    answer = merge(
        DELETES + clause,
        target=[[1, 1, None, True, 1]],
        source=[[1, 1, 0, "x", 3_000_000_000], [9, 1, 0, "x", 3_000_000_000]],
        schema=DDL,
        source_schema=SOURCE_DDL,
        properties={"delta.constraints.pos": "v > 0"},
    ).answer

    assert isinstance(answer, Rejection), answer
    assert answer.message.startswith(place)


@pytest.mark.parametrize("on", ["s.nothing = 1", "max(s.n) = 1", "explode(array(1)) = 1", "rand() = 1"])
def test_the_condition_of_the_merge_is_a_place_too(on: str) -> None:
    """It is named as it is written."""
    answer = merge("WHEN MATCHED THEN DELETE", target=[[1, "a"]], source=[[1, "b"]], on=on.replace("s.n", "s.v")).answer
    assert isinstance(answer, Rejection), answer
    assert answer.message.startswith("ON: ")
    assert refusal(f"MERGE INTO target t USING source s ON {on} WHEN MATCHED THEN DELETE").startswith("ON: ")


@pytest.mark.parametrize(("clause", "place"), OF_THE_STATEMENT)
def test_the_merge_names_the_place(clause: str, place: str) -> None:
    """As the reference does; Spark is not asked for types."""
    found = refusal(f"MERGE INTO target t USING source s ON t.k = s.k {DELETES}{clause}")

    assert found.startswith(place)


def refusal(sql: str) -> str:
    """Give the message with which the merge refuses a statement."""
    with pytest.raises(MergeError) as error:
        resolve(parse_merge(sql), target_schema=TARGET, source_schema=SOURCE, conf=MergeConf(), types=Integers())
    return error.value.message


class Integers:
    """Takes every expression for an INT."""

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        return tuple(IntegerType() for _ in expressions)
