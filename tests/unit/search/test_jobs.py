"""Several cases at once: the same findings in the same order, each thread with an engine of its own."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from small_cases import cases

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.processes.time_limit import EngineLateError
from mergecheck.harness.properties.statistics import Stop
from mergecheck.harness.report import events
from mergecheck.harness.report.json import summary_json
from mergecheck.harness.search.job_process import JobProcess
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.harness.search.session import WARM_UP, FuzzOptions, run_fuzz
from mergecheck.harness.search.stream import Drawn
from mergecheck.harness.verdict import EngineDownError, UserInputError, Verdict
from mergecheck.model.outcome import MergePath, Outcome, Prediction, Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

LIMITS = ShrinkLimits(max_runs=60)


class Shared:
    """The state that the engines of one run share: who is where, and how many at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.num_now = self.num_most = 0
        self.cases: list[str] = []
        self.opened: list[Faulty] = []
        self.fails_after: int | None = None


class Faulty:
    """Gives the target back, and forgets rows with a NULL key; takes a while, which differs."""

    is_healthy = False
    name = "faulty"
    version = "1"
    capabilities = Capabilities()

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.threads: set[int] = set()
        self.closed = False
        shared.opened.append(self)

    def fork(self) -> Faulty:
        return Faulty(self.shared)

    def close(self) -> None:
        self.closed = True

    def run(self, case: Case) -> EngineResult:
        self.threads.add(threading.get_ident())
        with self.shared.lock:
            self.shared.cases.append(case.id)
            self.shared.num_now += 1
            self.shared.num_most = max(self.shared.num_most, self.shared.num_now)
        time.sleep(zlib.crc32(case.id.encode()) % 7 / 1000)
        with self.shared.lock:
            self.shared.num_now -= 1
            if self.shared.fails_after is not None and len(self.shared.cases) > self.shared.fails_after:
                raise EngineDownError("gone")
        rows = case.target.rows if self.is_healthy else [row for row in case.target.rows if row[0] is not None]
        return Outcome(schema=case.target.schema, rows=tuple(rows))


def predicted(case: Case) -> Reference:
    """Take the place of the reference, which would make the test slow: what goes in must come out."""
    target = case.target
    answer = Prediction(schema=target.schema, rows=target.rows, metrics={}, cdf=None, committed=True, path=MergePath.D)
    return Reference(answer=answer)


class Copied:
    """Forgets rows with a NULL key, in whatever process it is."""

    name = "copied"
    version = "1"
    capabilities = Capabilities()

    def __init__(self, log: Path, *, dies_at: str | None = None) -> None:
        self.log = log
        self.dies_at = dies_at

    def factory(self) -> Callable[[], Copied]:
        return functools.partial(Copied, self.log, dies_at=self.dies_at)

    def close(self) -> None:
        pass

    def run(self, case: Case) -> EngineResult:
        with self.log.open("a") as log:
            log.write(f"{os.getpid()} {case.id}\n")
        is_job = multiprocessing.parent_process() is not None
        if is_job and self.dies_at is not None and case.id.startswith(self.dies_at):
            os.kill(os.getpid(), signal.SIGKILL)
        rows = tuple(row for row in case.target.rows if row[0] is not None)
        return Outcome(schema=case.target.schema, rows=rows)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(num_jobs: int, engine: Engine | None = None, **options: Any) -> tuple[Summary, list[events.Event]]:
    seen: list[events.Event] = []
    settings = {"budget": Budget(max_cases=25), "seed": 5, "limits": LIMITS} | options
    chosen = FuzzOptions(findings=Path(f"{num_jobs}"), num_jobs=num_jobs, **settings)
    checker = Checker(engine=engine or Faulty(Shared()), reference=predicted)
    return run_fuzz(checker, chosen, listener=seen.append, cases=cases()), seen


def told(summary: Summary, seen: list[events.Event], num_jobs: int) -> object:
    """The whole output of a run, but for times."""
    document = summary_json(summary)
    del document["seconds"], document["phase_seconds"]
    checked = [event.report.case.id for event in seen if isinstance(event, events.CaseChecked)]
    found = [event.finding.id for event in seen if isinstance(event, events.FindingSaved)]
    return document, checked, found, sorted(path.name for path in Path(f"{num_jobs}").iterdir())


@pytest.mark.parametrize("options", [{}, {"batch_size": 3, "budget": Budget(max_cases=6)}], ids=["single", "batches"])
def test_findings_and_summary_do_not_depend_on_the_number_of_jobs(options: dict[str, Any]) -> None:
    """Same seed: same cases in the same order, same findings, same counts, shrinking included."""
    alone = told(*run(1, **options), 1)
    assert alone[2], "a fault is found, or the test shows nothing"  # type: ignore[index]
    for num_jobs in (2, 4):
        shared = Shared()
        assert told(*run(num_jobs, Faulty(shared), **options), num_jobs) == alone
        assert shared.num_most > 1


def test_processes_give_the_findings_of_one_process(tmp_path: Path) -> None:
    """The engine of each is made there by the recipe; the main one confirms and shrinks."""
    alone = told(*run(1, Copied(tmp_path / "alone")), 1)
    assert alone[2], "a fault is found, or the test shows nothing"  # type: ignore[index]
    assert told(*run(2, Copied(tmp_path / "log")), 2) == alone
    processes = {line.split()[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert len(processes) > 1, "more than the main one"
    assert not list(RunningCase().leftovers())


def test_a_lost_process_loses_its_case_only(tmp_path: Path) -> None:
    """The case is reported as lost, and no longer under way; the next one gets another process."""
    other = replace(WARM_UP, id="other")
    engine = Copied(tmp_path / "log", dies_at=WARM_UP.id)
    checker = Checker(engine=engine, reference=predicted, work_directory=tmp_path)
    with contextlib.closing(JobProcess(checker, engine.factory())) as job:
        lost, checked = job.check(Drawn(index=0, case=WARM_UP)), job.check(Drawn(index=1, case=other))
    assert (lost.verdict, lost.is_lost, lost.case) == (Verdict.ENGINE_ERROR, True, WARM_UP)
    assert lost.reason == "the process that checked the case ended with SIGKILL"
    assert (checked.verdict, checked.case) == (Verdict.AGREE, other)
    assert list(tmp_path.glob("running/*.json")) == []


def test_every_lost_case_is_kept() -> None:
    """Three in a row end the run: the engine is down."""

    class Late(Healthy):
        def run(self, case: Case) -> EngineResult:
            if case != WARM_UP:
                raise EngineLateError("late")
            return super().run(case)

    summary, seen = run(1, Late(Shared()))
    kept = [event.path for event in seen if isinstance(event, events.CaseSetAside)]
    assert (summary.stop, len(set(kept))) == (Stop.ENGINE_DOWN, 3)
    assert all(path.parent == Path("1/crashed") and path.is_file() for path in kept)


def test_every_thread_has_an_engine_of_its_own() -> None:
    """The main engine confirms and shrinks; the others are used by one thread at a time, and closed."""
    shared = Shared()
    run(3, Faulty(shared))
    main, *others = shared.opened
    assert len(others) == 3
    assert main.threads == {threading.get_ident()}
    assert all(engine.closed and threading.get_ident() not in engine.threads for engine in others)
    assert not main.closed, "whoever opened it closes it"


def test_no_case_is_run_in_vain() -> None:
    """Nothing is drawn beyond the last case of the budget, so that a run ends when its last case does."""
    shared = Shared()
    run(4, Healthy(shared), seed=2, budget=Budget(max_cases=9))
    assert len(shared.cases) == 9 + 1
    assert shared.cases[0] == WARM_UP.id


class Healthy(Faulty):
    """Forgets nothing."""

    is_healthy = True

    def fork(self) -> Healthy:
        return Healthy(self.shared)


def test_a_lost_engine_ends_the_run_as_with_one_job() -> None:
    """Three failures in a row are the end; the cases checked before are counted."""
    ends = []
    for num_jobs in (1, 3):
        shared = Shared()
        shared.fails_after = 1
        summary, _ = run(num_jobs, Faulty(shared))
        ends.append((summary.stop, summary.counts.num_cases, dict(summary.counts.verdicts)))
    assert ends[0] == ends[1]
    assert ends[0][0] is Stop.ENGINE_DOWN


def test_an_interrupt_ends_with_a_summary() -> None:
    """Ctrl+C reaches the main thread while it waits for the others: the run ends, no case stays under way."""

    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.CaseChecked) and event.summary.counts.num_cases == 5:
            os.kill(os.getpid(), signal.SIGINT)

    checker = Checker(engine=Healthy(Shared()), reference=predicted)
    options = FuzzOptions(seed=5, budget=Budget(max_cases=500), num_jobs=3)
    summary = run_fuzz(checker, options, listener=interrupt, cases=cases())
    assert (summary.stop, summary.counts.num_cases) == (Stop.INTERRUPTED, 5)
    assert not list(RunningCase().leftovers())
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("mergecheck-")]


def test_ctrl_c_while_the_costs_of_a_batch_are_measured_ends_the_run() -> None:
    """DuckDB makes a RuntimeError of it, and a reference that fails is a result like any other."""
    raised: list[str] = []

    def interrupted(case: Case) -> Reference:
        is_drawn = case.id != WARM_UP.id and PAIR not in case.target.schema.names
        if is_drawn and not raised and threading.current_thread() is threading.main_thread():
            raised.append(case.id)
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise RuntimeError("Query interrupted") from None
        return predicted(case)

    checker = Checker(engine=Healthy(Shared()), reference=interrupted)
    options = FuzzOptions(findings=Path("found"), seed=5, budget=Budget(max_cases=500), batch_size=None)
    with pytest.raises(KeyboardInterrupt):
        run_fuzz(checker, options, cases=cases())
    assert raised


def test_cases_under_way_are_on_disk() -> None:
    """A lost process leaves the cases of all its threads behind."""
    first, second = RunningCase(job=1), RunningCase(job=2)
    first.write(WARM_UP)
    second.write(replace(WARM_UP, sql=WARM_UP.sql + " "))
    assert len(list(RunningCase().leftovers())) == 2
    first.clear()
    second.clear()
    assert not list(RunningCase().leftovers())


def test_an_engine_that_runs_one_case_at_a_time_is_refused() -> None:
    """The message names the engines that can do more."""

    class Single:
        name, version, capabilities = "single", "1", Capabilities()

        def run(self, case: Case) -> EngineResult:
            return Unsupported(case.id)

        def close(self) -> None:
            pass

    with pytest.raises(UserInputError, match=r"engine 'single' runs one case at a time: leave --jobs out.*pyspark"):
        run(2, Single())
