"""Each optimisation that Delta Lake lacks has one setting, which turns it off and changes no result."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from merge_tables import DELETE_AND_INSERT, INSERT, ON, UPSERT, arrow, create

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.merge import plan
from mergecheck.merge.conf import (
    BROADCAST_SOURCE,
    LARGE_TABLE_BYTES,
    LOW_SHUFFLE,
    ONE_TASK,
    PRUNE_BY_SOURCE_KEYS,
    SINGLE_SCAN,
)

if TYPE_CHECKING:
    from pathlib import Path

    from merge_tables import Rows
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# What `plan` calls, and nothing else does, if the setting is on.
OPTIMISATIONS = {
    SINGLE_SCAN: "merge_in_single_scan",
    ONE_TASK: "OneTaskJoins",
    PRUNE_BY_SOURCE_KEYS: "plan_first_scan_by_keys",
    BROADCAST_SOURCE: "BroadcastJoins",
    LOW_SHUFFLE: "rewrite_with_low_shuffle",
}
ALL_OFF = dict.fromkeys(OPTIMISATIONS, "false")
LARGE = {LARGE_TABLE_BYTES: "0"}
SOURCE: Rows = [(1, "x"), (3, None), (9, "new"), (None, "null")]
STATEMENTS = {
    "upsert": UPSERT,
    "delete-and-insert": DELETE_AND_INSERT,
    "matched-only": ON + "WHEN MATCHED AND t.v = 'a' THEN UPDATE SET v = s.v",
    "by-source": ON
    + "WHEN NOT MATCHED AND s.id > 1 THEN INSERT (id) VALUES (s.id) WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "insert-only": INSERT,
    "nothing-matches": ON.replace("t.id = s.id", "t.id = s.id + 90") + "WHEN MATCHED THEN DELETE",
}


def merged(spark: SparkSession, path: Path, sql: str, settings: dict[str, str]) -> tuple[object, dict[str, int]]:
    """Merge into a new table; give what must not depend on the settings, and how often each optimisation ran."""
    table = create(spark, path, arrow([(1, "a"), (2, None)]), arrow([(3, "c"), (None, "n")]), arrow([(70, "far")]))
    with settings_of(spark, settings), ExitStack() as stack:
        watched = {
            name: stack.enter_context(mock.patch.object(plan, name, wraps=getattr(plan, name)))
            for name in OPTIMISATIONS.values()
        }
        result = table.merge(sql, SOURCE)
    layout = ("FilesAdded", "BytesAdded", "TimeMs")
    metrics = {name: value for name, value in result.metrics.items() if not name.endswith(layout)}
    changes = table.changes() if result.version else None
    told = (result.path, result.version, result.row, sorted(result.touched_files), metrics, table.rows(), changes)
    return (*(told[:3]), len(told[3]), *told[4:]), {name: function.call_count for name, function in watched.items()}


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS)
@pytest.mark.parametrize("large", [{}, LARGE], ids=["small", "large"])
def test_every_optimisation_gives_what_the_plain_executors_give(
    spark: SparkSession, tmp_path: Path, sql: str, large: dict[str, str]
) -> None:
    """Path, rows, change rows and metrics: with each one alone, and with all together (R-403)."""
    expected, calls = merged(spark, tmp_path / "plain", sql, {**large, **ALL_OFF})
    assert set(calls.values()) == {0}
    for setting in OPTIMISATIONS:
        found, calls = merged(spark, tmp_path / setting, sql, {**large, **ALL_OFF, setting: "true"})
        assert found == expected, setting
        assert sum(calls.values()) == calls[OPTIMISATIONS[setting]]
    found, _ = merged(spark, tmp_path / "all", sql, large)
    assert found == expected


@pytest.mark.parametrize("setting", OPTIMISATIONS)
def test_a_setting_turns_its_optimisation_off(spark: SparkSession, tmp_path: Path, setting: str) -> None:
    """All others run as before; a table that counts as large is merged in two scans."""
    sql = UPSERT
    _, on = merged(spark, tmp_path / "on", sql, LARGE)
    _, off = merged(spark, tmp_path / "off", sql, {**LARGE, setting: "false"})
    name = OPTIMISATIONS[setting]
    assert on[name] == 1
    assert off == {**on, name: 0}
