"""An engine of one's own is stopped at its points: a right one, and one that overwrites what others committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from mergecheck import Capabilities, Point, PointKind, Written
from mergecheck.harness.engine import UnreadableByEngineError
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.interleaving_text import Tally
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.harness.engine import InterleavedEngine
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

SCENARIO = next(scenario for scenario in scenarios() if scenario.name == "update-update")


class Adds:
    """Merges by ``t.v + s.v`` where the keys are equal, by delta-rs; it can stop before it reads and before it commits.

    delta-rs reads its files behind the second point, by the snapshot that it took at the first one.
    """

    name, version = "adds", "1"
    capabilities = Capabilities()

    def run(self, case: Case) -> EngineResult:
        return Unsupported(f"anything but a table that is there: {case.id}")

    def fork(self) -> Adds:
        return type(self)()

    def close(self) -> None:
        pass

    def run_in_steps(self, case: Case, table: Path, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        assert case.source is not None
        rows = dict(case.source.rows)
        source = pa.table({"k": pa.array(rows, pa.int32()), "v": pa.array(rows.values(), pa.int32())})
        at(Point(PointKind.BEFORE_SNAPSHOT))
        target = DeltaTable(table)
        at(Point(PointKind.BEFORE_COMMIT))
        try:
            merge = target.merge(source, "t.k = s.k", source_alias="s", target_alias="t")
            merge.when_matched_update({"v": "t.v + s.v"}).execute()
        except CommitFailedError as error:
            return Rejection(error_class="DELTA_CONCURRENT_DELETE_READ", message=str(error))
        return Written(committed=True)


class Overwrites(Adds):
    """Ends with success where it lost."""

    def run_in_steps(self, case: Case, table: Path, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        super().run_in_steps(case, table, at)
        return Written(committed=True)


class CannotRead(Adds):
    """Does not see its own writes."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        del schema
        if DeltaTable(table).version() == 2:
            raise UnreadableByEngineError("two commits are too many")
        return tuple(tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table().to_pylist())


def tally_of(engine: InterleavedEngine) -> Tally:
    tally = Tally(SCENARIO)
    for one in enumerate_interleavings(SCENARIO, engine, MergeReference()):
        tally.add(one)
    return tally


def test_every_order_of_two_merges_is_tried() -> None:
    """One loses if both have read before the other commits; the other orders are serial."""
    tally = tally_of(Adds())
    assert tally.findings == []
    assert tally.num_interleavings == 4
    assert tally.endings == {EndingKind.COMMITTED: 6, EndingKind.CONFLICT: 2}
    assert tally.num_needless == 0


def test_an_update_that_is_lost_is_found() -> None:
    tally = tally_of(Overwrites())
    assert len(tally.findings) == 2
    assert any("lost" in line or "version" in line for found in tally.findings for line in found.verdict.problems)


def test_an_engine_that_cannot_read_its_table_is_found() -> None:
    """Only after both merges: the rows of the table's files are right then, too."""
    tally = tally_of(CannotRead())
    assert [found.verdict.problems for found in tally.findings] == [
        ("the engine reads version 2 otherwise: two commits are too many",)
    ] * 2


def test_an_engine_that_refuses_a_merge_ends_the_run() -> None:
    class Refuses(Adds):
        def run_in_steps(
            self, case: Case, table: Path, at: Callable[[Point], None]
        ) -> Written | Rejection | Unsupported:
            del case, table
            at(Point(PointKind.BEFORE_SNAPSHOT))
            return Unsupported("sums")

    with pytest.raises(Exception, match="adds does not support the merge a: sums"):
        tally_of(Refuses())
