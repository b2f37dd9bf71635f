"""Tests held against automatic mutants: for each those that call its function, in this process, quick ones first."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.processes.time_limit import raising_after
from tools.selfcheck.fault import Mutant
from tools.selfcheck.mutation import find_function

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType, FrameType, ModuleType

    from tools.selfcheck.fault import Fault

_CACHED = type(cache(len))
_QUICK_SECONDS = 0.5
# The time that the tests of a mutant may take: so many seconds, and so many times the time without it.
_LEAST_SECONDS, _PATIENCE = 30.0, 5
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-W", "ignore")
_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TestsByFunction:
    """Which tests call which function.

    Attributes:
        seconds: how long each test took while it was watched, by its name (``file::test``).
        callers: names of tests by the file and first line of the function that they call.
    """

    seconds: Mapping[str, float]
    callers: Mapping[_Place, frozenset[str]]

    def catch(self, fault: Fault, *, quick: bool) -> bool:
        """Run tests that call a mutant's function, with the mutant in place, up to the first that fails.

        Args:
            fault: the mutant.
            quick: the tests of less than half a second, or else the others.

        Raises:
            RuntimeError: pytest did not come to a verdict.
        """
        callers = {name for place in _places(fault) for name in self.callers.get(place, ())}
        names = [name for name in callers if (self.seconds[name] < _QUICK_SECONDS) is quick]
        if not names:
            return False
        with Mutant.of(fault).switched_on():
            _forget_answers(fault)
            try:
                limit = _LEAST_SECONDS + _PATIENCE * sum(self.seconds[name] for name in names)
                with raising_after(limit, TimeoutError):
                    return not _pass(sorted(names, key=self.seconds.__getitem__))
            finally:
                _forget_answers(fault)


def watch_tests(package: ModuleType, tests: Sequence[str]) -> TestsByFunction:
    """Run tests without a mutant and note which functions of a package each of them calls.

    Args:
        package: a package of this project; only its functions are noted.
        tests: files of tests.

    Raises:
        RuntimeError: they do not pass, so that a failure would prove nothing about a mutant.
    """
    watch = _Watch(package)
    if not _pass(tests, watch):
        raise RuntimeError(f"these tests fail without any mutant: {' '.join(tests)}")
    return TestsByFunction(watch.seconds, {place: frozenset(names) for place, names in watch.callers.items()})


class _Watch:
    """A plugin of pytest that notes calls."""

    def __init__(self, package: ModuleType) -> None:
        self.package = package
        self.folder = f"{Path(inspect.getfile(package)).parent}/"
        self.seconds: dict[str, float] = {}
        self.callers: dict[_Place, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        called: set[CodeType] = set()

        def note(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call":
                called.add(frame.f_code)

        for name, module in list(sys.modules.items()):
            if f"{name}.".startswith(f"{self.package.__name__}."):
                _empty_caches(module)  # an answer that is kept would hide a call
        started = time.monotonic()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.seconds[item.nodeid] = time.monotonic() - started
            for code in called:
                if code.co_filename.startswith(self.folder):
                    self.callers[code.co_filename, code.co_firstlineno].add(item.nodeid)


def _places(fault: Fault) -> Iterator[_Place]:
    for change in fault.changes:
        code = find_function(change.function).__code__
        yield code.co_filename, code.co_firstlineno


def _forget_answers(fault: Fault) -> None:
    """Empty the caches beside the mutated function, which hold answers of the right one, or of the mutant."""
    for change in fault.changes:
        _empty_caches(sys.modules[find_function(change.function).__module__])


def _empty_caches(module: ModuleType) -> None:
    for value in vars(module).values():
        if isinstance(value, _CACHED):
            value.cache_clear()


def _pass(tests: Sequence[str], *plugins: object) -> bool:
    for name in [name for name in sys.modules if name.startswith(("tests.", "test_"))]:
        del sys.modules[name]  # they may hold the right function
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = pytest.main([*_OPTIONS, *tests], plugins=plugins)
    # A mutant may also break the import of a test module: a file of tests is INTERRUPTED then, and single
    # tests of it are not found, a USAGE_ERROR.
    failed = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
    if code not in (pytest.ExitCode.OK, *failed):
        raise RuntimeError(f"pytest ended with {code}:\n{said.getvalue()}")
    return code == pytest.ExitCode.OK
