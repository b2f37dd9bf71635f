"""A naive generator of cases, to measure ours against: uniform values, and no thought of what matches what.

It draws tables of a few types, uniformly distributed cells, and a statement over them, as a first attempt would. It
lives here because nothing but the comparison uses it (``python -m tools.benchmarks.generators.naive_comparison``).
"""

from __future__ import annotations

import datetime as dt
import itertools
from random import Random
from typing import TYPE_CHECKING

from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType

_TYPES: tuple[DataType, ...] = (types.INT, types.BIGINT, types.DOUBLE, types.STRING, types.DATE)
_MOST_ROWS, _MOST_FILES, _MOST_COLUMNS = 20, 3, 4
_RANGE = 1_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NULL_SHARE = 0.05


def naive_cases(seed: int) -> Iterator[Case]:
    """Yield the endless stream of a seed."""
    for index in itertools.count():
        yield naive_case(Random(f"{seed}/{index}"), f"naive-{seed}-{index}")  # noqa: S311 - a test case, no secret


def naive_case(random: Random, name: str) -> Case:
    """Draw one case.

    Args:
        random: decides everything.
        name: the case's id.
    """
    columns = [Field("id", types.INT)]
    columns += [Field(f"c{i}", random.choice(_TYPES)) for i in range(random.randint(1, _MOST_COLUMNS))]
    schema = Schema(tuple(columns))
    rows = _rows(random, schema)
    num_files = random.randint(1, _MOST_FILES)
    files = tuple(tuple(rows[start::num_files]) for start in range(num_files))
    return Case(
        id=name,
        target=Target(
            schema=schema,
            files=tuple(file for file in files if file),
            properties={CDF_PROPERTY: random.choice(("true", "false"))},
        ),
        source=Source(schema=schema, rows=tuple(_rows(random, schema))),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id {' '.join(_clauses(random, schema))}",
    )


def _rows(random: Random, schema: Schema) -> list[Row]:
    return [
        tuple(_cell(random, column.type) for column in schema.columns) for _ in range(random.randint(0, _MOST_ROWS))
    ]


def _cell(random: Random, data_type: DataType) -> Value:
    if random.random() < _NULL_SHARE:
        return None
    if data_type == types.STRING:
        return "".join(random.choices(_LETTERS, k=random.randint(0, 5)))
    if data_type == types.DATE:
        return dt.date(2000, 1, 1) + dt.timedelta(days=random.randrange(_RANGE))
    return float(random.randrange(_RANGE)) if data_type == types.DOUBLE else random.randrange(_RANGE)


def _clauses(random: Random, schema: Schema) -> list[str]:
    clauses: list[str] = []
    while not clauses:
        for when, side, actions in (
            ("MATCHED", random.choice("ts"), ("UPDATE SET *", "DELETE", _assignment(random, schema, "s"))),
            ("NOT MATCHED", "s", ("INSERT *",)),
            ("NOT MATCHED BY SOURCE", "t", ("DELETE", _assignment(random, schema, ""))),
        ):
            if random.random() < 0.5:  # noqa: PLR2004 - each kind in every second statement
                if random.random() < 0.5:  # noqa: PLR2004 - and every second with a condition
                    condition = _condition(random, schema, side)
                    clauses.append(f"WHEN {when} AND {condition} THEN {random.choice(actions)}")
                else:
                    clauses.append(f"WHEN {when} THEN {random.choice(actions)}")
    return clauses


def _condition(random: Random, schema: Schema, side: str) -> str:
    column = random.choice(schema.columns)
    return f"{side}.{column.name} {random.choice(('<', '>', '=', '<>'))} {_literal(random, column.type)}"


def _assignment(random: Random, schema: Schema, side: str) -> str:
    column = random.choice(schema.columns)
    value = f"{side}.{column.name}" if side else _literal(random, column.type)
    return f"UPDATE SET {column.name} = {value}"


def _literal(random: Random, data_type: DataType) -> str:
    value = _cell(random, data_type)
    if value is None:
        return "NULL"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)
