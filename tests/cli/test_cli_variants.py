"""What a user of ``variants`` and ``bisect`` sees without Spark: the list, and mistakes that are told apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

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
        (
            "      may change (R-320 several source rows match one target row): "
            "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
        ),
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


def test_a_case_that_is_given_is_not_put_into_a_batch(mergecheck: Mergecheck, case_file: str) -> None:
    """Its author speaks of his own tables."""
    ended = mergecheck("variants", case_file, "--batch", "4")
    assert ended.code == 2
    assert "--batch is for random cases" in ended.err


def test_bisect_wants_a_variant(mergecheck: Mergecheck, tmp_path: Path) -> None:
    """A case that was not kept by ``variants`` names none."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    ended = mergecheck("lab", "bisect", str(path))
    assert ended.code == 2
    assert "mergecheck variants FOLDER/case.json" in ended.err


def test_a_difference_is_reported_kept_replayed_and_bisected(
    mergecheck: Mergecheck, case_file: str, snapshot: SnapshotAssertion
) -> None:
    """The whole way of a user: the report names the axis, the id leads back to it."""
    engine = ("--engine", "echo_engine:LosesARowWhenAdaptive")
    ended = mergecheck(
        "variants", case_file, *engine, "--variant", "aqe=on,codegen=expressions", "--variant", "spill=early"
    )
    assert (ended.code, ended.out) == (1, snapshot)
    found = mergecheck("variants", case_file, *engine, "--variant", "aqe=on", "--json").json["findings"]
    assert found[0]["axes"] == ["aqe"]
    again = mergecheck("variants", found[0]["id"], *engine, "--json").json
    assert (again["exit_code"], again["num_variants"], again["findings"][0]["variant"]) == (1, 1, "aqe=on")
    bisected = mergecheck("lab", "bisect", found[0]["id"], *engine)
    assert bisected.code == 1
    assert "  axis aqe: off -> on" in bisected.out.splitlines()


def test_a_plan_that_never_ran_is_inconclusive(mergecheck: Mergecheck, case_file: str) -> None:
    """Exit code 4, and the operator is named."""
    engine = ("--engine", "echo_engine:LosesARowWhenAdaptive")
    ended = mergecheck("variants", case_file, *engine, "--variant", "spill=early", "--require-plan", "CartesianProduct")
    assert ended.code == 4
    assert "inconclusive: no plan of the run showed CartesianProduct (--require-plan)" in ended.out
