"""The scenarios: each is the smallest that shows one rule about concurrent writers (R-730, R-731, R-750, R-751)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from deltalake import TableFeatures

from mergecheck.harness.lab.concurrency.scenario import AddFeature, ReplaceTable, Scenario, SetProperty, Writer
from mergecheck.harness.lab.sequences.steps import AddColumn, Append, Delete, Merge, Rewrite
from mergecheck.model.case import CDF_PROPERTY, Source, Target
from mergecheck.model.table_properties import APPEND_ONLY, DELETION_VECTORS, ROW_TRACKING
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.lab.concurrency.scenario import Action

APPEND, DELETE_READ = "DELTA_CONCURRENT_APPEND", "DELTA_CONCURRENT_DELETE_READ"
METADATA, PROTOCOL = "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED"
TRANSACTION = "DELTA_CONCURRENT_TRANSACTION"


COUNTER = "counter"
"""The scenario that can also be a race of threads."""

_COLUMNS = parse_schema("k INT, v INT")
_PARTITIONED = parse_schema("k INT, v INT, p STRING")
_PLAIN = Target(schema=_COLUMNS, files=(((1, 10),), ((2, 20), (3, 30))))
_BY_P = Target(schema=_PARTITIONED, files=(((1, 10, "a"),), ((2, 20, "b"),)), partition_by=("p",))
_NO_SOURCE = Source(schema=Schema(()))

_ADD = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + s.v"
_INSERT = "MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
_INSERT_P = (
    "MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.p)"
)
_UPSERT_P = _INSERT_P.replace("t.k = s.k", "t.k = s.k AND t.p = s.p").replace(
    "WHEN NOT", "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT"
)
_UPSERT = _ADD + " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
_DELETE = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN DELETE"
_COUNT = (
    "MERGE INTO target t USING (SELECT k, v + 1 AS v FROM target) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
)
_MIRROR = (
    "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE"
)


def scenarios() -> tuple[Scenario, ...]:
    """List all scenarios, those with two writers first."""
    return (
        *_same_rows(),
        *_other_rows(),
        *_partitions(),
        *_other_commits(),
        *_replaced(),
        *_self_reading(),
        *_of_three(),
    )


def _same_rows() -> tuple[Scenario, ...]:
    return (
        _two_merges(
            "update-update", "Two merges update one row.", _PLAIN, _merge(_ADD, (1, 1)), _merge(_ADD, (1, 100))
        ),
        _two_merges(
            "insert-insert",
            "Two merges insert one key, if it is not there; neither removes a file.",
            _PLAIN,
            _merge(_INSERT, (9, 1)),
            _merge(_INSERT, (9, 2)),
        ),
        _two_merges(
            "upsert-mirror",
            "One merge inserts a row, the other deletes what its source does not have.",
            _recording(_PLAIN),
            _merge(_UPSERT, (2, 1), (9, 90)),
            _merge(_MIRROR, (2, 7), (3, 8)),
        ),
        _two_merges(
            "delete-delete",
            "Two merges delete one row, the only one of its file.",
            _PLAIN,
            _merge(_DELETE, (1, 0)),
            _merge(_DELETE, (1, 0)),
            error=DELETE_READ,
        ),
        Scenario(
            name="upsert-delete",
            summary="One merge inserts a missing row, the other deletes the row that kept it from doing so.",
            target=_PLAIN,
            writers=(Writer("a", _merge(_INSERT, (1, 11), (9, 1))), Writer("b", _merge(_DELETE, (1, 0)))),
            conflicts={("a", "b"): DELETE_READ, ("b", "a"): APPEND},
        ),
        Scenario(
            name="nothing-to-do",
            summary="One merge matches nothing, and so has nothing to commit.",
            target=_PLAIN,
            writers=(Writer("a", _merge(_ADD, (9, 1))), Writer("b", _merge(_INSERT, (9, 1)))),
        ),
    )


def _other_rows() -> tuple[Scenario, ...]:
    """Pairs of merges that do not change each other's rows: all their conflicts are needless."""
    one_file = replace(_PLAIN, files=(((1, 10), (2, 20)),))
    one, two = _merge(_ADD, (1, 1)), _merge(_ADD, (2, 2))
    return (
        _two_merges(
            "insert-other-keys",
            "Two merges insert different keys.",
            _PLAIN,
            _merge(_INSERT, (8, 1)),
            _merge(_INSERT, (9, 2)),
        ),
        _two_merges("rows-of-a-file", "Two merges update different rows of one file.", one_file, one, two),
        _two_merges(
            "rows-of-a-vector",
            "Two merges update different rows of one file, which have deletion vectors.",
            replace(one_file, properties={DELETION_VECTORS: "true"}),
            one,
            two,
        ),
        _two_merges("rows-of-two-files", "Two merges update rows of different files.", _PLAIN, one, two),
        _two_merges(
            "ranges",
            "Two merges update rows of different files, and name ranges of keys that tell the files apart.",
            _PLAIN,
            _merge(_ADD.replace("t.k = s.k", "t.k = s.k AND t.k < 2"), (1, 1)),
            _merge(_ADD.replace("t.k = s.k", "t.k = s.k AND t.k >= 2"), (2, 2)),
        ),
    )


def _partitions() -> tuple[Scenario, ...]:
    return (
        _two_merges(
            "joined-partitions",
            "Two upserts of different partitions, which only the source's rows name.",
            _BY_P,
            _merge(_UPSERT_P, (1, 1, "a"), (8, 80, "a")),
            _merge(_UPSERT_P, (2, 2, "b"), (9, 90, "b")),
        ),
        _two_merges(
            "key-as-partition",
            "Two upserts of different keys, by which the table is partitioned.",
            Target(schema=_COLUMNS, files=(((1, 10),), ((2, 20),)), partition_by=("k",)),
            _merge(_UPSERT, (1, 3), (5, 5)),
            _merge(_UPSERT, (2, 3), (6, 5)),
        ),
        _two_merges(
            "one-key-two-partitions",
            "Two merges insert one key into different partitions, if it is in none.",
            _BY_P,
            _merge(_INSERT_P, (9, 1, "a")),
            _merge(_INSERT_P, (9, 2, "b")),
        ),
        Scenario(
            name="tracked-partitions",
            summary="Two merges update rows of different partitions, and name these; the rows have ids.",
            target=replace(_BY_P, properties={ROW_TRACKING: "true"}),
            writers=(Writer("a", _merge(_in("a", _ADD), (1, 1))), Writer("b", _merge(_in("b", _ADD), (2, 1)))),
        ),
        Scenario(
            name="partitions",
            summary="Two merges update rows of different partitions, and name these.",
            target=_recording(_BY_P),
            writers=(Writer("a", _merge(_in("a", _ADD), (1, 1))), Writer("b", _merge(_in("b", _ADD), (2, 1)))),
        ),
        Scenario(
            name="null-partition",
            summary="A merge inserts a key into the partition of NULL, and so does an append.",
            target=_BY_P,
            writers=(
                Writer("a", _merge(_INSERT.replace("t.k = s.k", "t.k = s.k AND t.p IS NULL"), (9, 1))),
                Writer("w", Append(((9, 2, None),))),
            ),
            conflicts={("a", "w"): APPEND},
        ),
        Scenario(
            name="by-source",
            summary="A merge deletes by source in one partition and matches in another; an append adds to the first.",
            target=_BY_P,
            writers=(
                Writer(
                    "a",
                    _merge(_in("a", _ADD) + " WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE", (1, 1)),
                ),
                Writer("w", Append(((5, 50, "b"),))),
            ),
            conflicts={("a", "w"): APPEND},
        ),
        _two_merges(
            "by-source-partitions",
            "Two merges of different partitions, which ON and the by-source clauses name.",
            _BY_P,
            _merge(_in("a", _ADD) + " WHEN NOT MATCHED BY SOURCE AND t.p = 'a' THEN DELETE", (1, 1)),
            _merge(_in("b", _ADD) + " WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE", (2, 2)),
        ),
        Scenario(
            name="escaped-partition",
            summary="A merge reads the file that a delete removes; the log escapes the file's path.",
            target=Target(schema=_PARTITIONED, files=(((1, 10, "a b"),), ((2, 20, "c"),)), partition_by=("p",)),
            writers=(Writer("a", _merge(_UPSERT, (1, 1), (2, 2))), Writer("w", Delete("k", 1))),
            conflicts={("a", "w"): DELETE_READ},
        ),
        Scenario(
            name="same-application",
            summary="Two merges of one application insert into different partitions.",
            target=_BY_P,
            writers=(
                Writer("a", _merge(_in("a", _INSERT_P), (8, 1, "a"), conf=_transaction(1))),
                Writer("b", _merge(_in("b", _INSERT_P), (9, 1, "b"), conf=_transaction(2))),
            ),
            conflicts={("a", "b"): TRANSACTION, ("b", "a"): TRANSACTION},
        ),
    )


def _other_commits() -> tuple[Scenario, ...]:
    return (
        _beside("append", "An append adds the key that a merge inserts.", _INSERT, Append(((9, 2),)), APPEND, (9, 1)),
        _beside(
            "delete",
            "A delete removes the row that kept a merge from inserting its key.",
            _INSERT,
            Delete("k", 1),
            DELETE_READ,
            (1, 11),
            (9, 1),
        ),
        _beside("optimize", "A compaction moves the row that a merge updates.", _ADD, Rewrite(), DELETE_READ, (1, 1)),
        _beside(
            "add-column",
            "A column is added while a merge updates.",
            _ADD,
            AddColumn(Field("more", types.INT)),
            METADATA,
            (1, 1),
        ),
        _beside(
            "append-only",
            "The table becomes append-only while a merge deletes.",
            _DELETE,
            SetProperty(APPEND_ONLY, "true"),
            METADATA,
            (1, 0),
        ),
        _beside(
            "protocol",
            "A table feature is added while a merge updates.",
            _ADD,
            AddFeature(TableFeatures.ChangeDataFeed),
            PROTOCOL,
            (1, 1),
        ),
    )


def _replaced() -> tuple[Scenario, ...]:
    """A table with another schema; if the replacement comes before the snapshot, the merge may know the old one."""
    swapped, retyped = parse_schema("v INT, k INT"), parse_schema("k INT, v BIGINT")
    narrowed = _beside(
        "narrowed-column",
        "The table is replaced by one whose column has a narrower type, while a merge inserts.",
        _INSERT,
        ReplaceTable(_COLUMNS, ((1, 100), (2, 200))),
        METADATA,
        (1, 1),
        (9, 90),
    )
    return (
        _beside(
            "swapped-columns",
            "The table is replaced by one whose columns are in another order.",
            _UPSERT,
            ReplaceTable(swapped, ((100, 1), (200, 2))),
            METADATA,
            (1, 1),
            (9, 90),
        ),
        _beside(
            "retyped-column",
            "The table is replaced by one with a column of another type.",
            _UPSERT,
            ReplaceTable(retyped, ((1, 3_000_000_000), (2, 200))),
            METADATA,
            (1, 1),
            (9, 90),
        ),
        replace(narrowed, target=replace(_PLAIN, schema=retyped)),
        _beside(
            "renamed-column",
            "The table is replaced by one whose column has another name.",
            _UPSERT,
            ReplaceTable(parse_schema("k INT, w INT"), ((1, 100), (2, 200))),
            METADATA,
            (1, 1),
            (9, 90),
        ),
    )


def _self_reading() -> tuple[Scenario, ...]:
    greatest = (
        "MERGE INTO target t USING (SELECT max(v) AS v FROM target) s ON t.p = 'a' WHEN MATCHED THEN UPDATE SET v = s.v"
    )
    return (
        _two_merges(COUNTER, "Two merges count up the rows that they read.", _PLAIN, _merge(_COUNT), _merge(_COUNT)),
        Scenario(
            name="source-of-all",
            summary="A merge writes one partition what its source read of all; an append adds to another.",
            target=_BY_P,
            writers=(Writer("a", _merge(greatest)), Writer("w", Append(((5, 99, "b"),)))),
            conflicts={("a", "w"): APPEND},
        ),
    )


def _of_three() -> tuple[Scenario, ...]:
    disjoint = {p: _merge(_in(p, _ADD), (k, 1)) for k, p in enumerate("abc", start=1)}
    rows = tuple(((k, 10 * k, p),) for k, p in enumerate("abc", start=1))
    return (
        Scenario(
            name="second-winner",
            summary="Of two appends beside a merge, one adds to the partition that it reads.",
            target=_BY_P,
            writers=(
                Writer("a", _merge(_in("a", _INSERT_P), (9, 1, "a"))),
                Writer("v", Append(((7, 70, "b"),))),
                Writer("w", Append(((9, 90, "a"),))),
            ),
            conflicts={("a", "w"): APPEND},
        ),
        Scenario(
            name="three-partitions",
            summary="Three merges update rows of different partitions.",
            target=Target(schema=_PARTITIONED, files=rows, partition_by=("p",)),
            writers=tuple(Writer(p, merge) for p, merge in disjoint.items()),
        ),
        Scenario(
            name="three-counters",
            summary="Three merges count up the rows that they read.",
            target=_PLAIN,
            writers=tuple(Writer(name, _merge(_COUNT)) for name in "abc"),
            conflicts=_everybody("abc"),
        ),
        Scenario(
            name="three-merges",
            summary="An upsert, a delete and a deletion by source meet, with a change feed.",
            target=_recording(_PLAIN),
            writers=(
                Writer("a", _merge(_UPSERT, (2, 1), (9, 90))),
                Writer("b", _merge(_DELETE, (2, 0))),
                Writer("c", _merge(_MIRROR, (1, 5), (2, 7), (9, 9))),
            ),
            conflicts=_everybody("abc"),
        ),
        Scenario(
            name="merges-and-compaction",
            summary="Two merges of different partitions, and a compaction that moves their rows.",
            target=Target(
                schema=_PARTITIONED,
                files=(((1, 10, "a"),), ((4, 40, "a"),), ((2, 20, "b"),), ((5, 50, "b"),)),
                partition_by=("p",),
            ),
            writers=(
                Writer("a", _merge(_in("a", _ADD), (1, 1))),
                Writer("b", _merge(_in("b", _ADD), (2, 1))),
                Writer("w", Rewrite()),
            ),
            conflicts={("a", "w"): DELETE_READ, ("b", "w"): DELETE_READ},
        ),
    )


def _in(partition: str, sql: str) -> str:
    return sql.replace("ON t.k = s.k", f"ON t.k = s.k AND t.p = '{partition}'")


def _merge(sql: str, *rows: tuple[object, ...], conf: Mapping[str, str] | None = None) -> Merge:
    width = len(rows[0]) if rows else 0
    source = Source(schema=Schema(_PARTITIONED.columns[:width]), rows=rows) if rows else _NO_SOURCE
    return Merge(source=source, sql=sql, conf=conf or {})


def _recording(target: Target) -> Target:
    return Target(
        schema=target.schema,
        files=target.files,
        partition_by=target.partition_by,
        properties={CDF_PROPERTY: "true"},
    )


def _transaction(version: int) -> Mapping[str, str]:
    prefix = "spark.databricks.delta.write"
    return {f"{prefix}.txnAppId": "loader", f"{prefix}.txnVersion": str(version)}


def _everybody(names: str, error: str = APPEND) -> Mapping[tuple[str, str], str]:
    return dict.fromkeys(itertools.permutations(names, 2), error)


def _two_merges(name: str, summary: str, target: Target, a: Merge, b: Merge, *, error: str = APPEND) -> Scenario:
    return Scenario(
        name=name,
        summary=summary,
        target=target,
        writers=(Writer("a", a), Writer("b", b)),
        conflicts=_everybody("ab", error),
    )


def _beside(name: str, summary: str, sql: str, other: Action, error: str, *rows: tuple[object, ...]) -> Scenario:
    """One merge, and a write by delta-rs against which it loses."""
    return Scenario(
        name=name,
        summary=summary,
        target=_PLAIN,
        writers=(Writer("a", _merge(sql, *rows)), Writer("w", other)),
        conflicts={("a", "w"): error},
    )
