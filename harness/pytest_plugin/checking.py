"""What checks the cases of a pytest session: one engine and one reference, made when the first case runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.configuration.pytest_options import PytestSettings
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from mergecheck.harness.checker import Checker
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.report.baseline import SavedRun
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

ENGINE = pytest.StashKey["Engine"]()
CHECKER = pytest.StashKey["Checker"]()
BASELINE = pytest.StashKey["SavedRun | None"]()
SETTINGS = pytest.StashKey[PytestSettings]()
NOTICES = pytest.StashKey[list[str]]()
SEED = pytest.StashKey[int]()
STDERR = pytest.StashKey[int]()


class CaseFailedError(AssertionError):
    """A case on which the engine differs; the text is the failure report."""


def option(config: pytest.Config, key: str) -> Any:  # noqa: ANN401 - any value of an option
    """Return the value of an option, by its name without the prefix."""
    return config.stash[SETTINGS].values[key]


def engine_of(config: pytest.Config) -> Engine:
    """Start the engine of the session, unless it runs already."""
    engine = config.stash.get(ENGINE, None)
    if engine is None:
        from mergecheck.harness.engine import SparkSessionEngine  # noqa: PLC0415 - the same
        from mergecheck.harness.engines.spark.config import require_place, spark_place, use_place  # noqa: PLC0415 - the same
        from mergecheck.harness.processes.temp_dirs import clear_leftovers  # noqa: PLC0415 - the same
        from mergecheck.harness.processes.time_limit import TimeLimit  # noqa: PLC0415 - see the docstring of ``pytest_plugin``
        from mergecheck.harness.search.session import start_engine  # noqa: PLC0415 - the same

        clear_leftovers()
        values = config.stash[SETTINGS].values
        if any(values[key] for key in ("master", "remote", "table-root")):
            use_place(spark_place(master=values["master"], remote=values["remote"], table_root=values["table-root"]))
            require_place()
        stderr = config.stash[STDERR]
        engine = config.stash[ENGINE] = start_engine(
            values["engine"], TimeLimit(seconds=values["case-timeout"], told=stderr)
        )
        if isinstance(engine, SparkSessionEngine):
            _tell(config, f"{engine.name} starts Spark (about 10 s) ...")
    return engine


def _tell(config: pytest.Config, text: str) -> None:
    """Show a person at a terminal why the session waits."""
    stderr = config.stash[STDERR]
    if os.isatty(stderr):
        os.write(stderr, f"\nmergecheck: {text}\n".encode())


def baseline_of(config: pytest.Config) -> SavedRun | None:
    """Return the run with the known failures of saved cases; None without one, or if it is of random cases.

    The file is read once in a session.
    """
    from mergecheck.harness.report.baseline import is_saved_run, read_saved_run  # noqa: PLC0415 - the same

    if BASELINE not in config.stash:
        given = option(config, "baseline")
        is_given = given is not None and is_saved_run(Path(given))
        config.stash[BASELINE] = read_saved_run(Path(given), engine=option(config, "engine")) if is_given else None
    return config.stash[BASELINE]


def checker_of(config: pytest.Config) -> Checker:
    """Return what checks the session's cases; the reference is made once, with the engine."""
    checker = config.stash.get(CHECKER, None)
    if checker is None:
        engine = engine_of(config)
        checker = config.stash[CHECKER] = make_checker(config, engine, option(config, "engine"))
    return checker


def make_checker(config: pytest.Config, engine: Engine, name: str) -> Checker:
    """Make what checks cases on an engine, by the session's options.

    Args:
        config: the session.
        engine: an engine that runs.
        name: what starts it on the command line.
    """
    from mergecheck.harness.checker import Checker  # noqa: PLC0415 - see the docstring of ``pytest_plugin``
    from mergecheck.harness.deviations.audit import confirm  # noqa: PLC0415 - the same
    from mergecheck.harness.deviations.deviation_file import load_deviations  # noqa: PLC0415 - the same
    from mergecheck.harness.deviations.registry import Deviations  # noqa: PLC0415 - the same
    from mergecheck.harness.processes.time_limit import TimeLimit  # noqa: PLC0415 - the same
    from mergecheck.harness.search.session import reference_for, rerun_on  # noqa: PLC0415 - the same
    from mergecheck.harness.verdict import Check, Expressions, Oracle  # noqa: PLC0415 - the same
    from mergecheck.model.formatting import counted  # noqa: PLC0415 - the same

    values = config.stash[SETTINGS].values
    if values["no-deviations"] and values["deviations"]:
        raise UserInputError("give either --mergecheck-deviations or --mergecheck-no-deviations")
    files = tuple(map(Path, values["deviations"]))
    deviations = Deviations() if values["no-deviations"] else load_deviations(files)
    if entries := deviations.of(engine):
        _tell(config, f"{engine.name} runs {counted(len(entries), 'case')} of known deviations first ...")
    confirm(deviations, engine, config.stash[NOTICES].append)
    expressions = Expressions(values["expressions"])
    checks = frozenset(map(Check, values["check"])) or None
    return Checker(
        engine=engine,
        deviations=deviations,
        oracle=Oracle(values["oracle"]),
        reference=reference_for(engine, expressions, starts_spark=True).evaluate,
        checks=checks,
        rerun=rerun_on(name, expressions=expressions, checks=checks, deviations=deviations),
        limit=TimeLimit(seconds=values["case-timeout"], told=config.stash[STDERR]),
    )


def check_case(
    case: Case, path: Path, checker: Checker, *, origin: Origin | None = None, baseline: SavedRun | None = None
) -> None:
    """Check a case as a test does.

    Args:
        case: the case.
        path: its file.
        checker: has the engine.
        origin: where the case comes from. A finding passes only if every differing observable is compared again.
        baseline: the run with the known failures.

    Raises:
        CaseFailedError: the engine differs, or a failure that the baseline knows passes now.
        EngineDownError: the engine failed.
        pytest.skip.Exception: the engine or the reference does not support the case, or the finding's difference was
            not compared.
        pytest.xfail.Exception: the difference is a known deviation, or the baseline expects it.
    """
    from mergecheck.harness.findings.finding_status import FindingStatus, compare  # noqa: PLC0415 - the same
    from mergecheck.harness.findings.fingerprint import fingerprint  # noqa: PLC0415 - the same
    from mergecheck.harness.report.baseline import Word  # noqa: PLC0415 - the same
    from mergecheck.harness.report.document import case_document  # noqa: PLC0415 - the same
    from mergecheck.harness.report.mismatch import mismatch_report  # noqa: PLC0415 - the same
    from mergecheck.harness.specification.citations import with_titles  # noqa: PLC0415 - the same
    from mergecheck.harness.variants.saved import check_saved  # noqa: PLC0415 - the same
    from mergecheck.harness.verdict import EngineDownError, Verdict  # noqa: PLC0415 - the same

    report: CaseReport = check_saved(case, checker)
    word = None if baseline is None else baseline.word(report)
    if word is Word.QUARANTINED:
        pytest.skip(word.value)
    if word is Word.EXPECTED:
        pytest.xfail(word.value)
    if word is Word.NOW_PASSING and baseline is not None:
        raise CaseFailedError(f"{word.value}: take the entry of case {case.id} out of {baseline.name}")
    if report.deviations:
        pytest.xfail(f"known deviation: {', '.join(report.deviations)}")
    if report.verdict is Verdict.MISMATCH:
        document = case_document(report, where=path, hypotheses=checker.hypotheses(report))
        head = "" if word is None else f"{word.value}: {fingerprint(report)}\n\n"
        raise CaseFailedError(head + mismatch_report(document))
    if report.verdict in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED):
        pytest.skip(with_titles(report.reason))
    if report.verdict is Verdict.ENGINE_ERROR:
        raise EngineDownError(with_titles(report.reason))
    if origin is not None and origin.difference:
        change = compare(report, origin)
        if change.status is FindingStatus.NOT_CHECKED:
            reasons = "; ".join(f"{check.value}: {reason}" for check, reason in change.reasons.items())
            pytest.skip(f"the finding's difference was not checked: {with_titles(reasons)}")
