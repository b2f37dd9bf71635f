"""Ctrl+C is never taken for a failure."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.duckdb.engine import DuckDbEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.processes.interrupts import interrupts_kept, lost_interrupts_repeated
from mergecheck.harness.search.session import WARM_UP

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference


def press_ctrl_c(then: Exception | None) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    if then is not None:
        raise then


@pytest.mark.parametrize("then", [RuntimeError("Query interrupted"), None])
def test_an_interrupt_comes_back(then: Exception | None) -> None:
    """Ctrl+C is not hidden by a library that answers it with an error, nor by an adapter that swallows it."""
    with pytest.raises(KeyboardInterrupt), interrupts_kept():
        press_ctrl_c(then)


def test_an_interrupt_that_was_handled_stays_handled() -> None:
    """An error that it led to is still an interrupt."""
    with interrupts_kept(also_swallowed=False):
        press_ctrl_c(None)
    with pytest.raises(KeyboardInterrupt), interrupts_kept(also_swallowed=False):
        press_ctrl_c(RuntimeError("Query interrupted"))


def test_errors_without_an_interrupt_stay_themselves() -> None:
    """Nothing else is touched, and the handler is the one from before."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="own"), interrupts_kept():
        raise RuntimeError("own")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_set_inside_stays() -> None:
    """An engine may set its own handler, as PySpark does with its first session; it is not undone."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with interrupts_kept():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


class Finalized:
    """Is interrupted, or fails, while it is deleted."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def __del__(self) -> None:
        if self.error is not None:
            raise self.error
        signal.raise_signal(signal.SIGINT)


def finalize_and_sleep() -> None:
    assert Finalized()
    time.sleep(20)


def test_an_interrupt_that_python_would_ignore_comes_again(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), lost_interrupts_repeated():
        finalize_and_sleep()
    assert sys.unraisablehook is before
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_other_errors_of_finalizers_are_shown_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: seen.append(str(unraisable.exc_value)))
    with lost_interrupts_repeated():
        assert Finalized(ValueError("own"))
    assert seen == ["own"]


def test_an_interrupt_in_the_reference_is_no_defect_of_it() -> None:
    """As in the cases of known deviations, which are checked before a run: it went on."""

    def interrupted(_case: Case) -> Reference:
        press_ctrl_c(RuntimeError("Query interrupted"))
        raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        check_case(WARM_UP, DuckDbEngine(), reference=interrupted)
