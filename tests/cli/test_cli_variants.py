"""``variants`` and ``bisect`` without Spark: the list, and a message for each mistake."""

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


def test_an_engine_without_axes_varies_by_its_tables(mergecheck: Mergecheck, case_file: str) -> None:
    """Other files, partitions and batches are for every engine; an axis of another engine is a mistake."""
    engine = ("--engine", "echo_engine:Echo")
    ended = mergecheck(
        "variants", case_file, *engine, "--variant", "files=per-row", "--variant", "source-batch=1", "--json"
    )
    assert (ended.code, ended.json["endings"]["different"]) == (0, 0)
    assert ended.json["num_variants"] > 0
    ended = mergecheck("variants", case_file, *engine, "--variant", "aqe=on")
    assert ended.code == 2
    assert "no variant 'aqe=on'; axes: files, " in ended.err


def test_a_switch_of_an_engine_is_tried_proved_and_bisected(mergecheck: Mergecheck, case_file: str) -> None:
    """An engine of one's own declares an axis, and reports the path that it takes."""
    engine = ("--engine", "echo_engine:LosesARowInBulk")
    listed = mergecheck("variants", "--list", *engine).out
    assert "acme.bulk  (base: off)" in listed.splitlines()
    assert "      switches: bulk" in listed.splitlines()
    ended = mergecheck("variants", case_file, *engine, "--require-path", "bulk", "--require-path", "stream")
    assert ended.code == 1
    assert "  axis acme.bulk: off -> on" in ended.out.splitlines()
    assert "why" in ended.out
    assert "inconclusive: no merge of the run took the path stream (--require-path)" in ended.out
    assert "paths, of " in ended.out
    assert "warning: acme.idle=on never switched idle in " in ended.out
    found = mergecheck("variants", case_file, *engine, "--json").json["findings"]
    assert [one["variant"] for one in found] == ["acme.bulk=on"]  # one finding a cause, whatever else a variant sets
    assert "  axis acme.bulk: off -> on" in mergecheck("lab", "bisect", found[0]["id"], *engine).out.splitlines()
    assert mergecheck("replay", found[0]["id"], *engine).code == 1
    assert mergecheck("replay", found[0]["id"], "--engine", "echo_engine:Echo").code == 4


def test_a_switch_and_the_one_that_it_needs_have_proofs_of_their_own(mergecheck: Mergecheck, case_file: str) -> None:
    """A needed value is compared with the run without it, and not with itself."""
    engine = ("--engine", "echo_engine:FetchesInBulk")
    ended = mergecheck("variants", case_file, *engine, "--variant", "acme.fetch=on", "--require-path", "fetch")
    assert ended.code == 0
    for switch in ("acme.bulk=on", "acme.fetch=on"):
        (row,) = (line.split() for line in ended.out.splitlines() if line.startswith(f"{switch} "))
        assert row[-1] == "1"
    assert "never switched" not in ended.out


def test_a_setting_of_a_case_that_excludes_a_variant_is_shown(mergecheck: Mergecheck, tmp_path: Path) -> None:
    """With the way round."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps({**CASE, "conf": {"acme.idle": "on"}}), encoding="utf-8")
    asked = ("variants", str(path), "--engine", "echo_engine:LosesARowInBulk", "--trust", "--variant", "acme.idle=on")
    out = " ".join(mergecheck(*asked).out.split())
    assert "acme.idle=on was left out in 1 case by its own setting acme.idle=on; --unset acme.idle takes it out" in out
    assert mergecheck(*asked, "--unset", "acme.idle", "--json").json["num_variants"] == 1


def test_a_favoured_feature_that_the_engine_lacks_is_shown(mergecheck: Mergecheck, case_file: str) -> None:
    """Drawn cases have it never; a case that was given is not drawn."""
    asked = ("variants", "--engine", "echo_engine:FavoursWhatItLacks", "--variant", "acme.nulls=on")
    text = "warning: no case was drawn with null-keys, favoured by acme.nulls: the engine's capabilities leave it out"
    assert text in " ".join(mergecheck(*asked, "--max-cases", "1").out.split())
    assert mergecheck(*asked, "--max-cases", "1", "--json").json["undrawn"] == {"null-keys": ["acme.nulls"]}
    assert "no case was drawn" not in mergecheck(*asked, case_file).out


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
