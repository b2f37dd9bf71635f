"""Stored runs put together: engine x release x feature, and each way to differ with its releases and one case."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.lab.scoreboard.features import FEATURES
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.harness.lab.scoreboard.stored_runs import StoredDifference, StoredRun

FEW_CASES = 30
"""A release with fewer judged cases carries little evidence."""


@dataclass(slots=True)
class Release:
    """The results of an engine's release in all runs.

    Attributes:
        cells: answers by feature. totals: answers over all cases.
        unsupported: cases by reason.
        runs: the checked cases, in words.
        down: why the engine ended before the cases did, once for each run in which it did.
    """

    version: str
    cells: dict[str, Counter[Answer]] = field(default_factory=dict)
    totals: Counter[Answer] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    runs: list[str] = field(default_factory=list)
    down: list[str] = field(default_factory=list)

    @property
    def num_judged(self) -> int:
        """Cases of all runs that were judged."""
        return num_judged(self.totals)

    def add(self, run: StoredRun) -> None:
        """Count a run."""
        self.totals.update(run.totals)
        self.unsupported.update(run.unsupported)
        for name, counts in run.features.items():
            self.cells.setdefault(name, Counter()).update(counts)
        self.runs.append(run.cases)
        self.down += [run.down] if run.down else []


@dataclass(slots=True)
class Cause:
    """One way in which releases of an engine differ.

    Attributes:
        what: the known deviations, or the fingerprint.
        deviations: ids of the known deviations that explain it; empty if nothing does.
        cases: cases by version.
        features: by version, cases by feature.
        smallest: the difference with the smallest case of all releases.
    """

    engine: str
    what: str
    deviations: tuple[str, ...]
    smallest: StoredDifference
    cases: Counter[str] = field(default_factory=Counter)
    features: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def versions(self) -> list[str]:
        """The releases that show it, the oldest first."""
        return sorted(self.cases, key=version_key)

    def add(self, version: str, found: StoredDifference) -> None:
        """Count the results of one run of a release."""
        self.cases[version] += found.num_cases
        self.features.setdefault(version, Counter()).update(found.features)
        if _size(found) < _size(self.smallest):
            self.smallest = found


@dataclass(slots=True)
class EngineScores:
    """The releases of one engine, the oldest first, and its causes, the unexplained and the frequent first."""

    name: str
    releases: tuple[Release, ...]
    causes: tuple[Cause, ...]

    def cause_of(self, version: str, feature: str) -> Cause | None:
        """Choose the cause that a cell shows: the first of those seen in it."""
        return next((cause for cause in self.causes if cause.features.get(version, Counter())[feature]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """All engines, and the files that the figures come from."""

    engines: tuple[EngineScores, ...]
    files: tuple[str, ...]


def scoreboard(runs: Iterable[StoredRun]) -> Scoreboard:
    """Put runs together.

    Raises:
        UserInputError: two of them hold the same cases on the same release.
    """
    releases: dict[str, dict[str, Release]] = {}
    causes: dict[str, dict[str, Cause]] = {}
    seen: dict[tuple[str, str, str], str] = {}
    files: list[str] = []
    for run in runs:
        key = (run.engine, run.version, run.cases)
        if key in seen:
            raise UserInputError(
                f"{seen[key]} and {run.file} hold the same cases on {run.engine} {run.version} ({run.cases}), "
                "and a case counts once: leave one of them out."
            )
        seen[key] = run.file
        files += [run.file] if run.file not in files else []
        releases.setdefault(run.engine, {}).setdefault(run.version, Release(run.version)).add(run)
        for found in run.differences:
            known = causes.setdefault(run.engine, {})
            cause = known.setdefault(found.what, Cause(run.engine, found.what, found.deviations, found))
            cause.add(run.version, found)
    return Scoreboard(
        engines=tuple(
            EngineScores(
                name=name,
                releases=tuple(sorted(found.values(), key=lambda release: version_key(release.version))),
                causes=tuple(sorted(causes.get(name, {}).values(), key=_order)),
            )
            for name, found in sorted(releases.items())
        ),
        files=tuple(files),
    )


def num_judged(counts: Mapping[Answer, int]) -> int:
    """Count the cases in which an answer was held against the reference's."""
    return sum(counts.get(answer, 0) for answer in (Answer.AGREE, Answer.DEVIATES, Answer.MISMATCH))


def version_key(version: str) -> tuple[tuple[int, ...], str]:
    """Give what releases are sorted by: their numbers, then the text."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", version)), version


def scoreboard_json(board: Scoreboard) -> dict[str, Any]:
    """Write the scoreboard as ``scoreboard --json`` gives it."""
    return {
        "files": list(board.files),
        "engines": [
            {
                "engine": engine.name,
                "releases": [_release_json(engine, release) for release in engine.releases],
                "causes": [_cause_json(cause) for cause in engine.causes],
            }
            for engine in board.engines
        ],
    }


def _release_json(engine: EngineScores, release: Release) -> dict[str, Any]:
    features: dict[str, Any] = {}
    for name in FEATURES:
        if name in release.cells:
            cause = engine.cause_of(release.version, name)
            features[name] = {**_counts_json(release.cells[name]), "cause": None if cause is None else cause.what}
    return {
        "version": release.version,
        "runs": list(release.runs),
        "down": list(release.down),
        "totals": _counts_json(release.totals),
        "judged": release.num_judged,
        "features": features,
        "unsupported": dict(release.unsupported.most_common()),
    }


def _cause_json(cause: Cause) -> dict[str, Any]:
    case = cause.smallest.case
    features: Counter[str] = sum(cause.features.values(), Counter())
    return {
        "what": cause.what,
        "deviation": list(cause.deviations),
        "cases": {version: cause.cases[version] for version in cause.versions},
        "first": cause.versions[0],
        "last": cause.versions[-1],
        "features": {name: features[name] for name in FEATURES if features[name]},
        "case_file": None if case is None else case_to_json(case),
        "path": cause.smallest.path or None,
    }


def _counts_json(counts: Mapping[Answer, int]) -> dict[str, int]:
    return {answer.value: counts.get(answer, 0) for answer in Answer}


def _size(found: StoredDifference) -> tuple[bool, int]:
    return found.case is None, 0 if found.case is None else sum(num_rows(found.case))


def _order(cause: Cause) -> tuple[bool, int, str]:
    return bool(cause.deviations), -cause.cases.total(), cause.what
