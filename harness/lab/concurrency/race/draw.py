"""Random tables and writers: a few keys, so that writers meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.scenario import Writer
from mergecheck.harness.lab.sequences.steps import Append, Delete, Merge, Rewrite
from mergecheck.model.case import CDF_PROPERTY, Source, Target
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from random import Random

    from mergecheck.harness.lab.concurrency.scenario import Action
    from mergecheck.model.case import Row

SCHEMA = parse_schema("k INT, v INT, p STRING")
NUM_KEYS = 12
_PARTITIONS = ("a", "b", None)
_MOST_FILES, _MOST_ROWS = 4, 4

_UPDATE, _DELETE = "WHEN MATCHED THEN UPDATE SET v = t.v + s.v", "WHEN MATCHED THEN DELETE"
_UPDATE_SOME = "WHEN MATCHED AND t.v > 50 THEN UPDATE SET v = s.v"
_INSERT = "WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.p)"
_CLAUSES = (
    _UPDATE,
    _DELETE,
    _INSERT,
    f"{_UPDATE} {_INSERT}",
    f"{_UPDATE_SOME} {_INSERT}",
    f"{_DELETE} {_INSERT}",
    f"{_UPDATE} WHEN NOT MATCHED BY SOURCE AND t.v > 80 THEN DELETE",
    f"{_INSERT} WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN UPDATE SET v = t.v - 1",
)
_OTHERS = ("merge",) * 6 + ("append", "append", "delete", "compact")


def draw_target(random: Random, *, properties: dict[str, str]) -> Target:
    """Draw a table: half of them are partitioned, half have a change feed."""
    files = tuple(
        tuple(_row(random) for _ in range(random.randint(1, _MOST_ROWS))) for _ in range(random.randint(1, _MOST_FILES))
    )
    is_partitioned = random.random() < 0.5  # noqa: PLR2004 - half of them
    recorded = {CDF_PROPERTY: "true"} if random.random() < 0.5 else {}  # noqa: PLR2004 - the same
    if is_partitioned:
        # A file holds the rows of one partition.
        files = tuple(tuple((k, v, file[0][2]) for k, v, _ in file) for file in files)
    return Target(
        schema=SCHEMA,
        files=files,
        partition_by=("p",) if is_partitioned else (),
        properties={**recorded, **properties},
    )


def draw_writers(random: Random, count: int, *, most_compactions: int) -> tuple[Writer, ...]:
    """Draw writers that start together; the first is a merge.

    Args:
        random: where they come from.
        count: how many.
        most_compactions: how many of them may compact; those beyond append.
    """
    kinds = ["merge", *(random.choice(_OTHERS) for _ in range(count - 1))]
    compacting = [number for number, kind in enumerate(kinds) if kind == "compact"]
    for number in compacting[most_compactions:]:
        kinds[number] = "append"
    return tuple(Writer(f"w{number}", _action(random, kind)) for number, kind in enumerate(kinds, 1))


def _action(random: Random, kind: str) -> Action:
    if kind == "append":
        return Append(tuple(_row(random) for _ in range(random.randint(1, 2))))
    if kind == "delete":
        return Delete("k", random.randint(1, NUM_KEYS))
    if kind == "compact":
        return Rewrite()
    keys = random.sample(range(1, NUM_KEYS + 1), random.randint(1, 4))
    condition = random.choice(("t.k = s.k", "t.k = s.k", "t.k = s.k AND t.p = 'a'", "t.k = s.k AND t.p <=> s.p"))
    sql = f"MERGE INTO target t USING source s ON {condition} {random.choice(_CLAUSES)}"
    rows = tuple((key, *_row(random)[1:]) for key in keys)
    return Merge(source=Source(schema=SCHEMA, rows=rows), sql=sql, conf={})


def _row(random: Random) -> Row:
    return (random.randint(1, NUM_KEYS), random.randint(0, 99), random.choice(_PARTITIONS))
