"""Two runs compared: what differs now and did not before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.report.ci.results import CheckedCase, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The problems of two runs: fingerprints of findings, and kinds of difference of saved cases.

    Attributes:
        not_checked: problems of the old run that the new one did not look for.
    """

    new: tuple[str, ...]
    gone: tuple[str, ...]
    same: tuple[str, ...]
    not_checked: tuple[str, ...] = ()


def compare_results(old: Result, new: Result) -> RunComparison:
    """Compare the findings of two runs of the same cases.

    Raises:
        UserInputError: the runs did not check the same cases, so that they cannot be compared.
    """
    if old.is_random != new.is_random:
        raise UserInputError(
            f"{old.name} and {new.name} are of different verbs; compare fuzz with fuzz, replay with replay"
        )
    if old.seed != new.seed:
        raise UserInputError(
            f"{old.name} is of seed {old.seed}, {new.name} of seed {new.seed}: other seeds draw other cases. "
            "Run both with the same --seed and --max-cases."
        )
    before = frozenset(problem for case in old.cases for problem in case.problems)
    after = frozenset(problem for case in new.cases for problem in case.problems)
    looked_at = {case.id: case for case in new.cases}
    unseen = frozenset() if old.is_random else frozenset(_unseen(old, looked_at)) - after
    return RunComparison(
        new=tuple(sorted(after - before)),
        gone=tuple(sorted(before - after - unseen)),
        same=tuple(sorted(before & after)),
        not_checked=tuple(sorted(unseen)),
    )


def _unseen(old: Result, looked_at: Mapping[str, CheckedCase]) -> Iterator[str]:
    """Name the problems of saved cases that the later run did not check, or not in the observable that differed."""
    for case in old.cases:
        now = looked_at.get(case.id)
        if case.problems and (now is None or not now.is_judged):
            yield from case.problems
        elif now is not None:
            yield from (case.problem(one) for one in case.differences if one.check in now.not_checked)
