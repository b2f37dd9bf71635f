"""Every merge of the quick scope on our own merge, by the reference and by the row model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.lab.exhaustive.exhaustive_run import RunOptions, run_scope
from mergecheck.harness.lab.exhaustive.scope_file import load_scope
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spark
def test_our_own_merge_agrees_on_the_quick_scope(tmp_path: Path) -> None:
    scope = load_scope("quick")
    checker = Checker(engine=PySparkEngine(start_session()), reference=MergeReference().evaluate)
    options = RunOptions(numbers=range(len(scope.statements)), journal=None, findings=tmp_path)
    report = run_scope(scope, checker, options)
    assert report.merges == {"agree": 53_790, "both_rejected": 12, "oracles": 2_430}
    assert not report.left
