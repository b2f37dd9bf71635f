"""An engine that keeps its tables itself: a store of rows in memory, whose merges add a row each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck import Capabilities, Lost, Point, PointKind, Written
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.interleaving_text import Tally
from mergecheck.harness.lab.concurrency.scenario import Isolation
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.harness.lab.concurrency.tables import RefusedError
from mergecheck.model.outcome import Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from mergecheck.model.case import Case, Row, Target
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

INSERTS = ("insert-insert", "insert-other-keys", "append")


class Store:
    """Inserts the keys of the source that it did not see at its snapshot.

    Args:
        looks: whether a commit fails if another one came since the snapshot.
    """

    name, version = "store", "1"
    capabilities = Capabilities(error_class=False, cdf=False)

    def __init__(self, *, looks: bool, versions: list[tuple[Row, ...]] | None = None) -> None:
        self.looks, self.versions = looks, [()] if versions is None else versions
        self.schema: Schema | None = None
        self.statements: list[str] = []

    def run(self, case: Case) -> EngineResult:
        return Unsupported(f"anything but the kept table: {case.id}")

    def fork(self) -> Store:
        return Store(looks=self.looks, versions=self.versions)

    def close(self) -> None:
        pass

    def make_table(self, target: Target, isolation: str) -> Unsupported | None:
        if isolation == "WriteSerializable":
            return Unsupported(isolation)
        self.schema, self.versions[:] = target.schema, [tuple(target.rows)]
        return None

    def newest_version(self) -> int:
        return len(self.versions) - 1

    def table_at(self, version: int) -> tuple[Schema, tuple[Row, ...]]:
        assert self.schema is not None
        return self.schema, self.versions[version]

    def execute(self, sql: str) -> None:
        self.statements.append(sql)
        self.versions.append((*self.versions[-1], (9, 2)))

    def run_in_steps(self, case: Case, table: Path, at: Callable[[Point], None]) -> Written | Lost:
        del table
        assert case.source is not None
        at(Point(PointKind.BEFORE_SNAPSHOT))
        seen = self.newest_version()
        new = [row for row in case.source.rows if row[0] not in {old[0] for old in self.versions[seen]}]
        at(Point(PointKind.BEFORE_COMMIT))
        if self.looks and self.newest_version() > seen:
            return Lost("CommitFailed")
        if new:
            self.versions.append((*self.versions[-1], *new))
        return Written(committed=bool(new))


class Recording(Store):
    """Makes a version of a merge that changes nothing, too, as Delta does under WriteSerializable (R-731)."""

    def fork(self) -> Recording:
        return Recording(looks=self.looks, versions=self.versions)

    def make_table(self, target: Target, isolation: str) -> Unsupported | None:
        return super().make_table(target, "Serializable" if isolation == "WriteSerializable" else isolation)

    def run_in_steps(self, case: Case, table: Path, at: Callable[[Point], None]) -> Written | Lost:
        ending = super().run_in_steps(case, table, at)
        if isinstance(ending, Written) and not ending.committed:
            self.versions.append(self.versions[-1])
            return Written(committed=True)
        return ending


def scenario(name: str) -> Scenario:
    return next(one for one in scenarios() if one.name == name)


def tally_of(name: str, engine: Store, isolation: Isolation = Isolation.SERIALIZABLE) -> Tally:
    tally = Tally(scenario(name))
    for one in enumerate_interleavings(tally.scenario, engine, MergeReference(), isolation=isolation):
        tally.add(one)
    return tally


@pytest.mark.parametrize("name", INSERTS)
def test_a_store_that_looks_for_others_is_serial(name: str) -> None:
    tally = tally_of(name, Store(looks=True))
    assert tally.findings == []
    assert tally.endings[EndingKind.CONFLICT] in (1, 2)


def test_two_inserts_of_one_key_are_found_and_are_right_under_snapshot() -> None:
    """As in apache/iceberg#12653: neither merge removes a file, so neither checks for the other."""
    tally = tally_of("insert-insert", Store(looks=False))
    assert len(tally.findings) == 2
    assert all("equals no serial order" in "".join(one.verdict.problems) for one in tally.findings)
    tally = tally_of("insert-insert", Store(looks=False), Isolation.SNAPSHOT)
    assert (tally.findings, tally.num_unserial) == ([], 2)
    assert "agree, 2 in no serial order" in tally.line()


@pytest.mark.parametrize(("isolation", "findings"), [(Isolation.SERIALIZABLE, 2), (Isolation.WRITE_SERIALIZABLE, 0)])
def test_a_commit_that_changes_nothing_is_right_under_write_serializable(isolation: Isolation, findings: int) -> None:
    """The second of two merges that insert one key finds it, in two of the orders."""
    assert len(tally_of("insert-insert", Recording(looks=True), isolation).findings) == findings


def test_another_writer_is_a_statement() -> None:
    engine = Store(looks=True)
    tally_of("append", engine)
    assert set(engine.statements) == {"INSERT INTO target VALUES (CAST('9' AS INT), CAST('2' AS INT))"}


def test_what_needs_a_delta_table_or_a_level_that_is_not_there_is_refused() -> None:
    with pytest.raises(RefusedError, match="store has no Delta table"):
        tally_of("optimize", Store(looks=True))
    with pytest.raises(RefusedError, match="does not support the table: WriteSerializable"):
        tally_of("insert-insert", Store(looks=True), Isolation.WRITE_SERIALIZABLE)


def test_a_table_without_a_feed_has_no_property_of_one() -> None:
    recording = scenario("three-merges")
    assert recording.target.change_data_feed
    plain = recording.without_change_feed()
    assert plain == replace(recording, target=replace(recording.target, properties={}))
