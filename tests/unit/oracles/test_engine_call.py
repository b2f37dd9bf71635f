"""Calls of engines in several threads: the process is as before, whichever call begins or ends first."""

from __future__ import annotations

import io
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from mergecheck.harness.oracles.engine_call import process_kept


@pytest.mark.parametrize("first_ends_first", [True, False], ids=["in-turn", "nested"])
def test_calls_that_overlap_leave_the_process_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, first_ends_first: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of-an-adapter").mkdir()
    before = sys.stdout, sys.getrecursionlimit(), Path.cwd()
    first, second = ExitStack(), ExitStack()
    first.enter_context(process_kept())
    sys.stdout = io.StringIO()
    sys.setrecursionlimit(before[1] + 500)
    os.chdir("of-an-adapter")
    second.enter_context(process_kept())
    for call in (first, second) if first_ends_first else (second, first):
        call.close()
    assert (sys.stdout, sys.getrecursionlimit(), Path.cwd()) == before
