"""The table of Iceberg that writers share: its properties, its versions, and how a merge of it ends; without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.engine import Lost, PointKind, Written
from mergecheck.harness.engines.iceberg.shared_table import SharedTable
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.engine import Point
    from mergecheck.model.case import Case


@dataclass
class Child:
    """Keeps the steps that it gets; a merge writes ``commits`` versions."""

    warehouse: Path
    fails_with: str = ""
    commits: int = 1
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    writers: list[str] = field(default_factory=list)

    def run(
        self,
        steps: Sequence[Mapping[str, Any]],
        *,
        conf: Mapping[str, str],  # noqa: ARG002 - as the child takes them
        cleanup: Sequence[str] = (),  # noqa: ARG002
        writer: str = "",
        at: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        self.steps += steps
        self.writers.append(writer)
        if at is not None:
            at()
        if self.fails_with:
            return {"failed": {"step": "merge", "class": self.fails_with, "message": "no"}, "results": {}}
        hint = self.warehouse / "shared" / "cases" / "target" / "metadata" / "version-hint.text"
        hint.parent.mkdir(parents=True, exist_ok=True)
        hint.write_text(str((int(hint.read_text()) if hint.exists() else 0) + self.commits))
        return {"results": {}}


def case_of(**target: Any) -> Case:
    return case_from_json(
        {
            "format_version": 1,
            "id": "shared",
            "target": {"schema": "k INT, v INT", "files": [[[1, 10]], [[2, 20]]], **target},
            "source": {"schema": "k INT, v INT", "rows": [[1, 11]]},
            "sql": "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *",
        },
        where="test",
    )


def made(folder: Path, case: Case | None = None) -> tuple[SharedTable, Child]:
    child = Child(folder)
    table = SharedTable(child)  # type: ignore[arg-type] # it needs no more of a child
    assert table.make((case or case_of()).target, "Serializable") is None
    return table, child


def statements(child: Child) -> str:
    return "\n".join(step["sql"] for step in child.steps if "sql" in step)


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({}, ("'write.merge.mode'='copy-on-write'", "'format-version'='2'")),
        ({"delta.enableDeletionVectors": "true"}, ("'write.merge.mode'='merge-on-read'", "'format-version'='3'")),
        ({"delta.enableRowTracking": "true"}, ("'write.merge.mode'='copy-on-write'", "'format-version'='3'")),
    ],
)
def test_a_table_has_the_level_and_the_kind_that_comes_closest(
    tmp_path: Path, properties: dict[str, str], wanted: tuple[str, ...]
) -> None:
    _, child = made(tmp_path, case_of(properties=properties))
    created = statements(child).replace(" = ", "=")
    assert "'write.merge.isolation-level'='serializable'" in created
    assert [part for part in wanted if part not in created] == []


def test_a_level_that_iceberg_does_not_have_is_not_supported(tmp_path: Path) -> None:
    table, _ = made(tmp_path)
    assert table.make(case_of().target, "WriteSerializable") == Unsupported("isolation WriteSerializable")


def test_versions_count_from_the_table_as_it_was_made(tmp_path: Path) -> None:
    """However many files of metadata it takes to make it."""
    table, child = made(tmp_path)
    assert table.newest_version() == 0
    table.execute("INSERT INTO target VALUES (9, 2)")
    assert table.newest_version() == 1
    table.make(case_of().target, "Snapshot")
    assert table.newest_version() == 0
    assert "snapshot" in statements(child)


def merged(table: SharedTable, child: Child) -> tuple[object, list[PointKind], str]:
    points: list[PointKind] = []

    def at(point: Point) -> None:
        points.append(point.kind)

    ending = table.merge(case_of(), "one", at)
    return ending, points, child.writers[-1]


def test_a_merge_stops_before_its_snapshot_and_before_its_commit(tmp_path: Path) -> None:
    points = [PointKind.BEFORE_SNAPSHOT, PointKind.BEFORE_COMMIT]
    table, child = made(tmp_path)
    assert merged(table, child) == (Written(committed=True), points, "one")
    child.commits = 0
    assert merged(table, child) == (Written(committed=False), points, "one")


@pytest.mark.parametrize("error", ["ValidationException", "CommitFailedException"])
def test_a_merge_that_another_commit_is_in_the_way_of_has_lost(tmp_path: Path, error: str) -> None:
    table, child = made(tmp_path)
    child.fails_with = error
    assert merged(table, child)[0] == Lost(error_class=error, message="no")


def test_any_other_error_is_the_answer_to_the_merge_and_ends_a_run_elsewhere(tmp_path: Path) -> None:
    table, child = made(tmp_path)
    child.fails_with = "SparkException"
    assert merged(table, child)[0] == Rejection(error_class="SparkException", message="no")
    with pytest.raises(EngineDownError, match="SparkException: no"):
        table.execute("DELETE FROM target")
