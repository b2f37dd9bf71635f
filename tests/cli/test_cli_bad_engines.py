"""Engines that misbehave: one line about each case, the run goes on, and nothing ends green that was not verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

HANGS_ONCE = "echo_engine:HangsOnce"
FUZZ = ("fuzz", "--max-cases", "4", "--seed", "12", "--engine")


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("Exits", "called sys.exit()"),
        ("ReturnsNothing", "NoneType"),
        ("WrongTypes", "cannot be compared"),
    ],
)
def test_an_adapter_that_fails_is_an_engine_error(mergecheck: Mergecheck, engine: str, reason: str) -> None:
    """The run ends with 3, and no traceback is shown."""
    ended = mergecheck(*FUZZ, f"echo_engine:{engine}")
    assert ended.code == 3
    assert reason in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


def test_what_is_no_exception_is_the_adapters_fault(mergecheck: Mergecheck, case_file: str) -> None:
    """Also if relations ask the engine."""
    for options in (("run", case_file), ("replay", case_file, "--oracle", "metamorphic")):
        ended = mergecheck(*options, "--engine", "echo_engine:RaisesNoException")
        assert ended.code == 3
        assert "the adapter raised GeneratorExit" in ended.out
    assert mergecheck(*FUZZ, "echo_engine:RaisesNoException").code == 3


def test_a_case_without_an_answer_is_kept_and_the_run_goes_on(mergecheck: Mergecheck, folder: Path) -> None:
    """It counts as a failure of the engine."""
    ended = mergecheck("fuzz", "--max-cases", "6", "--seed", "5", "--case-timeout", "5", "--engine", HANGS_ONCE)
    assert ended.code == 3
    assert "crashed: the engine had no answer within TIME (--case-timeout)" in ended.err
    assert "6 cases in" in ended.out
    assert "engine down 1" in ended.out
    (kept,) = (folder / ".mergecheck/findings/crashed").glob("*.json")
    again = mergecheck("run", str(kept), "--case-timeout", "0.3", "--engine", "echo_engine:Hangs")
    assert again.code == 3
    assert "no answer within 0.3 s" in again.out


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
