"""The merge of this project in a child process, as it runs on another Spark; here on the installed one."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from upsert_case import CASE, some_case

from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.engines.spark_case import reads_source_from_table
from mergecheck.harness.engines.spark_versions.own_merge import MergeReleaseEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.outcome import MergePath, Outcome, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.spark

AMBIGUOUS = replace(CASE, source=replace(CASE.source, rows=((1, "x"), (1, "y"))))
LINE = ".".join(version("pyspark").split(".")[:2])
OWN = version("mergecheck")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MergeReleaseEngine]:
    """Start it in an environment that is this one, so that nothing has to be fetched."""
    cache = tmp_path_factory.mktemp("cache")
    make_environment(cache / "environments" / f"mergecheck-{OWN}-spark-{LINE}-py3{sys.version_info.minor}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MERGECHECK_CACHE", str(cache))
        found = load_engine(f"pyspark@{OWN}+spark{LINE}")
    assert isinstance(found, MergeReleaseEngine)
    yield found
    found.close()


def make_environment(folder: Path) -> None:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (folder / "complete").touch()


@pytest.mark.parametrize("from_table", [True, False])
def test_it_merges_and_tells_its_path(engine: MergeReleaseEngine, *, from_table: bool) -> None:
    """Rows, feed, metrics, result row and path are the reference's."""
    case = some_case(reads_source_from_table, from_table)
    report = check_case(case, engine)
    assert (report.verdict, report.mismatches, report.unsupported_checks) == (Verdict.AGREE, (), ())
    assert isinstance(report.result, Outcome)
    assert report.result.path is MergePath.D


def test_its_errors_keep_their_classes(engine: MergeReleaseEngine) -> None:
    result = engine.run(AMBIGUOUS)
    assert isinstance(result, Rejection)
    assert result.error_class == "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
    assert result.unchanged
    assert check_case(AMBIGUOUS, engine).verdict is Verdict.BOTH_REJECTED


def test_what_it_has_no_words_for_is_unsupported(engine: MergeReleaseEngine) -> None:
    dollars = CASE.sql.replace("UPDATE SET *", "UPDATE SET v = $$x$$")
    refused = engine.run(replace(CASE, sql=dollars))
    assert isinstance(refused, Unsupported)
    assert "a string between dollar signs" in refused.reason
    assert engine.run(replace(CASE, conf={"spark.sql.nothing": "1"})) == Unsupported("setting spark.sql.nothing")


def test_it_shows_its_plans(engine: MergeReleaseEngine) -> None:
    assert any("SortMergeJoin" in plan for plan in engine.run_recorded(CASE).plans)
