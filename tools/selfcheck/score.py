"""The score of a catalogue over several seeds: solved by Etna's rule, cases to find, and by which check."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.properties.merge_text import num_tokens_behind_using

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.selfcheck.fault import Fault
    from tools.selfcheck.shrinking import Shrunk
    from tools.selfcheck.trial import Kill, SeedResult

BUCKETS = (1, 10, 100, 1000)


def _median(values: Sequence[float | None]) -> float | None:
    """Take the median; None counts as more than every number, and is the answer if the median is."""
    found = statistics.median([math.inf if value is None else value for value in values]) if values else math.inf
    return None if found == math.inf else found


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultScore:
    """One fault over all seeds.

    Attributes:
        kills: one per seed that looked for it, in the order of the seeds; None if it survived.
        shrunk: its minimal case, if shrinking was asked for and the fault was found.
    """

    fault: Fault
    kills: tuple[Kill | None, ...]
    shrunk: Shrunk | None = None

    @property
    def num_found(self) -> int:
        """In how many seeds it was found."""
        return sum(kill is not None for kill in self.kills)

    @property
    def is_solved(self) -> bool:
        """Whether every seed found it."""
        return self.num_found == len(self.kills) > 0

    @property
    def median(self) -> float | None:
        """The median number of cases; None if more than half of the seeds did not find it."""
        return _median([None if kill is None else kill.num_cases for kill in self.kills])

    @property
    def worst(self) -> int | None:
        """The most cases that a seed needed; None if one did not find it."""
        return max(kill.num_cases for kill in self.kills if kill is not None) if self.is_solved else None

    @property
    def checks(self) -> Counter[str]:
        """How many seeds saw it by which check."""
        return Counter(check for kill in self.kills if kill is not None for check in kill.checks)

    @property
    def lone_check(self) -> str | None:
        """The check that found it alone in every seed, if there is one."""
        seen = {kill.checks for kill in self.kills if kill is not None}
        (only,) = seen if len(seen) == 1 else ((),)
        return only[0] if len(only) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The catalogue, or a part of it, over several seeds."""

    faults: tuple[FaultScore, ...]
    seeds: tuple[int, ...]
    max_cases: int
    num_cases: int
    num_runs: int
    seconds: float

    @property
    def counted(self) -> tuple[FaultScore, ...]:
        """The faults that a case can show, as far as is known: a found one is not equivalent, whatever was argued."""
        return tuple(one for one in self.faults if one.num_found or not one.fault.equivalent)

    @property
    def num_solved(self) -> int:
        """Faults that every seed found."""
        return sum(one.is_solved for one in self.counted)

    @property
    def solved_share(self) -> float:
        """Their share of those that count."""
        return self.num_solved / len(self.counted) if self.counted else 0.0

    @property
    def median(self) -> float | None:
        """The median fault's median number of cases."""
        return _median([one.median for one in self.counted])

    @property
    def buckets(self) -> dict[int, int]:
        """Faults by the smallest bucket that their median fits in."""
        counts = dict.fromkeys(BUCKETS, 0)
        for median in (one.median for one in self.faults):
            bucket = None if median is None else next((limit for limit in BUCKETS if median <= limit), None)
            if bucket is not None:
                counts[bucket] += 1
        return counts


def score(
    faults: Sequence[Fault], results: Sequence[SeedResult], *, max_cases: int, shrunk: Sequence[Shrunk] = ()
) -> Score:
    """Put the results of all seeds together."""
    results = sorted(results, key=lambda result: result.seed)
    minimal = {found.fault: found for found in shrunk}
    return Score(
        faults=tuple(
            FaultScore(
                fault=fault,
                kills=tuple(result.kills.get(fault.id) for result in results if fault.id not in result.passed_over),
                shrunk=minimal.get(fault.id),
            )
            for fault in faults
        ),
        seeds=tuple(result.seed for result in results),
        max_cases=max_cases,
        num_cases=sum(result.num_cases for result in results),
        num_runs=sum(result.num_runs for result in results),
        seconds=sum(result.seconds for result in results),
    )


def score_json(found: Score) -> dict[str, Any]:
    """Write a score as JSON."""
    return {
        "seeds": list(found.seeds),
        "max_cases": found.max_cases,
        "cases": found.num_cases,
        "faulty_runs": found.num_runs,
        "seconds": round(found.seconds, 1),
        "faults": len(found.faults),
        "equivalent": len(found.faults) - len(found.counted),
        "solved": found.num_solved,
        "median_cases": found.median,
        "buckets": {str(limit): count for limit, count in found.buckets.items()},
        "by_fault": [_fault_json(one) for one in found.faults],
    }


def _fault_json(one: FaultScore) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": one.fault.id,
        "area": one.fault.area.value,
        "rules": list(one.fault.rules),
        "sentence": one.fault.summary,
        "equivalent": one.fault.equivalent or None,
        "solved": one.is_solved,
        "cases": [None if kill is None else kill.num_cases for kill in one.kills],
        "checks": dict(one.checks),
    }
    if one.shrunk is not None:
        found = one.shrunk
        document["shrunk"] = {
            "cut_short": found.cut_short,
            "target_rows": found.num_target_rows,
            "source_rows": found.num_source_rows,
            "clauses": found.num_clauses,
            "seconds": round(found.seconds, 1),
            "runs": found.num_runs,
            "tokens": num_tokens_behind_using(found.sql),
            "sql": found.sql,
        }
    return document
