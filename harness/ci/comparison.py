"""Two runs compared: what differs now and did not before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.errors import UserInputError

if TYPE_CHECKING:
    from mergecheck.harness.ci.results import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The problems of two runs: fingerprints of findings, and kinds of difference of saved cases."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    same: tuple[str, ...]


def compare_results(old: Result, new: Result) -> RunComparison:
    """Compare what two runs of the same cases found.

    Raises:
        UserInputError: the runs did not check the same cases, so that nothing can be said.
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
    return RunComparison(
        new=tuple(sorted(after - before)), gone=tuple(sorted(before - after)), same=tuple(sorted(before & after))
    )
