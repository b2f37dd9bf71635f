"""Engines that misbehave: one line about each case, the run goes on, and nothing ends green that was not verified."""

from __future__ import annotations

import decimal
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import bad_engines
import pytest

from mergecheck.harness.search import session

if TYPE_CHECKING:
    from cli_cases import Mergecheck

HANGS_ONCE = "echo_engine:HangsOnce"
FUZZ = ("fuzz", "--max-cases", "4", "--seed", "12", "--engine")


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("Exits", "the adapter raised SystemExit"),
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


@pytest.mark.parametrize("answer", ["numpy", "arrow", "own", "dicts", "lists", "numpy-rows", "numpy-metrics"])
def test_what_has_an_exact_value_is_taken(
    mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Adapters give what their libraries give, and no method of theirs is asked."""
    monkeypatch.setenv("ANSWER", answer)
    ended = mergecheck("run", case_file, "--engine", "bad_engines:Gives")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("hides-a-difference", (1, "rows")),
        ("many-rows", (1, "rows")),
        ("object", (3, "rows[0], column 'id' BIGINT is of type object")),
        ("complex", (3, "rows[0], column 'id' BIGINT is of type complex")),
        ("nanoseconds", (3, "has parts of a microsecond")),
        ("huge-number", (3, "rows[0], column 'id' BIGINT has 19,932 bits")),
        ("huge-decimal", (3, "rows[0], column 'id' BIGINT is a number that no column holds")),
        ("long-decimal", (3, "is a number that no column holds")),
        ("signalling", (3, "is a number that no column holds")),
        ("nan", (1, "rows")),
        ("own-zone", (1, "rows")),
        ("huge-metric", (3, "metrics['numOutputRows'] BIGINT has 19,932 bits")),
        ("wide", (3, "rows[0] has 3 cells, and there are 2 columns (id, v)")),
        ("narrow", (3, "rows[0] has 1 cells, and there are 2 columns (id, v)")),
        ("keys", (3, "other keys than the columns id, v")),
        ("texts", (3, "rows is of type str")),
        ("no-rows", (3, "rows is of type NoneType")),
        ("no-schema", (3, "schema is of type NoneType")),
        ("nan-metric", (3, "metrics['numOutputRows'] is of type float")),
        ("bool-metric", (3, "metrics['numOutputRows'] is of type bool")),
        ("no-metrics", (3, "metrics is of type NoneType")),
        ("rejection", (3, "error_class is of type NoneType")),
        ("committed", (3, "committed is of type str")),
    ],
)
def test_an_answer_of_other_types_is_refused_in_one_line(
    mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch, answer: str, expected: tuple[int, str]
) -> None:
    """The message names the part and the type; a wrong value is a mismatch."""
    code, reason = expected
    monkeypatch.setenv("ANSWER", answer)
    ended = mergecheck("run", case_file, "--engine", "bad_engines:Gives")
    assert ended.code == code
    assert reason in ended.out
    assert len(ended.out) < 10_000
    assert "Traceback" not in ended.out + ended.err
    as_json = mergecheck("run", case_file, "--engine", "bad_engines:Gives", "--json")
    assert as_json.code == code
    assert as_json.json["id"] == "upsert"


@pytest.mark.parametrize("error", list(bad_engines.ERRORS))
def test_whatever_an_adapter_raises_is_one_line(
    mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    monkeypatch.setenv("ERROR", error)
    for arguments in (("run", case_file), ("run", case_file, "--json"), ("fuzz", "--max-cases", "2", "--seed", "1")):
        ended = mergecheck(*arguments, "--engine", "bad_engines:Raises")
        assert ended.code == 3
        assert "Traceback" not in ended.out + ended.err
        assert len(ended.out + ended.err) < 30_000
        if "--json" in arguments:
            json.loads(ended.out)


def test_an_engine_cannot_change_the_case(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    """It has a copy, so the case that was given is compared and saved."""
    ended = mergecheck("fuzz", "--max-cases", "20", "--seed", "3", "--engine", "bad_engines:ChangesTheCase")
    assert ended.code == 0, ended.out + ended.err
    assert mergecheck("run", case_file, "--engine", "bad_engines:ChangesTheCase").code == 0
    assert not (folder / ".mergecheck/findings").exists()


def test_an_engine_cannot_change_the_process(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    precision = decimal.getcontext().prec
    ended = mergecheck("run", case_file, "--engine", "bad_engines:ChangesTheProcess")
    assert ended.code == 0
    assert "AGREE" in ended.out
    assert Path.cwd() == folder
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert decimal.getcontext().prec == precision


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("FailsAtStart", "does not start: SilentError: (its text cannot be had: RuntimeError)"),
        ("NoName", "does not start: SilentError"),
        ("NoCapabilities", "does not start: SilentError"),
        ("NumberAsName", "its name is of type int, and must be of str"),
        ("BlankAsName", "its name is empty"),
        ("LongName", "its name and version have more than 200 characters"),
        ("OwnTextAsRelease", "capabilities.deviations_of must be a text"),
        ("WrongCapabilities", "capabilities.features_off must be a frozenset of texts"),
        ("HangsAtStart", "the engine did not start within 0.5 s"),
    ],
)
def test_an_engine_that_does_not_start(
    mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch, engine: str, reason: str
) -> None:
    """One line, and exit code 3, for every verb alike."""
    monkeypatch.setattr(session, "OWN_CLASS_START_SECONDS", 0.5)
    name = f"bad_engines:{engine}"
    for verb in (
        ("run", case_file, "--engine", name),
        ("replay", case_file, "--engine", name),
        ("fuzz", "--max-cases", "1", "--engine", name),
        ("engine", "conform", name),
    ):
        ended = mergecheck(*verb, "--case-timeout", "0.2")
        assert ended.code == 3
        assert reason in ended.err
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("engine", ["HangsAtClose", "ExitsAtClose"])
def test_an_engine_that_does_not_close_costs_no_result(
    mergecheck: Mergecheck,
    case_file: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    engine: str,
) -> None:
    monkeypatch.setattr(session, "CLOSE_SECONDS", 0.5)
    ended = mergecheck("run", case_file, "--engine", f"bad_engines:{engine}")
    assert ended.code == 0
    assert "AGREE" in ended.out
    assert ("did not close within 0.5 s" if engine == "HangsAtClose" else "SystemExit") in caplog.text
