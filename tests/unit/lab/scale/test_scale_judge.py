"""The judge of large merges: the reference over files is the reference over rows, and mutants are found."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.read import read_actions
from mergecheck.harness.lab.scale.evaluator import Forecast, Relations, evaluate_relations
from mergecheck.harness.lab.scale.judge import Merged, judge
from mergecheck.harness.lab.scale.judge_process import connect, judge_apart
from mergecheck.harness.lab.scale.observed import observe_table
from mergecheck.harness.lab.scale.reduce import small_case
from mergecheck.harness.lab.scale.tables.generate import write_tables
from mergecheck.harness.lab.scale.tables.shapes import SHAPES
from mergecheck.harness.lab.scale.tables.spec import make_spec
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.case_file import change_schema
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.reference import evaluate
from mergecheck.strategies import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mergecheck.harness.lab.scale.judge import Judgement
    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec
    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference

NAMES = [shape.name for shape in SHAPES]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(memory_bytes=2**30, spill=tmp_path / "spill") as opened:
        yield opened


def folders(spec: ScaleSpec, folder: Path) -> dict[str, Path]:
    made = write_tables(spec, folder)
    return {"target": made.target, "source": made.source}


def over_relations(spec: ScaleSpec, tables: dict[str, Path], connection: duckdb.DuckDBPyConnection) -> Any:
    target = observe_table(tables["target"], metrics={}, taken=None).before
    source = observe_table(tables["source"], metrics={}, taken=None).after
    relations = Relations(
        target=target.numbered("t", number="rid", file="file"), source=source.numbered("s", number="sid", file=None)
    )
    return evaluate_relations(spec.case(), relations, connection)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("shape", NAMES)
def test_the_reference_over_files_is_the_reference_over_rows(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, shape: str, seed: int
) -> None:
    spec = make_spec(shape=shape, rows=400, files=8, seed=seed)
    tables = folders(spec, tmp_path)
    small = evaluate(small_case(spec, tables, None, max_rows=10_000)).answer
    assert_same_answer(small, over_relations(spec, tables, connection), connection)


def assert_same_answer(small: Any, large: Any, connection: duckdb.DuckDBPyConnection) -> None:
    """Compare the scale evaluator's answer with the plain reference."""
    if isinstance(small, Rejection):
        assert isinstance(large, Rejection)
        assert {small.error_class, *small.other_classes} >= {large.error_class, *large.other_classes}
        return
    assert isinstance(small, Prediction)
    assert isinstance(large, Forecast)
    assert large.schema == small.schema
    assert (large.metrics, large.committed, large.path) == (small.metrics, small.committed, small.path)
    assert (large.changes is None) == (small.cdf is None)
    feed = [(large.changes, small.cdf or (), change_schema(small.schema))] if large.changes is not None else []
    for query, rows, schema in [(large.rows, small.rows, small.schema), *feed]:
        assert same_rows(rows, table_to_rows(connection.sql(query).to_arrow_table(), schema), schema)


def test_random_merges_over_relations_are_those_over_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """The evaluator that is made for many rows agrees with the plain one."""
    num_compared = Counter[str]()
    for drawn in itertools.islice(samples(20), 120):
        case = drawn.case
        if case.source is None or len(case.target.rows) * len(case.source.rows) > 10_000:
            continue
        small = evaluate(case).answer
        large = evaluate_relations(without_rows(case), loaded(case, connection), connection)
        if isinstance(small, Unsupported) or isinstance(large, Unsupported):
            continue
        assert_same_answer(small, large, connection)
        num_compared[large.path.value if isinstance(large, Forecast) else "rejected"] += 1
    assert set(num_compared) == {"A", "B", "C", "D", "rejected"}
    assert num_compared.total() > 30


def without_rows(case: Case) -> Case:
    source = None if case.source is None else replace(case.source, rows=())
    return replace(case, target=replace(case.target, files=()), source=source)


def numbered_rows(rows: Sequence[Row], schema: Schema, *, prefix: str, number: str) -> pa.Table:
    table = rows_to_table(rows, schema)
    named = table.rename_columns([f"{prefix}{i}" for i in range(table.num_columns)])
    return named.append_column(number, pa.array(range(len(rows)), type=pa.int64()))


def loaded(case: Case, connection: duckdb.DuckDBPyConnection) -> Relations:
    """Put the tables of a case into DuckDB."""
    assert case.source is not None
    files = physical_files(case.target)
    target = numbered_rows([row for _, rows in files for row in rows], case.target.schema, prefix="t", number="rid")
    numbers = pa.array([number for number, (_, rows) in enumerate(files) for _ in rows], type=pa.int64())
    connection.register("target_rows", target.append_column("file", numbers))
    connection.register("source_rows", numbered_rows(case.source.rows, case.source.schema, prefix="s", number="sid"))
    return Relations(target="FROM target_rows", source="FROM source_rows")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("USING (SELECT * FROM source) s ON t.k = s.k WHEN MATCHED THEN DELETE", "another source"),
        ("USING target s ON t.k = s.k WHEN MATCHED THEN DELETE", "another source"),
        ("USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET qty = (SELECT max(qty) FROM source)", "a subquery"),
        ("USING source s ON t.k = s.k AND 1 / t.qty > 0 WHEN MATCHED THEN DELETE", "may fail on some pair"),
        ("USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET qty = 1 / 0", "fails on some row"),
    ],
)
def test_what_only_rows_in_memory_can_answer_is_unsupported(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, statement: str, reason: str
) -> None:
    spec = make_spec(shape="upsert", rows=400, files=8, seed=1)
    tables = folders(spec, tmp_path)
    other = type(spec)(seed=1, rows=400, files=8, shape="upsert", statement=f"MERGE INTO target t {statement}")
    answer = over_relations(other, tables, connection)
    assert isinstance(answer, Unsupported)
    assert reason in answer.reason


@dataclass(frozen=True)
class Appended:
    """An insert-only merge, done by hand: one file and one commit, which a test may spoil."""

    spec: ScaleSpec
    tables: dict[str, Path]

    @property
    def file(self) -> Path:
        return self.tables["target"] / "part-new.parquet"

    def merge(
        self, select: str = "SELECT * FROM merged", change: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        """Write the commit that the reference wants; ``select`` and ``change`` spoil rows and actions."""
        expected = self._expected()
        with duckdb.connect() as connection:
            for name in ("target", "source"):
                connection.execute(f"CREATE VIEW {name} AS FROM '{self.tables[name]}/*.parquet'")
            connection.execute("CREATE TABLE merged AS FROM source ANTI JOIN target USING (k)")
            connection.execute(f"COPY ({select}) TO '{self.file}' (FORMAT parquet)")
            ((number, low, high),) = connection.execute("SELECT count(*), min(k), max(k) FROM merged").fetchall()
        size = self.file.stat().st_size
        stats = {"numRecords": number, "minValues": {"k": low}, "maxValues": {"k": high}}
        metrics = {name: bound.low for name, bound in expected.metrics.items()}
        metrics |= {"numTargetFilesAdded": 1, "numTargetBytesAdded": size}
        commit = {
            "info": {"operation": "MERGE", "operationMetrics": metrics},
            "add": {
                "path": self.file.name,
                "partitionValues": {},
                "size": size,
                "modificationTime": 0,
                "dataChange": True,
                "stats": stats,
            },
        }
        if change is not None:
            change(commit)
        commit["info"]["operationMetrics"] = {name: str(n) for name, n in commit["info"]["operationMetrics"].items()}
        commit["add"]["stats"] = json.dumps(commit["add"]["stats"])
        lines = [json.dumps({"commitInfo": commit["info"]}), json.dumps({"add": commit["add"]})]
        log = self.tables["target"] / "_delta_log" / f"{1:020}.json"
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _expected(self) -> Prediction:
        answer: Reference = evaluate(small_case(self.spec, self.tables, None, max_rows=10_000))
        assert isinstance(answer.answer, Prediction)
        return answer.answer

    def judge(self, connection: duckdb.DuckDBPyConnection, merged: Merged | None = None) -> Judgement:
        return judge(self.spec, self.tables, merged or Merged(path="A"), connection)


@pytest.fixture
def appended(tmp_path: Path) -> Appended:
    spec = make_spec(shape="insert-only", rows=400, files=8, seed=3)
    return Appended(spec, folders(spec, tmp_path / "tables"))


def test_a_right_merge_agrees(appended: Appended, connection: duckdb.DuckDBPyConnection) -> None:
    appended.merge()
    found = appended.judge(connection)
    assert found.verdict is Verdict.AGREE, found.mismatches
    assert found.checked is not None
    assert found.checked["rows"] > 400
    assert found.checked["metrics"] == 22


@pytest.mark.parametrize(
    ("select", "checks"),
    [
        pytest.param("SELECT * FROM merged LIMIT 3", {Check.ROWS, Check.CDF}, id="rows missing"),
        pytest.param("FROM merged UNION ALL FROM merged", {Check.ROWS, Check.CDF}, id="rows doubled"),
        pytest.param("SELECT * REPLACE (qty + 1 AS qty) FROM merged", {Check.ROWS, Check.CDF}, id="a cell"),
        pytest.param("SELECT * REPLACE (coalesce(name, '') AS name) FROM merged", {Check.ROWS}, id="'' for NULL"),
        pytest.param("SELECT * REPLACE (CAST(qty AS BIGINT) AS qty) FROM merged", {Check.SCHEMA}, id="a wider type"),
    ],
)
def test_wrong_rows_are_found(
    appended: Appended, connection: duckdb.DuckDBPyConnection, select: str, checks: set[Check]
) -> None:
    appended.merge(select)
    found = appended.judge(connection)
    assert found.verdict is Verdict.MISMATCH
    assert checks <= {mismatch.check for mismatch in found.mismatches if mismatch.against == "reference"}
    if Check.ROWS in checks:
        assert found.keys


def _metric(name: str, more: int) -> Callable[[dict[str, Any]], None]:
    def change(commit: dict[str, Any]) -> None:
        commit["info"]["operationMetrics"][name] += more

    return change


def _stats(path: tuple[str, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(commit: dict[str, Any]) -> None:
        inner = commit["add"]["stats"]
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "check", "kinds"),
    [
        (_metric("numSourceRows", 1), Check.METRICS, {"numSourceRows"}),
        (_metric("numTargetRowsInserted", 1), Check.METRICS, {"numTargetRowsInserted", "P-5", "P-6", "P-10"}),
        (_metric("numTargetRowsInserted", 1), Check.CDF, {"P-13"}),
        (_metric("numTargetBytesAdded", 1), Check.METRICS, {"P-10-files"}),
        (lambda c: c["info"]["operationMetrics"].pop("scanTimeMs"), Check.METRICS, {"scanTimeMs"}),
        (_stats(("numRecords",), 1), Check.FILES, {"P-11"}),
        (_stats(("minValues", "k"), 10**9), Check.FILES, {"P-11"}),
        (_stats(("maxValues", "qty"), 0), Check.FILES, {"P-11"}),
        (_stats(("nullCount", "day"), 1), Check.FILES, {"P-11"}),
    ],
)
def test_wrong_numbers_are_found(
    appended: Appended,
    connection: duckdb.DuckDBPyConnection,
    change: Callable[[dict[str, Any]], None],
    check: Check,
    kinds: set[str],
) -> None:
    appended.merge(change=change)
    found = appended.judge(connection)
    assert found.verdict is Verdict.MISMATCH
    assert kinds <= {mismatch.kind for mismatch in found.mismatches if mismatch.check is check}
    assert not {Check.ROWS} & {mismatch.check for mismatch in found.mismatches}


def test_a_feed_that_does_not_replay_to_the_table_is_found(
    appended: Appended, connection: duckdb.DuckDBPyConnection
) -> None:
    """P-12 needs no reference."""
    appended.merge()
    change = {"path": "_change_data/cdc.parquet", "partitionValues": {}, "size": 1, "dataChange": False}
    folder = appended.tables["target"] / "_change_data"
    folder.mkdir()
    duckdb.execute(
        f"COPY (SELECT * REPLACE (k + 2 AS k), 'insert' AS _change_type FROM '{appended.file}') "
        f"TO '{folder}/cdc.parquet' (FORMAT parquet)"
    )
    log = appended.tables["target"] / "_delta_log" / f"{1:020}.json"
    log.write_text(log.read_text(encoding="utf-8") + json.dumps({"cdc": change}) + "\n", encoding="utf-8")
    assert len(read_actions(appended.tables["target"], 1)) == 3
    kinds = {(mismatch.check, mismatch.kind) for mismatch in appended.judge(connection).mismatches}
    assert {(Check.CDF, "P-12"), (Check.CDF, "changed_rows")} <= kinds


def _lost(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize("spoil", [_lost, _cut])
def test_a_table_that_cannot_be_read_is_a_mismatch(
    appended: Appended, connection: duckdb.DuckDBPyConnection, spoil: Callable[[Path], None]
) -> None:
    appended.merge()
    spoil(appended.file)
    found = appended.judge(connection)
    assert ["unreadable_table"] == [mismatch.kind for mismatch in found.mismatches]
    assert found.unchecked is not None
    assert "rows" in found.unchecked


def test_a_log_that_cannot_be_read_is_a_mismatch(appended: Appended, connection: duckdb.DuckDBPyConnection) -> None:
    appended.merge(change=lambda commit: commit["info"].update(operationMetrics={"numSourceRows": "many"}))
    assert ["unreadable_table"] == [mismatch.kind for mismatch in appended.judge(connection).mismatches]


def test_a_small_case_has_the_rows_of_its_keys_file_by_file(tmp_path: Path) -> None:
    spec = make_spec(shape="null-keys", rows=2000, files=8, seed=1)
    tables = folders(spec, tmp_path)
    every = small_case(spec, tables, None, max_rows=10_000)
    assert every.source is not None
    matched = next(row[0] for row in every.source.rows if row[0] is not None and row[0] % 2 == 0)
    case = small_case(spec, tables, [matched, None, -1])
    assert case.source is not None
    wanted = {matched, None}
    assert [row for row in every.target.rows if row[0] in wanted] == list(case.target.rows)
    assert sum(row[0] in wanted for row in every.source.rows) == len(case.source.rows)
    assert 1 < len(case.target.files) <= 8
    assert (case.sql, case.target.change_data_feed) == (spec.statement, True)


def test_a_merge_that_must_succeed_and_fails_is_a_mismatch(
    appended: Appended, connection: duckdb.DuckDBPyConnection
) -> None:
    failed = Merged(rejection=Rejection(error_class="DELTA_SOMETHING", message="no"))
    found = appended.judge(connection, failed)
    assert ["spurious_error"] == [mismatch.kind for mismatch in found.mismatches]


def test_an_ambiguous_merge_must_fail_and_leave_the_table(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    spec = make_spec(shape="ambiguous", rows=4000, files=8, seed=1)
    tables = folders(spec, tmp_path)
    wanted = Rejection(
        error_class="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", message="several", unchanged=True
    )
    assert judge(spec, tables, Merged(rejection=wanted), connection).verdict is Verdict.BOTH_REJECTED
    assert judge(spec, tables, Merged(path="D"), connection).mismatches[0].kind == "no_error"
    log = tables["target"] / "_delta_log" / f"{1:020}.json"
    log.write_text(json.dumps({"commitInfo": {"operation": "MERGE"}}) + "\n", encoding="utf-8")
    kinds = [mismatch.kind for mismatch in judge(spec, tables, Merged(rejection=wanted), connection).mismatches]
    assert kinds == ["changed_after_error"]


def test_the_judge_of_a_process_of_its_own_says_the_same(
    appended: Appended, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    appended.merge("SELECT * REPLACE (qty + 1 AS qty) FROM merged")
    steps: list[tuple[str, int | None]] = []
    merged = Merged(path="A", metrics={})
    apart = judge_apart(
        appended.spec,
        appended.tables,
        merged,
        memory_bytes=2**30,
        spill=tmp_path / "spill",
        on_step=lambda name, rows: steps.append((name, rows)),
    )
    assert appended.judge(connection, merged) == apart.judgement
    assert list(apart.seconds) == [name for name, _ in steps]
    assert apart.peak_bytes is not None
    assert 2**25 < apart.peak_bytes < 2**30
