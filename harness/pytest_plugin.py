"""The pytest front: saved cases and random ones as test items, with the same reports as the command line.

Options start with ``--mergecheck-``. Nothing of Spark, DuckDB or Hypothesis is imported until an item runs.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.configuration.pytest_options import PytestSettings, add_options, settings_of_pytest
from mergecheck.harness.errors import UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _pytest._code.code import TerminalRepr  # has no public name; repr_failure may return it

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case

DENOMINATOR = "mergecheck_denominator"
_ENGINE = pytest.StashKey["Engine"]()
_CHECKER = pytest.StashKey["Checker"]()
_SETTINGS = pytest.StashKey[PytestSettings]()
_NOTICES = pytest.StashKey[list[str]]()
_SEED = pytest.StashKey[int]()
_STDERR = pytest.StashKey[int]()


class CaseFailedError(AssertionError):
    """A case on which the engine differs; the text is the failure report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options: those of ``mergecheck fuzz`` by the same names, and the cases that become tests."""
    group = parser.getgroup("mergecheck", "mergecheck: MERGE INTO against the reference")
    add_options(group)
    group.addoption(
        "--mergecheck-trust",
        action="store_true",
        help="run cases that may touch more than their own tables; only for files of your own",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Settle the values and the seed, before anything runs, and keep the stderr that no test captures."""
    try:
        settings = settings_of_pytest(config)
    except UserInputError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_SETTINGS] = settings
    config.stash[_NOTICES] = []
    # Workers of pytest-xdist take the seed of the process that started them.
    shared = getattr(config, "workerinput", {}).get("mergecheck_seed")
    seeds = (settings.values["seed"], shared, secrets.randbelow(2**31))
    config.stash[_SEED] = next(seed for seed in seeds if seed is not None)
    config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - a class of pytest-xdist, which need not be installed
    """Hand the seed to a worker of pytest-xdist."""
    node.workerinput["mergecheck_seed"] = node.config.stash[_SEED]


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say engine and seed where this plugin has something to do."""
    if not _in_use(config):
        return None
    title = config.stash[_SETTINGS].title
    used = f", {title}" if title else ""
    return f"mergecheck: engine {_value(config, 'engine')}, seed {config.stash[_SEED]}{used}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the items that the options ask for; first, so that ``-k`` and ``-m`` see them too."""
    if not _in_use(config):
        return
    collector = _Collector.from_parent(session, name="mergecheck", nodeid="mergecheck")
    items.extend(collector.collect())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the random cases covered, also where everything passed, and which known deviations are due."""
    for text in config.stash[_NOTICES]:
        terminalreporter.write_line(f"mergecheck: {text}")
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", []):
                if name == DENOMINATOR and getattr(report, "when", "") == "call":
                    terminalreporter.write_line(f"mergecheck: {value}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the engine."""
    if _CHECKER in config.stash:
        del config.stash[_CHECKER]  # its reference closes its DuckDB
    engine = config.stash.get(_ENGINE, None)
    if engine is not None:
        del config.stash[_ENGINE]
        engine.close()
    if _STDERR in config.stash:
        os.close(config.stash[_STDERR])
        del config.stash[_STDERR]


@pytest.fixture(scope="session")
def mergecheck_engine(pytestconfig: pytest.Config) -> Engine:
    """Give the engine of ``--mergecheck-engine``, one for the whole session."""
    return _engine(pytestconfig)


@pytest.fixture
def mergecheck_check(pytestconfig: pytest.Config) -> Callable[[Path], None]:
    """Give a function that checks the cases of a file on the engine of ``--mergecheck-engine``.

    A mismatch fails the test with the failure report. A case that the engine or the reference does not support skips
    it, and a file that cannot be read fails it.
    """

    def check(path: Path) -> None:
        from mergecheck.harness.findings.corpus import load_corpus  # noqa: PLC0415 - the same

        try:
            corpus = load_corpus([str(path)], trust=pytestconfig.getoption("--mergecheck-trust"))
        except UserInputError as error:
            pytest.fail(str(error), pytrace=False)
        if corpus.unreadable:
            pytest.fail("\n".join(corpus.unreadable), pytrace=False)
        for saved in corpus.cases:
            failure = ""
            try:
                _check_case(saved.case, saved.path, pytestconfig)
            except CaseFailedError as error:
                failure = str(error)
            if failure:  # outside of the handler: pytest would show the report of its cause as well
                pytest.fail(failure, pytrace=False)

    return check


@pytest.fixture
def mergecheck_check_case(request: pytest.FixtureRequest) -> Callable[[Case], None]:
    """Give a function that checks a case that ``@given(cases())`` drew on the engine of ``--mergecheck-engine``.

    A mismatch fails the test with the failure report, so that Hypothesis shrinks the case. The folder of findings keeps
    the last case that failed, by the name of the test. A case that the engine or the reference does not support, or
    that has a known deviation, does not count as an example.
    """

    def check(case: Case) -> None:
        from hypothesis import reject  # noqa: PLC0415 - see the module's docstring

        from mergecheck.reference.case.case_file import dump_case  # noqa: PLC0415 - the same

        folder = Path(_value(request.config, "findings"))
        path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', request.node.name)}.json"
        failure = ""
        try:
            _check_case(case, path, request.config)
        except (pytest.skip.Exception, pytest.xfail.Exception):
            reject()
        except CaseFailedError as error:
            failure = str(error)
        if failure:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(dump_case(case), encoding="utf-8")
            pytest.fail(failure, pytrace=False)

    return check


class _Collector(pytest.Collector):
    """The root of this plugin's items."""

    def collect(self) -> list[pytest.Item]:
        """Make an item of every case, and one of the random cases."""
        items: list[pytest.Item] = []
        names: dict[str, int] = {}
        for path, case in _saved_cases(self.config):
            name = f"{path}::{case.id}"
            names[name] = names.get(name, 0) + 1
            unique = name if names[name] == 1 else f"{name}#{names[name]}"
            items.append(_CaseItem.from_parent(self, name=unique, case=case, case_path=path))
        num_cases = _value(self.config, "fuzz")
        if num_cases > 0:
            name = f"fuzz::{num_cases}-cases-seed-{self.config.stash[_SEED]}"
            items.append(_FuzzItem.from_parent(self, name=name, num_cases=num_cases))
        return items


class _Item(pytest.Item):
    """Shows a failure report instead of a traceback."""

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401 - pytest's own choice of words, not public
    ) -> str | TerminalRepr:
        """Show the failure report of a mismatch, or what is wrong with an option; anything else as pytest does."""
        if isinstance(excinfo.value, CaseFailedError | UserInputError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style=style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the item in pytest's output."""
        return self.config.rootpath, None, f"mergecheck {self.name}"


class _CaseItem(_Item):
    """One saved case."""

    def __init__(self, *, case: Case, case_path: Path, **rest: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**rest)
        self.case = case
        self.case_path = case_path

    def runtest(self) -> None:
        """Check the case."""
        _check_case(self.case, self.case_path, self.config)


class _FuzzItem(_Item):
    """Random cases under one seed."""

    def __init__(self, *, num_cases: int, **rest: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**rest)
        self.num_cases = num_cases

    def runtest(self) -> None:
        """Run the cases; every finding's report makes the failure."""
        from mergecheck.harness.errors import EngineDownError  # noqa: PLC0415 - see the module's docstring
        from mergecheck.harness.pytest_fuzz import fuzz_test  # noqa: PLC0415 - the same

        values = self.config.stash[_SETTINGS].values
        ended = fuzz_test(_checker(self.config), values, seed=self.config.stash[_SEED], num_cases=self.num_cases)
        self.user_properties.append((DENOMINATOR, ended.line))
        self.config.stash[_NOTICES] += ended.notices
        if ended.was_interrupted:
            raise KeyboardInterrupt
        if ended.failure:
            raise CaseFailedError(ended.failure)
        if ended.engine_failure:
            raise EngineDownError(ended.engine_failure)


def _check_case(case: Case, path: Path, config: pytest.Config) -> None:
    from mergecheck.harness.errors import EngineDownError  # noqa: PLC0415 - see the module's docstring
    from mergecheck.harness.report.mismatch import mismatch_report  # noqa: PLC0415 - the same
    from mergecheck.harness.specification.citations import with_titles  # noqa: PLC0415 - the same
    from mergecheck.harness.variants.saved import check_saved  # noqa: PLC0415 - the same
    from mergecheck.harness.verdict import Verdict  # noqa: PLC0415 - the same

    checker = _checker(config)
    report: CaseReport = check_saved(case, checker)
    if report.deviations:
        pytest.xfail(f"known deviation: {', '.join(report.deviations)}")
    if report.verdict is Verdict.MISMATCH:
        raise CaseFailedError(mismatch_report(report, path=path, readings=checker.readings(report)))
    if report.verdict is Verdict.UNSUPPORTED:
        pytest.skip(with_titles(report.reason))
    if report.verdict is Verdict.ENGINE_ERROR:
        raise EngineDownError(with_titles(report.reason))


def _in_use(config: pytest.Config) -> bool:
    return config.stash[_SETTINGS].is_in_use


def _value(config: pytest.Config, key: str) -> Any:  # noqa: ANN401 - any value of an option
    return config.stash[_SETTINGS].values[key]


def _engine(config: pytest.Config) -> Engine:
    engine = config.stash.get(_ENGINE, None)
    if engine is None:
        from mergecheck.harness.engines import load_engine  # noqa: PLC0415 - see the module's docstring
        from mergecheck.harness.spark.config import require_place, spark_place, use_place  # noqa: PLC0415 - the same
        from mergecheck.harness.spark.temp_dirs import clear_leftovers  # noqa: PLC0415 - the same

        clear_leftovers()
        values = config.stash[_SETTINGS].values
        if any(values[key] for key in ("master", "remote", "table-root")):
            use_place(spark_place(master=values["master"], remote=values["remote"], table_root=values["table-root"]))
            require_place()
        engine = config.stash[_ENGINE] = load_engine(values["engine"])
    return engine


def _checker(config: pytest.Config) -> Checker:
    """Make what checks cases; the reference is made once, with the engine."""
    from mergecheck.harness.checker import Checker  # noqa: PLC0415 - see the module's docstring
    from mergecheck.harness.core.time_limit import TimeLimit  # noqa: PLC0415 - the same
    from mergecheck.harness.deviations.audit import confirm  # noqa: PLC0415 - the same
    from mergecheck.harness.deviations.deviation_file import load_deviations  # noqa: PLC0415 - the same
    from mergecheck.harness.deviations.registry import Deviations  # noqa: PLC0415 - the same
    from mergecheck.harness.session import reference_for, rerun_on  # noqa: PLC0415 - the same
    from mergecheck.harness.verdict import Check, Expressions, Oracle  # noqa: PLC0415 - the same

    checker = config.stash.get(_CHECKER, None)
    if checker is None:
        engine, values = _engine(config), config.stash[_SETTINGS].values
        if values["no-deviations"] and values["deviations"]:
            raise UserInputError("give either --mergecheck-deviations or --mergecheck-no-deviations")
        files = tuple(map(Path, values["deviations"]))
        deviations = Deviations() if values["no-deviations"] else load_deviations(files)
        confirm(deviations, engine, config.stash[_NOTICES].append)
        expressions = Expressions(values["expressions"])
        checks = frozenset(map(Check, values["check"])) or None
        checker = config.stash[_CHECKER] = Checker(
            engine=engine,
            deviations=deviations,
            oracle=Oracle(values["oracle"]),
            reference=reference_for(engine, expressions).evaluate,
            checks=checks,
            rerun=rerun_on(values["engine"], expressions=expressions, checks=checks, deviations=deviations),
            limit=TimeLimit(seconds=values["case-timeout"], told=config.stash[_STDERR]),
        )
    return checker


def _saved_cases(config: pytest.Config) -> Iterator[tuple[Path, Case]]:
    names: list[str] = _value(config, "case")
    if not names:
        return
    here = config.invocation_params.dir
    names = [str(Path(name).relative_to(here)) if Path(name).is_relative_to(here) else name for name in names]
    from mergecheck.harness.findings.corpus import load_corpus  # noqa: PLC0415 - see the module's docstring

    try:
        corpus = load_corpus(names, trust=config.getoption("--mergecheck-trust"))
    except UserInputError as error:
        raise pytest.UsageError(str(error)) from error
    if corpus.unreadable:
        raise pytest.UsageError("\n".join(corpus.unreadable))
    for saved in corpus.cases:
        yield saved.path, saved.case
