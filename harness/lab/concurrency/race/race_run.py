"""A race: in each round some writers start together, perhaps one is killed, and the history is judged."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.delta.read import newest_version, read_actions
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.lab.concurrency.history import Ending, EndingKind, read_history
from mergecheck.harness.lab.concurrency.judge import Judge
from mergecheck.harness.lab.concurrency.race.clients import AnswerKind
from mergecheck.harness.lab.concurrency.race.draw import draw_target, draw_writers
from mergecheck.harness.lab.concurrency.race.engines import COMPACTED_BY_ANOTHER, IN_ONE_PROCESS, OWN_COMMIT_RULES
from mergecheck.harness.lab.concurrency.race.hosts import Host, Task
from mergecheck.harness.lab.concurrency.scenario import Isolation
from mergecheck.harness.processes.time_limit import DEFAULT_SECONDS
from mergecheck.harness.verdict import EngineDownError
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.lab.concurrency.history import History
    from mergecheck.harness.lab.concurrency.judge import Verdict
    from mergecheck.harness.lab.concurrency.race.clients import Answer
    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.model.case import Target

ISOLATION = "delta.isolationLevel"
_ROUNDS_PER_TABLE = 8
_FIRST_GUESS = 1.0  # seconds that a round takes, until one was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOptions:
    """Options of a race.

    Attributes:
        num_writers: how many start together.
        num_steps: how many there are in all.
        kills: in how many rounds of a hundred a process is killed.
        patience: seconds that the writers of a round may take.
    """

    engine: str
    num_writers: int
    num_steps: int
    seed: int
    kills: int
    isolation: Isolation = Isolation.SERIALIZABLE
    patience: float = DEFAULT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Writers that started together, and their results."""

    number: int
    writers: tuple[Writer, ...]
    history: History
    verdict: Verdict


@dataclass(slots=True, kw_only=True)
class RaceReport:
    """Counts the writers of a race by how they ended, and keeps the rounds with something wrong.

    Attributes:
        num_kills: processes killed.
        num_late_kills: killed writers whose commit is there.
    """

    options: RaceOptions
    endings: Counter[EndingKind] = field(default_factory=Counter)
    num_rounds: int = 0
    num_kills: int = 0
    num_late_kills: int = 0
    findings: list[Round] = field(default_factory=list)


def run_race(options: RaceOptions, *, listener: Callable[[RaceReport], None] = lambda _: None) -> RaceReport:
    """Run a race; the same options draw the same tables and writers, whose order is up to the machine.

    Raises:
        EngineDownError: the engine does not start, or a process of writers ends by itself.
    """
    report, random = RaceReport(options=options), Random(f"{options.seed}/race")  # noqa: S311 - a test case, no secret
    is_shared = options.engine in IN_ONE_PROCESS
    most_compactions = 1 if options.engine in COMPACTED_BY_ANOTHER else options.num_writers
    threads = options.num_writers if is_shared else 1
    hosts = [Host(options.engine, threads) for _ in range(1 if is_shared else options.num_writers)]
    num_rounds = -(-options.num_steps // options.num_writers)
    reference = MergeReference()
    with ExitStack() as stack:
        for host in hosts:
            stack.callback(host.close)
        folder = stack.enter_context(table_folder())
        target, path, typical = None, folder, _FIRST_GUESS
        for number in range(num_rounds):
            if target is None or number % _ROUNDS_PER_TABLE == 0:
                path = folder / f"table-{number}"
                target = draw_target(random, properties=_properties(options.isolation))
                write_target(target, path)
                target = replace(target, properties={k: v for k, v in target.properties.items() if k != ISOLATION})
            left = options.num_steps - number * options.num_writers
            writers = draw_writers(random, min(options.num_writers, left), most_compactions=most_compactions)
            track = _Track(hosts=hosts, path=path, target=target, writers=writers, report=report, number=number)
            history = track.run(random, typical)
            typical = track.seconds or typical
            judge = Judge(
                target=target,
                writers=writers,
                reference=reference,
                isolation=options.isolation,
                commits_by_rule=options.engine not in OWN_COMMIT_RULES,
            )
            verdict = judge.judge(history)
            report.num_rounds += 1
            if verdict.problems:
                report.findings.append(Round(number=number, writers=writers, history=history, verdict=verdict))
            last = history.states[-1]
            target = replace(target, schema=last.schema, files=tuple(file.rows for file in last.files))
            listener(report)
    return report


def _properties(isolation: Isolation) -> dict[str, str]:
    return {} if isolation is Isolation.SERIALIZABLE else {ISOLATION: isolation.value}


@dataclass(slots=True, kw_only=True)
class _Track:
    """One round; ``seconds`` is how long its writers took, unless one was killed."""

    hosts: Sequence[Host]
    path: Path
    target: Target
    writers: tuple[Writer, ...]
    report: RaceReport
    number: int
    seconds: float = 0.0

    def run(self, random: Random, typical: float) -> History:
        """Start the writers, kill one process within the typical time if the dice decide so, and read the table."""
        options, since = self.report.options, newest_version(self.path)
        tags = {writer.name: f"{self.report.options.seed}-{self.number}-{writer.name}" for writer in self.writers}
        tasks = [self._task(writer, tags[writer.name], random) for writer in self.writers]
        doomed = random.randrange(len(self.hosts)) if random.randrange(100) < self.report.options.kills else None
        fuse = random.uniform(0.0, typical)
        shares = [tuple(tasks[index :: len(self.hosts)]) for index in range(len(self.hosts))]
        for host in self.hosts:
            host.start()
        begun = time.monotonic()
        for host, share in zip(self.hosts, shares, strict=True):
            host.send(share)
        answers: dict[str, Answer] = {}
        if doomed is not None:
            answers |= self.hosts[doomed].answers(len(shares[doomed]), deadline=begun + fuse)
            self.hosts[doomed].kill()
            self.report.num_kills += 1
        for index, (host, share) in enumerate(zip(self.hosts, shares, strict=True)):
            if index == doomed:
                continue
            found = host.answers(len(share), deadline=begun + options.patience)
            if len(found) < len(share):
                late = f"gave no answer within {options.patience:g} s (--case-timeout)"
                raise EngineDownError(f"a writer of {options.engine} {late}")
            answers |= found
        self.seconds = 0.0 if doomed is not None else time.monotonic() - begun
        committed = self._versions(since)
        newest = newest_version(self.path)
        endings = {
            name: _ending(answers.get(tag), committed.get(tag), read=since, newest=newest) for name, tag in tags.items()
        }
        self.report.endings.update(ending.kind for ending in endings.values())
        self.report.num_late_kills += sum(tag not in answers and tag in committed for tag in tags.values())
        return read_history(self.path, since, endings)

    def _task(self, writer: Writer, tag: str, random: Random) -> Task:
        delay = random.choice((0.0, 0.0, random.uniform(0.0, 0.2)))
        return Task(writer=writer, path=self.path, target=self.target, tag=tag, delay=delay)

    def _versions(self, since: int) -> Mapping[str, int]:
        """Find who has committed which version, by the tags in the log."""
        found: dict[str, int] = {}
        for version in range(since + 1, newest_version(self.path) + 1):
            info = json.dumps([action for action in read_actions(self.path, version) if "commitInfo" in action])
            for writer in self.writers:
                tag = f"{self.report.options.seed}-{self.number}-{writer.name}"
                if f'"{tag}"' in info:
                    found[tag] = version
        return found


def _ending(answer: Answer | None, version: int | None, *, read: int, newest: int) -> Ending:
    """Combine a writer's answer with the log; a writer without an answer was killed."""
    kind = EndingKind.NOTHING if version is None else EndingKind.COMMITTED
    if answer is None:
        kind = EndingKind.KILLED if version is None else EndingKind.COMMITTED
    elif answer.kind is not AnswerKind.DONE:
        kind = EndingKind.CONFLICT if answer.kind is AnswerKind.CONFLICT else EndingKind.REJECTED
    return Ending(
        kind=kind,
        version=version,
        error="" if answer is None else answer.error,
        row=None if answer is None else answer.row,
        read=read,
        newest=newest,
    )
