"""Random cases that reach rules: how many do, and the smallest case that the shrinker makes of one."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, shrink
from mergecheck.harness.lab.rule_pages.page import Reach
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import MergeReference
from mergecheck.strategies import TABLE_FEATURES, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

_PROFILE = Profile(table_features=frozenset(TABLE_FEATURES))
_STARTS = 5
_LIMITS = ShrinkLimits(max_runs=700)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The reach of a number of random cases, and for some rules the plainest cases that reached them."""

    reach: Reach
    reaching: dict[str, list[Case]]


def draw(num_cases: int, seed: int, *, wanted: Iterable[str]) -> Drawn:
    """Evaluate random cases, count the rules that they reach, and keep the plainest cases of the wanted rules."""
    counts: Counter[str] = Counter()
    reaching: dict[str, list[Case]] = {number: [] for number in wanted}
    reference = MergeReference()
    for drawn in itertools.islice(samples(seed, profile=_PROFILE), num_cases):
        reached = facts_of(drawn.case, reference.evaluate(drawn.case)).rules
        counts.update(reached)
        for number in reached & reaching.keys():
            reaching[number] = sorted([*reaching[number], drawn.case], key=_length)[:_STARTS]
    countable = [rule.number for rule in known_rules() if rule.out_of_reach is None]
    reach = Reach(num_cases=num_cases, seed=seed, rules={number: counts[number] for number in countable})
    return Drawn(reach=reach, reaching=reaching)


def smallest(number: str, cases: Iterable[Case]) -> Case | None:
    """Shrink cases as long as they reach a rule, with an outcome of the same sort, and return the smallest."""
    evaluate = MergeReference().evaluate
    shrunk = [_shrunk(number, case, evaluate) for case in cases]
    return replace(min(shrunk, key=_length), id=number) if shrunk else None


def _shrunk(number: str, case: Case, evaluate: Callable[[Case], Reference]) -> Case:
    check = _reaches(number, case, evaluate)
    return shrink(Attempts(check(case), check=check, limits=_LIMITS)).case


def _reaches(number: str, first: Case, evaluate: Callable[[Case], Reference]) -> Callable[[Case], CaseReport]:
    """Return a check that reports a mismatch, which the shrinker keeps, if a case reaches the rule."""
    wanted = _sort(evaluate(first))

    def check(case: Case) -> CaseReport:
        reference = evaluate(case)
        reached = number in facts_of(case, reference).rules and _sort(reference) == wanted
        mismatch = Mismatch(check=Check.ROWS, against="reference", kind=number, lines=())
        return CaseReport(
            case=case,
            engine="reference",
            engine_version="",
            verdict=Verdict.MISMATCH if reached else Verdict.AGREE,
            reference=reference,
            result=None,
            mismatches=(mismatch,) if reached else (),
        )

    return check


def _sort(reference: Reference) -> str:
    """Return a name for an outcome: the error class, or whether any row changed."""
    if isinstance(reference.answer, Rejection):
        return reference.answer.error_class
    changes = isinstance(reference.answer, Prediction) and reference.answer.num_changed_rows > 0
    return "rows change" if changes else "nothing changes"


def _length(case: Case) -> int:
    return len(repr(case))
