"""Histories that are right and wrong, without an engine (R-750, R-751)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.read import LiveFile, TableState, table_at
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.lab.concurrency.history import Ending, EndingKind, History
from mergecheck.harness.lab.concurrency.judge import Conflict, Judge
from mergecheck.harness.lab.concurrency.scenario import (
    Isolation,
    ReplaceTable,
    SetProperty,
    TableKind,
    Writer,
    do_other,
    said,
)
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.harness.lab.concurrency.serial import after
from mergecheck.harness.lab.sequences.steps import Append, Delete, Merge
from mergecheck.model.case import Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.lab.concurrency.judge import Verdict
    from mergecheck.harness.lab.concurrency.scenario import Action

SCHEMA = parse_schema("k INT, v INT")
TARGET = Target(schema=SCHEMA, files=(((1, 10),),))
DOUBLE = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v * 2"
SET = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
INSERT = "MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
ADD = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + s.v"
APPEND = "DELTA_CONCURRENT_APPEND"

Rows = tuple[tuple[int, int], ...]


def merge(sql: str, *rows: tuple[int, int]) -> Merge:
    return Merge(source=Source(schema=SCHEMA, rows=rows), sql=sql, conf={})


ACTIONS: Mapping[str, Action] = {
    "add": merge(ADD, (1, 1)),
    "double": merge(DOUBLE, (1, 0)),
    "miss": merge(ADD, (9, 1)),
    "insert": merge(INSERT, (5, 50)),
    "insert again": merge(INSERT, (5, 55)),
    "set again": merge(SET, (1, 11)),
    "append": Append(((2, 20),)),
    "delete": Delete("k", 1),
    "freeze": SetProperty("delta.appendOnly", "true"),
}
CONFLICTS = {("add", "double"): APPEND, ("double", "add"): APPEND}


def committed(version: int, *, read: int | None = None) -> Ending:
    return Ending(
        kind=EndingKind.COMMITTED, version=version, read=version - 1 if read is None else read, newest=version
    )


LOST = Ending(kind=EndingKind.CONFLICT, error=APPEND, read=0, newest=1)
NOTHING = Ending(kind=EndingKind.NOTHING, read=0, newest=0)


def problems(
    endings: Mapping[str, Ending],
    *versions: Rows,
    conflicts: Mapping[tuple[str, str], str] | None = None,
    isolation: Isolation = Isolation.SERIALIZABLE,
) -> str:
    """Judge writers that left these rows at version 1 and on; return the faults."""
    return "; ".join(verdict(endings, *versions, conflicts=conflicts, isolation=isolation).problems)


def verdict(
    endings: Mapping[str, Ending],
    *versions: Rows,
    conflicts: Mapping[tuple[str, str], str] | None = None,
    isolation: Isolation = Isolation.SERIALIZABLE,
    may_give_up: bool = False,
    must_give_up: bool = True,
    by_class: bool = True,
) -> Verdict:
    """Judge writers that left these rows at version 1 and on."""
    states = tuple(
        TableState(
            version=version,
            schema=SCHEMA,
            members_not_null=(),
            partition_by=(),
            change_data_feed=False,
            schema_json="",
            files=(LiveFile(add={}, rows=rows),),
        )
        for version, rows in enumerate((((1, 10),), *versions))
    )
    judge = Judge(
        target=TARGET,
        writers=tuple(Writer(name, ACTIONS[name]) for name in endings),
        reference=MergeReference(),
        conflicts=conflicts,
        isolation=isolation,
        may_give_up=may_give_up,
        must_give_up=must_give_up,
        by_class=by_class,
    )
    return judge.judge(History(endings=endings, states=states))


def test_the_order_of_the_log_is_a_serial_order() -> None:
    """10 + 1, then twice that."""
    assert problems({"add": committed(1), "double": committed(2)}, ((1, 11),), ((1, 22),)) == ""
    assert problems({"double": committed(1), "add": committed(2)}, ((1, 20),), ((1, 21),)) == ""


def test_a_lost_update_equals_no_order() -> None:
    """Both read 10: the second overwrites the first one's value."""
    endings = {"add": committed(1), "double": committed(2, read=0)}
    for isolation in (Isolation.SERIALIZABLE, Isolation.WRITE_SERIALIZABLE):
        assert "equals no serial order" in problems(endings, ((1, 11),), ((1, 20),), isolation=isolation)
    lost = problems(endings, ((1, 11),), ((1, 20),), isolation=Isolation.SNAPSHOT)
    assert lost == "double committed version 2, and another writer has changed its rows since version 0"


def test_two_inserts_of_one_key_are_right_under_snapshot_alone() -> None:
    """Neither saw the other's row; each has added its own to what was there."""
    endings = {"insert": committed(1), "insert again": committed(2, read=0)}
    states: tuple[Rows, ...] = (((1, 10), (5, 50)), ((1, 10), (5, 50), (5, 55)))
    assert "equals no serial order" in problems(endings, *states, isolation=Isolation.WRITE_SERIALIZABLE)
    found = verdict(endings, *states, isolation=Isolation.SNAPSHOT)
    assert found.problems == ()
    assert not found.is_serial
    wrong = problems(endings, states[0], ((1, 10), (5, 55)), isolation=Isolation.SNAPSHOT)
    assert "version 2 would hold (1, 10), (5, 50), (5, 55), but holds (1, 10), (5, 55)" in wrong
    late = problems({"add": committed(1), "delete": committed(2)}, ((1, 11),), (), isolation=Isolation.SNAPSHOT)
    assert late == ""


def test_an_engine_with_rules_of_its_own_may_commit_what_is_serial() -> None:
    """R-750 wants a conflict of the two; but what the second one read, the first has not changed."""
    endings = {"append": committed(1), "add": committed(2, read=0)}
    states: tuple[Rows, ...] = (((1, 10), (2, 20)), ((1, 11), (2, 20)))
    wanted = {("add", "append"): APPEND}
    assert "but R-750 says DELTA_CONCURRENT_APPEND" in problems(endings, *states, conflicts=wanted)
    assert verdict(endings, *states, conflicts=wanted, must_give_up=False).problems == ()


def test_another_order_than_that_of_the_log() -> None:
    """Is enough under WriteSerializable, and not under Serializable: the delete came first and saw no append."""
    endings = {"append": committed(1), "delete": committed(2)}
    states: tuple[Rows, ...] = (((2, 20),), ((2, 20),))
    assert "order of the log" in problems(endings, *states)
    assert problems(endings, *states, isolation=Isolation.WRITE_SERIALIZABLE) == ""


def test_a_merge_that_lost_has_not_happened() -> None:
    assert problems({"add": committed(1), "double": LOST}, ((1, 11),), conflicts=CONFLICTS) == ""
    assert "equals no serial order" in problems({"add": committed(1), "double": LOST}, ((1, 22),))


def test_who_loses_is_said_by_the_scenario() -> None:
    """A conflict that is missing, one too many, and another one."""
    raced = {"add": committed(1), "double": committed(2, read=0)}
    assert f"R-750 says {APPEND}" in problems(raced, ((1, 11),), ((1, 22),), conflicts=CONFLICTS)
    lost = {"add": committed(1), "double": LOST}
    assert "nothing is in its way" in problems(lost, ((1, 11),), conflicts={})
    assert "R-750 says X" in problems(lost, ((1, 11),), conflicts={("double", "add"): "X"})


def grade(winner: str, loser: str, *versions: Rows, conflicts: Mapping[tuple[str, str], str]) -> Conflict:
    """Grade the conflict of a writer that lost against another one."""
    found = verdict({winner: committed(1), loser: LOST}, *versions, conflicts=conflicts, may_give_up=True)
    assert found.problems == ()
    (conflict,) = found.conflicts
    assert conflict.writer == loser
    return conflict


@pytest.mark.parametrize(
    ("winner", "loser", "rows", "is_needless"),
    [
        ("append", "insert", ((1, 10), (2, 20)), True),  # another key
        ("insert", "insert again", ((1, 10), (5, 50)), False),  # the key is there now
        ("append", "double", ((1, 10), (2, 20)), True),  # another row
        ("add", "double", ((1, 11),), False),  # the update would be lost
        ("set again", "add", ((1, 11),), False),  # both write 11, and 11 + 1 is right
        ("add", "set again", ((1, 11),), False),  # the row comes to the same, the change row of its old value does not
        ("delete", "add", (), False),
        ("delete", "insert", (), True),
    ],
)
def test_a_conflict_is_needless_if_the_loser_would_have_done_the_same(
    winner: str, loser: str, rows: Rows, *, is_needless: bool
) -> None:
    """Behind the winner as on the version that it read. R-750 decides by files and predicates, whatever the rows."""
    for by_rule in (True, False):
        conflicts = {(loser, winner): APPEND} if by_rule else {}
        assert grade(winner, loser, rows, conflicts=conflicts) == Conflict(
            writer=loser, is_needless=is_needless, is_by_rule=by_rule
        )


def test_a_conflict_with_a_change_of_the_table() -> None:
    """Is not needless if the table refuses the merge then."""
    conflicts = {("add", "freeze"): APPEND}
    assert not grade("freeze", "add", ((1, 10),), conflicts=conflicts).is_needless
    assert grade("freeze", "insert", ((1, 10),), conflicts=conflicts).is_needless


def test_a_loser_counts_from_the_version_that_it_read() -> None:
    """It saw the append, so only the update came between."""
    lost = Ending(kind=EndingKind.CONFLICT, error=APPEND, read=1, newest=2)
    endings = {"append": committed(1), "add": committed(2), "double": lost}
    (conflict,) = verdict(endings, ((1, 10), (2, 20)), ((1, 11), (2, 20)), conflicts=CONFLICTS).conflicts
    assert not conflict.is_needless
    endings = {"add": committed(1), "append": committed(2), "double": lost}
    found = verdict(endings, ((1, 11),), ((1, 11), (2, 20)), conflicts={}, may_give_up=True)
    assert found.conflicts == (Conflict(writer="double", is_needless=True, is_by_rule=False),)


def test_conflicts_are_graded_only_if_the_log_is_a_serial_order() -> None:
    """Otherwise it is unknown which table a writer would have found: here no writer has committed version 2."""
    lost = Ending(kind=EndingKind.CONFLICT, error=APPEND, read=0, newest=2)
    for rows in (((1, 11),), ((1, 12),)):
        endings = {"add": committed(1), "double": lost}
        found = verdict(endings, rows, ((1, 99),), conflicts=CONFLICTS)
        assert found.problems
        assert found.conflicts == ()
    assert verdict({"add": committed(1), "double": LOST}, ((1, 12),), conflicts=CONFLICTS).conflicts == ()
    assert verdict({"add": committed(1), "double": LOST}, ((1, 11),)).conflicts == ()  # who conflicts is not known


def test_a_replaced_table() -> None:
    """Has the new columns and the new rows alone; a merge that follows is answered by its names."""
    swapped = ReplaceTable(parse_schema("v INT, k INT"), ((100, 1),))
    assert said(swapped) == "replaces the table by (v INT, k INT) with (100, 1)"
    left = after(TARGET, Writer("w", swapped), MergeReference())
    assert left.commits
    assert (left.target.schema, left.target.rows) == (swapped.schema, ((100, 1),))
    merged = after(left.target, Writer("a", ACTIONS["add"]), MergeReference())
    assert merged.target.rows == ((101, 1),)


def test_nobody_loses_against_nobody() -> None:
    """If it is not known who conflicts with whom, somebody must have committed."""
    lost = Ending(kind=EndingKind.CONFLICT, error=APPEND, read=0, newest=0)
    assert "nobody has committed since version 0" in problems({"add": lost})
    found = verdict({"add": lost}, conflicts=CONFLICTS, may_give_up=True).problems
    assert any("nobody has committed since version 0" in problem for problem in found)
    assert problems({"add": committed(1), "double": LOST}, ((1, 11),)) == ""


def test_a_merge_with_nothing_to_do() -> None:
    """Is right if there is nothing to do at a version that it can have seen."""
    assert problems({"miss": NOTHING}) == ""
    assert "which it does at no version from 0 to 0" in said_of({"add": NOTHING})


def said_of(endings: Mapping[str, Ending]) -> str:
    """Return the judgement by serial orders of writers that changed nothing."""
    state = TableState(
        version=0, schema=SCHEMA, members_not_null=(), partition_by=(), change_data_feed=False, schema_json="",
        files=(LiveFile(add={}, rows=((1, 10),)),),
    )  # fmt: skip
    writers = tuple(Writer(name, ACTIONS[name]) for name in endings)
    judge = Judge(target=TARGET, writers=writers, reference=MergeReference())
    return "; ".join(one.difference for one in judge.judge(History(endings=endings, states=(state,))).tried)


def test_a_merge_that_changes_no_row_may_be_free_to_commit() -> None:
    """By R-732 it commits if it rewrites a file; delta-rs does not."""
    clauses = "WHEN MATCHED AND t.v > 50 THEN DELETE WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    idle = merge(f"MERGE INTO target t USING source s ON t.k = s.k {clauses}", (1, 0))
    state = TableState(
        version=0, schema=SCHEMA, members_not_null=(), partition_by=(), change_data_feed=False, schema_json="",
        files=(LiveFile(add={}, rows=((1, 10),)),),
    )  # fmt: skip
    history = History(endings={"idle": NOTHING}, states=(state,))
    for by_rule in (True, False):
        judge = Judge(
            target=TARGET, writers=(Writer("idle", idle),), reference=MergeReference(), commits_by_rule=by_rule
        )
        assert bool(judge.judge(history).problems) is by_rule


def test_a_rejection_is_right_if_the_reference_rejects_there() -> None:
    """An append-only table refuses the merge; before, it does not."""
    error = "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    late = Ending(kind=EndingKind.REJECTED, error=error, read=1, newest=1)
    early = Ending(kind=EndingKind.REJECTED, error=error, read=0, newest=0)
    assert problems({"freeze": committed(1), "add": late}, ((1, 10),)) == ""
    assert "equals no serial order" in problems({"freeze": committed(1), "add": early}, ((1, 10),))
    other = {"freeze": committed(1), "add": replace(late, error="CommitFailedError")}
    assert "equals no serial order" in problems(other, ((1, 10),))
    assert verdict(other, ((1, 10),), by_class=False).problems == ()
    assert verdict({"add": replace(early, error="any")}, by_class=False).problems != ()
    assert "equals no serial order" in problems({"freeze": committed(1), "add": committed(2)}, ((1, 10),), ((1, 11),))


@pytest.mark.parametrize(
    ("endings", "versions", "said"),
    [
        ({"add": committed(1), "double": committed(1)}, [((1, 11),)], "2 writers say that they committed version 1"),
        ({"add": committed(2)}, [((1, 11),)], "version 2 was committed, but is not there"),
        ({"miss": NOTHING}, [((1, 10),)], "no writers say that they committed version 1"),
        (
            {"add": Ending(kind=EndingKind.CONFLICT, error=APPEND, version=1, newest=1)},
            [((1, 11),)],
            "but version 1 is its",
        ),
    ],
)
def test_every_version_is_one_writers(endings: Mapping[str, Ending], versions: list[Rows], said: str) -> None:
    assert said in problems(endings, *versions)


def test_the_affected_rows_must_be_those_of_the_order() -> None:
    ending = Ending(kind=EndingKind.COMMITTED, version=1, row={"num_affected_rows": 2}, newest=1)
    assert "equals no serial order" in problems({"add": ending}, ((1, 11),))


@pytest.mark.parametrize("kind", TableKind)
def test_every_scenario_can_be_had_on_every_kind_of_table(kind: TableKind, tmp_path: Path) -> None:
    """The reference answers its merges, delta-rs does its other writes, and both come to the same rows."""
    reference = MergeReference()
    scenes = [one.on_table(kind) for one in scenarios() if one.fits(kind)]
    writers = [(scene, writer) for scene in scenes for writer in scene.writers]
    assert len(scenes) > 15
    for number, (scene, writer) in enumerate(writers):
        assert kind.properties.items() <= scene.target.properties.items()
        left = after(scene.target, writer, reference)
        if isinstance(writer.action, Merge):
            assert left.rejection is None
            assert (left.changes is not None) == scene.target.change_data_feed
            continue
        path = tmp_path / str(number)
        write_target(scene.target, path)
        do_other(writer.action, path, scene.target.schema)
        found = table_at(path, 1)
        assert found.schema.names == left.target.schema.names
        assert same_rows(left.target.rows, found.rows, left.target.schema)


def test_scenarios_are_told_apart() -> None:
    """Names are unique, and conflicts are between writers of the scenario."""
    names = [one.name for one in scenarios()]
    assert len(set(names)) == len(names)
    for one in scenarios():
        assert {name for pair in one.conflicts for name in pair} <= {writer.name for writer in one.writers}
        assert one.summary.endswith(".")
