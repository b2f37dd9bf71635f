"""Engines whose answers, errors and members are not those that an adapter should give."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import locale
import os
import signal
import sys
import time
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from echo_engine import Echo

from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.outcome import Outcome, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class EqualsAll(str):
    """Takes every text for itself."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __str__(self) -> str:
        raise RuntimeError("no text")


class SilentError(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class NoTextError(Exception):
    """Has a number for its text."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # noqa: PLE0307 - the fault


class SilentlyDownError(EngineDownError):
    """Has no text, and is an error that an adapter may raise."""

    __str__ = SilentError.__str__


class Number(int):
    """Is equal to nothing."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = int.__hash__


class Zone(dt.tzinfo):
    """Claims that every moment is another one when it is asked again."""

    asked = 0

    def utcoffset(self, _moment: dt.datetime | None) -> dt.timedelta:
        Zone.asked += 1
        return dt.timedelta(minutes=Zone.asked)

    def dst(self, _moment: dt.datetime | None) -> None:
        return None


class Numbers(Decimal):
    """A decimal of an adapter's own."""


def _cells(convert: Callable[[Any], Any]) -> Callable[[Outcome], Outcome]:
    return lambda o: replace(o, rows=tuple(tuple(map(convert, row)) for row in o.rows))


def _numpy(value: Any) -> Any:
    return np.int64(value) if isinstance(value, int) else np.str_(value) if isinstance(value, str) else value


ANSWERS: Mapping[str, Callable[[Outcome], Any]] = {
    "numpy": _cells(_numpy),
    "arrow": _cells(pa.scalar),
    "own": _cells(lambda v: Number(v) if isinstance(v, int) else EqualsAll(v) if isinstance(v, str) else v),
    "dicts": lambda o: replace(o, rows=[dict(zip(o.schema.names, row, strict=True)) for row in o.rows]),
    "lists": lambda o: replace(o, rows=(list(row) for row in o.rows)),
    "numpy-rows": lambda o: replace(o, rows=np.array([list(row) for row in o.rows], dtype=object)),
    "numpy-metrics": lambda o: replace(
        o, metrics={name: np.int32(n) for name, n in o.metrics.items()}, committed=np.bool_(o.committed)
    ),
    # wrong ones
    "hides-a-difference": lambda o: replace(o, rows=tuple((row[0], EqualsAll("?")) for row in o.rows)),
    "many-rows": lambda o: replace(o, rows=o.rows * 3_000),
    "object": lambda o: replace(o, rows=((object(), "x"),)),
    "complex": lambda o: replace(o, rows=((1j, "x"),)),
    "nanoseconds": lambda o: replace(o, rows=((np.datetime64("2026-01-01T00:00:00.000000001", "ns"), "x"),)),
    "huge-number": lambda o: replace(o, rows=((10**6_000, "x"),)),
    "huge-decimal": lambda o: replace(o, rows=((Decimal("1E+99999999"), "x"),)),
    "long-decimal": lambda o: replace(o, rows=((Decimal("1" * 2_000), "x"),)),
    "signalling": lambda o: replace(o, rows=((Decimal("sNaN"), "x"),)),
    "nan": lambda o: replace(o, rows=((Decimal("NaN"), "x"),)),
    "own-zone": lambda o: replace(o, rows=((dt.datetime(2026, 1, 1, tzinfo=Zone()), "x"),)),
    "huge-metric": lambda o: replace(o, metrics={"numOutputRows": 10**6_000}),
    "wide": lambda o: replace(o, rows=((1, "x", 2),)),
    "narrow": lambda o: replace(o, rows=((1,),)),
    "keys": lambda o: replace(o, rows=({"id": 1, "w": "x"},)),
    "texts": lambda o: replace(o, rows="ab"),
    "no-rows": lambda o: replace(o, rows=None),
    "no-schema": lambda o: replace(o, schema=None),
    "nan-metric": lambda o: replace(o, metrics={"numOutputRows": float("nan")}),
    "bool-metric": lambda o: replace(o, metrics={"numOutputRows": True}),
    "no-metrics": lambda o: replace(o, metrics=None),
    "rejection": lambda _: Rejection(error_class=None, message=7),  # type: ignore[arg-type]
    "committed": lambda o: replace(o, committed="yes"),
}


class Gives(Echo):
    """Gives the reference's answer in another form, which the environment names."""

    name = "gives"

    def run(self, case: Case) -> EngineResult:
        result: Any = super().run(case)
        return ANSWERS[os.environ["ANSWER"]](result) if isinstance(result, Outcome) else result


ERRORS: Mapping[str, Callable[[], BaseException]] = {
    "silent": SilentError,
    "number": NoTextError,
    "down": SilentlyDownError,
    "huge": lambda: ValueError("x" * 10_000_000),
    "exit": lambda: SystemExit(0),
    "generator": GeneratorExit,
    "stop": StopIteration,
    "down-with-text": lambda: EngineDownError(EqualsAll("no text")),
    "down-with-number": lambda: EngineDownError(7),
    "recursion": RecursionError,
    "base": lambda: type("Own", (BaseException,), {})("own"),
    "memory": MemoryError,
}


class Raises(Echo):
    """Raises the error that the environment names."""

    name = "raises"

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        error = ERRORS[os.environ["ERROR"]]()
        raise error


class ChangesTheCase(Echo):
    """Changes the case that it was given, frozen or not, after it has answered."""

    name = "changes"

    def run(self, case: Case) -> EngineResult:
        answer = copy.deepcopy(super().run(case))
        case.target.properties["x"] = "y"  # type: ignore[index]
        object.__setattr__(case.target, "files", ())
        for column in case.target.schema.columns:
            object.__setattr__(column, "name", "changed")
        object.__setattr__(case, "sql", "DROP TABLE target")
        return answer


class ChangesTheProcess(Echo):
    """Leaves another process behind: folder, streams, handlers, contexts."""

    name = "changes-the-process"

    def run(self, case: Case) -> EngineResult:
        answer = super().run(case)
        os.chdir("/")
        sys.stdout = sys.stderr = None
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        decimal.getcontext().prec = 1
        locale.setlocale(locale.LC_ALL, "C")
        sys.setrecursionlimit(200)
        return answer


class HangsAtStart(Echo):
    """Never starts."""

    name = "hangs-at-start"

    def __init__(self) -> None:
        time.sleep(600)


class HangsAtClose(Echo):
    """Never closes."""

    name = "hangs-at-close"

    def close(self) -> None:
        time.sleep(600)


class ExitsAtClose(Echo):
    """Ends the process at its end, or tries to."""

    name = "exits-at-close"

    def close(self) -> None:
        raise SystemExit(0)


class FailsAtStart(Echo):
    """Has no text for why it does not start."""

    name = "fails-at-start"

    def __init__(self) -> None:
        raise SilentError


class NoName(Echo):
    """Cannot be asked for its name."""

    @property
    def name(self) -> str:  # type: ignore[override]
        raise SilentError


class NumberAsName(Echo):
    """Has a number for a name."""

    name = 7  # type: ignore[assignment]


class BlankAsName(Echo):
    """Has no name."""

    name = " "


class LongName(Echo):
    """Has a version that fills a screen."""

    version = "1" * 200


class OwnTextAsRelease(Echo):
    """Has the known deviations of every release."""

    name = "own-text-as-release"
    capabilities = replace(Echo.capabilities, deviations_of=EqualsAll("delta-spark 4.4.0"))


class NoCapabilities(Echo):
    """Cannot be asked for its capabilities."""

    name = "no-capabilities"

    @property
    def capabilities(self) -> Any:  # type: ignore[override]
        raise SilentError


class WrongCapabilities(Echo):
    """Declares a list where a set is due."""

    name = "wrong-capabilities"
    capabilities = replace(Echo.capabilities, features_off=["cdf"])  # type: ignore[arg-type]
