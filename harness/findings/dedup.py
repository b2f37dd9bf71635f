"""What a run has found so far: which further mismatch is worth shrinking, and which is one of those.

A fault shows in many ways, and one way may have several faults behind it. So a mismatch is tried where its symptom is
new, and taken for a known finding where its minimal case looks like that one's. A fingerprint whose tries came to
nothing, or to no minimal case, is tried ever more rarely, so that a common fault does not use the run up. So is one of
counters and files, which follow from one fault in many ways.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.findings.signature import shape, symptom
from mergecheck.harness.verdict import Check

if TYPE_CHECKING:
    from mergecheck.harness.findings.signature import Shape, Symptom
    from mergecheck.harness.findings.store import Fingerprint
    from mergecheck.harness.verdict import CaseReport


_CONSEQUENCES = frozenset({Check.METRICS, Check.FILES, Check.COMMIT, Check.PATH})


class KnownFindings:
    """The findings of one run, by what they look like."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._symptoms: dict[Symptom, str] = {}
        self._shapes: dict[Shape, str] = {}
        self._first: dict[Fingerprint, str] = {}
        self._num_vain: Counter[Fingerprint] = Counter()
        self._num_waiting: Counter[Fingerprint] = Counter()

    def __len__(self) -> int:
        return len(self._ids)

    def taken_for(self, report: CaseReport) -> str | None:
        """Return the finding that a mismatch counts as, None where it is worth a try of its own."""
        seen = symptom(report)
        if seen is None:
            return None
        known = self._symptoms.get(seen) or self.with_shape(report)
        if known is not None:
            self._symptoms[seen] = known
            return known
        if self._num_waiting[seen.mark] > 0:
            self._num_waiting[seen.mark] -= 1
            return self._first[seen.mark]
        return None

    def with_shape(self, report: CaseReport) -> str | None:
        """Return the finding whose minimal case a mismatch looks like, None where there is none."""
        seen = shape(report)
        return None if seen is None else self._shapes.get(seen)

    def add(self, finding_id: str, *, drawn: CaseReport, minimal: CaseReport, is_minimal: bool) -> None:
        """Take note of a new finding, by the case as it was drawn and by the one that shrinking came to."""
        self._ids.append(finding_id)
        for report in (drawn, minimal):
            if (seen := symptom(report)) is not None:
                self._symptoms.setdefault(seen, finding_id)
                self._first.setdefault(seen.mark, finding_id)
        if (form := shape(minimal)) is not None:
            self._shapes.setdefault(form, finding_id)
            if not is_minimal or form.mark.check in _CONSEQUENCES:
                self._wait_longer(form.mark)

    def add_another(self, finding_id: str, *, drawn: CaseReport) -> None:
        """Take note that a try led to a finding that was there: the next ones of its fingerprint have to wait."""
        seen = symptom(drawn)
        if seen is None:
            return
        self._symptoms[seen] = finding_id
        self._first.setdefault(seen.mark, finding_id)
        self._wait_longer(seen.mark)

    def _wait_longer(self, mark: Fingerprint) -> None:
        self._num_vain[mark] += 1
        self._num_waiting[mark] = 2 ** self._num_vain[mark] - 1
