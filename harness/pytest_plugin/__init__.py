"""The pytest front: saved cases and random ones as test items, with the same reports as the command line.

Options start with ``--mergecheck-``. Nothing of Spark, DuckDB or Hypothesis is imported until an item runs.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.configuration.pytest_options import add_options, settings_of_pytest
from mergecheck.harness.pytest_plugin.checking import (
    CHECKER,
    ENGINE,
    NOTICES,
    SEED,
    SETTINGS,
    STDERR,
    CaseFailedError,
    check_case,
    checker_of,
    engine_of,
    make_checker,
    option,
)
from mergecheck.harness.pytest_plugin.items import DENOMINATOR, Collector
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case

MOST_REFUSED = 60
"""Cases that may be left out before the first one is judged."""
_NUM_REASONS = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options: the same as in ``mergecheck fuzz``, and the cases that become tests."""
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
    config.stash[SETTINGS] = settings
    config.stash[NOTICES] = []
    # Workers of pytest-xdist take the seed of the process that started them.
    shared = getattr(config, "workerinput", {}).get("mergecheck_seed")
    seeds = (settings.values["seed"], shared, secrets.randbelow(2**31))
    config.stash[SEED] = next(seed for seed in seeds if seed is not None)
    config.stash[STDERR] = os.dup(2)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - a class of pytest-xdist, which need not be installed
    """Hand the seed to a worker of pytest-xdist."""
    node.workerinput["mergecheck_seed"] = node.config.stash[SEED]


def pytest_report_header(config: pytest.Config) -> str | None:
    """Show engine and seed if this plugin has something to do."""
    if not config.stash[SETTINGS].is_in_use:
        return None
    title = config.stash[SETTINGS].title
    used = f", {title}" if title else ""
    return f"mergecheck: engine {option(config, 'engine')}, seed {config.stash[SEED]}{used}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the items that the options ask for; first, so that ``-k`` and ``-m`` see them too."""
    if not config.stash[SETTINGS].is_in_use:
        return
    collector = Collector.from_parent(session, name="mergecheck", nodeid="mergecheck")
    items.extend(collector.collect())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the coverage of the random cases, also if everything passed, and the known deviations that are due."""
    for text in config.stash[NOTICES]:
        terminalreporter.write_line(f"mergecheck: {text}")
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", []):
                if name == DENOMINATOR and getattr(report, "when", "") == "call":
                    terminalreporter.write_line(f"mergecheck: {value}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the engine."""
    if CHECKER in config.stash:
        del config.stash[CHECKER]  # its reference closes its DuckDB
    engine = config.stash.get(ENGINE, None)
    if engine is not None:
        from mergecheck.harness.search.session import close_engine  # noqa: PLC0415 - see the docstring of this module

        del config.stash[ENGINE]
        close_engine(engine)
    if STDERR in config.stash:
        os.close(config.stash[STDERR])
        del config.stash[STDERR]


@pytest.fixture(scope="session")
def mergecheck_engine(pytestconfig: pytest.Config) -> Engine:
    """Give the engine of ``--mergecheck-engine``, one for the whole session."""
    return engine_of(pytestconfig)


@pytest.fixture
def mergecheck_check(pytestconfig: pytest.Config) -> Callable[[Path], None]:
    """Give a function that checks the cases of a file on the engine of ``--mergecheck-engine``.

    A mismatch fails the test with the failure report. A case that the engine or the reference does not support, or a
    finding whose difference is not compared again, skips it after all cases of the file were checked. A file that
    cannot be read fails it.
    """

    def check(path: Path) -> None:
        from mergecheck.harness.findings.corpus import load_corpus  # noqa: PLC0415 - see the module's docstring

        try:
            corpus = load_corpus([str(path)], trust=pytestconfig.getoption("--mergecheck-trust"))
        except UserInputError as error:
            pytest.fail(str(error), pytrace=False)
        if corpus.unreadable:
            pytest.fail("\n".join(corpus.unreadable), pytrace=False)
        skipped: list[str] = []
        known: list[str] = []
        for saved in corpus.cases:  # one that is skipped must not keep the others from being checked
            failure = ""
            try:
                check_case(saved.case, saved.path, checker_of(pytestconfig), origin=saved.origin)
            except CaseFailedError as error:
                failure = str(error)
            except pytest.skip.Exception as skip:
                skipped.append(f"{saved.case.id}: {skip.msg}")
            except pytest.xfail.Exception as xfail:
                known.append(f"{saved.case.id}: {xfail.msg}")
            if failure:  # outside of the handler: pytest would show the report of its cause as well
                pytest.fail(failure, pytrace=False)
        if skipped:
            pytest.skip("; ".join(skipped))
        if known:
            pytest.xfail("; ".join(known))

    return check


class _NoneJudgedError(BaseException):
    """None of a test's first cases could be judged. Hypothesis, which would shrink an Exception, lets it pass."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Fail a test none of whose cases could be judged, without a traceback."""
    try:
        return (yield)
    except _NoneJudgedError as reasons:
        pytest.fail(str(reasons), pytrace=False)


@pytest.fixture
def mergecheck_check_case(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Give a function that checks a case that ``@given(cases(engine))`` drew: ``check(case, engine)``.

    Without ``engine``, the engine of ``--mergecheck-engine`` is checked. An engine that is given stays open.

    A mismatch fails the test with the failure report, so that Hypothesis shrinks the case. The folder of findings keeps
    the last case that failed, by the name of the test. A case that the engine or the reference does not support, or
    that has a known deviation, does not count as an example; the summary has their number and the reasons. If none of
    the first ``MOST_REFUSED`` cases can be judged, the test fails with the reasons.
    """
    judged = 0
    left_out: Counter[str] = Counter()
    checkers: list[tuple[Engine, Checker]] = []  # one for each engine that the test gives

    def checker_for(engine: Engine | None) -> Checker:
        if engine is None:
            return checker_of(request.config)
        for known, checker in checkers:
            if known is engine:
                return checker
        name = f"{type(engine).__module__}:{type(engine).__qualname__}"
        checkers.append((engine, make_checker(request.config, engine, name)))
        return checkers[-1][1]

    def check(case: Case, engine: Engine | None = None) -> None:
        from hypothesis import reject  # noqa: PLC0415 - see the module's docstring

        from mergecheck.harness.processes.output_files import write_text  # noqa: PLC0415 - the same
        from mergecheck.model.case_file import dump_case  # noqa: PLC0415 - the same

        nonlocal judged
        if not judged and left_out.total() >= MOST_REFUSED:
            raise _NoneJudgedError(_none_judged(left_out))
        folder = Path(option(request.config, "findings"))
        path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', request.node.name)}.json"
        failure = ""
        try:
            check_case(case, path, checker_for(engine))
        except (pytest.skip.Exception, pytest.xfail.Exception) as reason:
            left_out[str(reason.msg)] += 1
            _count(request.node, judged, left_out)
            reject()
        except CaseFailedError as error:
            failure = str(error)
        judged += 1
        _count(request.node, judged, left_out)
        if failure:
            try:
                write_text(path, dump_case(case), parents=True)
            except OSError as error:
                failure += f"\n\nnot saved: cannot write {path}: {error}"
            pytest.fail(failure, pytrace=False)

    return check


def _none_judged(left_out: Counter[str]) -> str:
    return (
        f"none of {left_out.total()} drawn cases could be judged: {_reasons(left_out)}\n"
        "Draw them with cases(engine), and name what the engine refuses in features_off of its Capabilities; "
        "mergecheck engine conform ENGINE --learned FILE finds it out."
    )


def _count(item: pytest.Item, judged: int, left_out: Counter[str]) -> None:
    """Keep the counts of a test for the summary, in place of the earlier ones."""
    text = f"{item.name}: {judged} of {judged + left_out.total()} drawn cases were judged"
    if left_out:
        text += f"; left out: {_reasons(left_out)}"
    others = [(name, value) for name, value in item.user_properties if name != DENOMINATOR]
    item.user_properties[:] = [*others, (DENOMINATOR, text)]


def _reasons(left_out: Counter[str]) -> str:
    return ", ".join(f"{printable(reason)} {number}" for reason, number in left_out.most_common(_NUM_REASONS))
