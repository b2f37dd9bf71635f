"""Findings of a run so far: which further mismatch is worth shrinking, and which belongs to a known finding.

One fault shows in many ways, and several faults may show in one way. So a mismatch is tried if its observed signature
is new. It counts as a known finding if its minimal case has the same minimal signature, or if one hypothesis explains
both: the cases of one hypothesis are one finding with examples. A fingerprint is tried ever more rarely if its tries
led to nothing, or to no minimal case, so that a common fault does not use up the run. The same holds for fingerprints
of counters and files, in which one fault shows in many ways.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.findings.signature import minimal_signature, observed_signature
from mergecheck.harness.verdict import Check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.findings.signature import MinimalSignature, ObservedSignature
    from mergecheck.harness.verdict import CaseReport


_CONSEQUENCES = frozenset({Check.METRICS, Check.FILES, Check.COMMIT, Check.PATH, Check.LOG, Check.RESULT})


class KnownFindings:
    """The findings of one run, grouped by fingerprint."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._observed: dict[ObservedSignature, str] = {}
        self._minimal: dict[MinimalSignature, str] = {}
        self._first: dict[Fingerprint, str] = {}
        self._causes: dict[str, str] = {}
        self._num_vain: Counter[Fingerprint] = Counter()
        self._num_waiting: Counter[Fingerprint] = Counter()

    def __len__(self) -> int:
        return len(self._ids)

    def match_known(self, report: CaseReport) -> str | None:
        """Return the finding that a mismatch belongs to; None if it must be tried by itself."""
        seen = observed_signature(report)
        if seen is None:
            return None
        known = self._observed.get(seen) or self.match_minimal(report)
        if known is not None:
            self._observed[seen] = known
            return known
        if self._num_waiting[seen.fingerprint] > 0:
            self._num_waiting[seen.fingerprint] -= 1
            return self._first[seen.fingerprint]
        return None

    def match_minimal(self, report: CaseReport) -> str | None:
        """Return the finding whose minimal case a mismatch looks like, None if there is none."""
        seen = minimal_signature(report)
        return None if seen is None else self._minimal.get(seen)

    @property
    def causes(self) -> frozenset[str]:
        """The causes of the findings so far, see ``explanation.implied``."""
        return frozenset(self._causes)

    def match_causes(self, causes: Iterable[str]) -> str | None:
        """Return the finding that has any of some causes, None if there is none."""
        return next((self._causes[cause] for cause in sorted(causes) if cause in self._causes), None)

    def add(
        self,
        finding_id: str,
        *,
        drawn: CaseReport,
        minimal: CaseReport,
        is_minimal: bool,
        causes: frozenset[str] = frozenset(),
    ) -> None:
        """Record a new finding, by the case as it was drawn and by the one that shrinking came to."""
        self._ids.append(finding_id)
        self.add_causes(finding_id, causes)
        for report in (drawn, minimal):
            if (seen := observed_signature(report)) is not None:
                self._observed.setdefault(seen, finding_id)
                self._first.setdefault(seen.fingerprint, finding_id)
        if (form := minimal_signature(minimal)) is not None:
            self._minimal.setdefault(form, finding_id)
            if not is_minimal or form.fingerprint.check in _CONSEQUENCES:
                self._wait_longer(form.fingerprint)

    def add_causes(self, finding_id: str, causes: frozenset[str]) -> None:
        """Record causes of a finding, of its own case or of an example."""
        for cause in causes:
            self._causes.setdefault(cause, finding_id)

    def add_another(self, finding_id: str, *, drawn: CaseReport) -> None:
        """Record that a try led to a known finding: the next ones of its fingerprint have to wait."""
        seen = observed_signature(drawn)
        if seen is None:
            return
        self._observed[seen] = finding_id
        self._first.setdefault(seen.fingerprint, finding_id)
        self._wait_longer(seen.fingerprint)

    def _wait_longer(self, fingerprint: Fingerprint) -> None:
        self._num_vain[fingerprint] += 1
        self._num_waiting[fingerprint] = 2 ** self._num_vain[fingerprint] - 1
