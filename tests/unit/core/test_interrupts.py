"""Ctrl+C is never taken for a failure."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from mergecheck.harness.core.interrupts import interrupts_kept


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
