"""Resolving a statement in a test, without Spark wherever types follow from the schemas."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import MergeError
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.expressions.resolved import ResolvedMerge

ON = "MERGE INTO target t USING source s ON t.id = s.id "
EVOLVE = "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id "


class NoSpark:
    """Types for statements whose types are all known; any question is a failure of the test."""

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        assert not expressions, f"Spark was asked about {expressions}"
        return ()


class Answers:
    """Types by the text asked for."""

    def __init__(self, **known: DataType) -> None:
        self.known = known
        self.asked: list[tuple[str, ...]] = []

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        self.asked.append(tuple(expressions))
        return tuple(self.known.get(text, IntegerType()) for text in expressions)


def run(
    sql: str,
    *,
    target: str | StructType = "id INT, v INT",
    source: str | StructType = "id INT, v INT",
    conf: MergeConf | None = None,
    types: NoSpark | Answers | None = None,
    widens: bool = False,
) -> ResolvedMerge:
    return resolve(
        parse_merge(sql),
        target_schema=schema_of(target) if isinstance(target, str) else target,
        source_schema=schema_of(source) if isinstance(source, str) else source,
        conf=conf or MergeConf(),
        widens=widens,
        types=types or NoSpark(),
        clock=StatementClock(instant=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    )


def failure(
    sql: str,
    *,
    target: str | StructType = "id INT, v INT",
    source: str | StructType = "id INT, v INT",
    conf: MergeConf | None = None,
) -> MergeError:
    with pytest.raises(MergeError) as caught:
        run(sql, target=target, source=source, types=Answers(), conf=conf)
    return caught.value


def schema_of(ddl: str) -> StructType:
    """Read types that are simple enough to be spelled without a JVM."""
    words: dict[str, DataType] = {"INT": IntegerType(), "BIGINT": LongType(), "STRING": StringType()}
    words |= {"BOOLEAN": BooleanType(), "INTS": ArrayType(IntegerType()), "MAP": MapType(StringType(), IntegerType())}

    def split(text: str) -> list[str]:
        parts, depth, piece = [], 0, ""
        for char in text:
            depth += (char == "<") - (char == ">")
            if char == "," and depth == 0:
                parts.append(piece)
                piece = ""
            else:
                piece += char
        return [part.strip() for part in (*parts, piece) if part.strip()]

    def read(kind: str) -> DataType:
        return schema_of(kind[2:-1]) if kind.startswith("S<") else words[kind]

    schema = StructType()
    for field in split(ddl):
        name, kind = field.rsplit(" ", 1) if not field.endswith(">") else field.split(" ", 1)
        schema = schema.add(name.strip("`"), read(kind))
    return schema
