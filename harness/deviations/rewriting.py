"""What the readings of several entries make of an engine's answer, one by one and together."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from mergecheck.harness.coverage.facts import facts_of
from mergecheck.harness.deviations.readings.catalogue import READINGS
from mergecheck.harness.deviations.readings.judged import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.deviations.deviation import Deviation
    from mergecheck.harness.deviations.readings.judged import Judged
    from mergecheck.harness.verdict import CaseReport

_ORDER = {name: place for place, name in enumerate(READINGS)}


def rewritten(
    answer: Judged, entries: Sequence[Deviation], report: CaseReport
) -> Iterator[tuple[Judged, tuple[Deviation, ...]]]:
    """Give an answer as it is, as each set of rewrites has it, and as one more rewrite has it after one of them.

    The last are entries that fit the case that another one makes, and not the given one: what several matches mean is
    only asked if the conditions can be evaluated. There are two steps at most.

    Args:
        answer: an engine's answer, and what it is held against.
        entries: all entries that may explain it.
        report: the same answer, with what is known of its case.

    Yields:
        the answer, held against something else, and the entries that say so; fewer entries first.
    """
    rewrites = [entry for entry in entries if entry.phase is Phase.REWRITE]
    fitting = [entry for entry in rewrites if entry.fits(report)]
    first_steps = []
    for number in range(len(fitting) + 1):
        for chosen in combinations(fitting, number):
            now, used = applied(answer, chosen)
            if len(used) == number:
                yield now, used
            if len(used) == number == 1:
                first_steps.append((now, used))
    others = [entry for entry in rewrites if entry not in fitting]
    for now, used in first_steps:
        facts = facts_of(now.case, now.reference)
        other_report = replace(report, case=now.case, reference=now.reference, facts=facts)
        for entry in others:
            after = entry.applied(now) if entry.fits(other_report) else None
            if after is not None:
                yield after, (*used, entry)


def applied(now: Judged, entries: Sequence[Deviation]) -> tuple[Judged, tuple[Deviation, ...]]:
    """Apply the readings of some entries, in the order of the catalogue.

    Returns:
        the answer afterwards, and the entries whose readings changed something.
    """
    used = []
    for entry in sorted(entries, key=_turn):
        after = entry.applied(now)
        if after is not None:
            now = after
            used.append(entry)
    return now, tuple(used)


def _turn(entry: Deviation) -> int:
    return -1 if entry.as_if is None else _ORDER[entry.as_if.name]
