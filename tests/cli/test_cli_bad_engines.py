"""Engines that misbehave: one line about each case, the run goes on, and nothing ends green that was not verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_cases import Mergecheck

FUZZ = ("fuzz", "--max-cases", "4", "--seed", "5", "--engine")


@pytest.mark.parametrize(
    ("engine", "reason"),
    [("Exits", "called sys.exit()"), ("ReturnsNothing", "NoneType"), ("WrongTypes", "cannot be compared")],
)
def test_an_adapter_that_fails_is_an_engine_error(mergecheck: Mergecheck, engine: str, reason: str) -> None:
    """The run ends with 3, and no traceback is shown."""
    ended = mergecheck(*FUZZ, f"echo_engine:{engine}")
    assert ended.code == 3
    assert reason in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


def test_an_adapter_that_exits_in_a_case(mergecheck: Mergecheck, case_file: str) -> None:
    """The case is reported with the place in the adapter."""
    ended = mergecheck("run", case_file, "--engine", "echo_engine:Exits")
    assert ended.code == 3
    assert "the adapter raised SystemExit" in ended.out


def test_prints_of_an_engine_stay_out_of_the_document(mergecheck: Mergecheck, caplog: pytest.LogCaptureFixture) -> None:
    """With --json stdout has one document, and an engine that does not close costs no result."""
    ended = mergecheck(*FUZZ, "echo_engine:PrintsAndFailsToClose", "--json")
    assert json.loads(ended.out)["exit_code"] == ended.code == 0
    assert "not a part of the document" in ended.err
    assert "did not close: OSError: the connection was lost" in caplog.text
