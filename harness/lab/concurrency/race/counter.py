"""The race of counters: threads that merge ``v + 1`` into the row that they read lose no update."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.read import newest_version, table_at
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.lab.concurrency.race.clients import AnswerKind
from mergecheck.harness.lab.concurrency.race.engines import open_client
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.model.case import Target
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from mergecheck.harness.processes.time_limit import TimeLimit

TARGET = Target(schema=parse_schema("k INT, v INT"), files=(((1, 0),),))


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReport:
    """The counter after the race.

    Attributes:
        answers: the merges' answers.
        errors: the errors of merges that failed for another reason than losing a race.
        values: the counter at each version, from version 0 on.
    """

    engine: str
    answers: Counter[AnswerKind]
    errors: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def problems(self) -> list[str]:
        """Return the faults: a failure, or a count that differs from the number of commits."""
        commits = self.answers[AnswerKind.DONE]
        found = [f"a merge failed: {error}" for error in self.errors]
        if self.values != tuple(range(commits + 1)):
            values = ", ".join(map(str, self.values))
            found.append(f"{commits} merges say that they counted, but the versions hold {values}")
        return found

    def lines(self) -> list[str]:
        """Return the report's lines for a person."""
        counts = (
            f"{self.engine}: {self.answers.total()} merges, {self.answers[AnswerKind.DONE]} commits, "
            f"{self.answers[AnswerKind.CONFLICT]} conflicts, final value {self.values[-1]}"
        )
        return [counts, *(f"MISMATCH  {problem}" for problem in self.problems)]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "engine": self.engine,
            "merges": self.answers.total(),
            "commits": self.answers[AnswerKind.DONE],
            "conflicts": self.answers[AnswerKind.CONFLICT],
            "final_value": self.values[-1],
            "problems": self.problems,
        }


def race_counters(
    engine: str, scenario: Scenario, *, num_threads: int, num_merges: int, limit: TimeLimit = DEFAULT_LIMIT
) -> CounterReport:
    """Let threads of this process count.

    Args:
        engine: a name in ``CLIENTS``.
        scenario: its first writer is a merge that counts column ``v`` of the table up.
        num_threads: each has a client of its own.
        num_merges: of all threads together.
        limit: how long a merge may take.

    Raises:
        EngineLateError: a merge takes longer.
        UserInputError, EngineDownError: see ``open_client``.
    """
    clients = [open_client(engine) for _ in range(num_threads)]
    with table_folder() as folder, ThreadPoolExecutor(num_threads) as executor:
        path = folder / "target"
        write_target(TARGET, path)

        def count(thread: int) -> list[tuple[AnswerKind, str]]:
            found = []
            for number in range(thread, num_merges, num_threads):
                with limit.over(None):
                    answer = clients[thread].write(scenario.writers[0], path, TARGET, f"{thread}-{number}")
                found.append((answer.kind, answer.error))
            return found

        said = [one for found in executor.map(count, range(num_threads)) for one in found]
        states = [table_at(path, version) for version in range(newest_version(path) + 1)]
    return CounterReport(
        engine=engine,
        answers=Counter(kind for kind, _ in said),
        errors=tuple(error for kind, error in said if kind is AnswerKind.FAILED),
        values=tuple(row[1] for state in states for row in state.rows),
    )
