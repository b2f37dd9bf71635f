"""What a user of ``variants`` and ``bisect`` sees without Spark: the list, and mistakes that are told apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

CASE = {
    "format_version": 1,
    "id": "plain",
    "target": {"schema": "id INT", "files": [[[1]]]},
    "source": {"schema": "id INT", "rows": [[2]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
}


def test_the_list_says_domains_exceptions_and_plans(mergecheck: Mergecheck) -> None:
    """Everything that is declared of a place."""
    out = mergecheck("variants", "--list").out
    for line in (
        "insert-only  (base: on)",
        "  insert-only=off  an insert-only merge takes the classic path",
        "      may change (R-320): DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        "      brings: aqe=on, partitions=2, splits=many",
        "      plan: BroadcastNestedLoopJoin or CartesianProduct",
    ):
        assert line in out.splitlines()
    listed = mergecheck("variants", "--list", "--json").json["variants"]
    assert {"name", "axis", "base", "domain", "settings", "may_change", "plan"} <= listed[0].keys()


def test_an_unknown_variant_is_a_usage_error(mergecheck: Mergecheck) -> None:
    """With the nearest name."""
    ended = mergecheck("variants", "--variant", "aqe=of")
    assert ended.code == 2
    assert "on axis aqe there are: on" in ended.err


def test_an_engine_without_spark_has_no_variants(mergecheck: Mergecheck) -> None:
    """The message names those that have."""
    ended = mergecheck("variants", "--engine", "echo_engine:Echo", "--max-cases", "1")
    assert ended.code == 2
    assert "delta-spark, pyspark" in ended.err


def test_bisect_wants_a_variant(mergecheck: Mergecheck, tmp_path: Path) -> None:
    """A case that was not kept by ``variants`` names none."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    ended = mergecheck("bisect", str(path))
    assert ended.code == 2
    assert "mergecheck variants FOLDER/case.json" in ended.err
