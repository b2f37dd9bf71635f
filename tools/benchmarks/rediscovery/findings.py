"""The findings of a version, by kind, and in which versions each of them shows."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path  # noqa: TC003 - dataclass fields are read at run time by tools
from typing import TYPE_CHECKING

from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.properties.vocabulary import PlainCase, has
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases

if TYPE_CHECKING:
    from mergecheck.harness.verdict import CaseReport
    from tools.benchmarks.rediscovery.runs import Part

# How checks count as kinds; all others (statistics of files, the commit) count as metrics.
_KIND_OF_CHECK = {"rows": "rows", "schema": "rows", "cdf": "cdf", "unchanged": "error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding in one version.

    Attributes:
        text: its fingerprint, without the engine.
        observed: the difference in a few words.
        path: its minimal case.
        shown: whether its minimal case shows the same in a version; without versions where something else hides it.
    """

    kind: str
    text: str
    observed: str
    num_cases: int
    path: Path
    shown: Mapping[str, bool] = field(default_factory=dict)

    def is_another_than(self, other: Seen) -> bool:
        """Return whether a version shows only one finding of two, so that they have different causes."""
        return any(self.shown[version] != other.shown[version] for version in self.shown.keys() & other.shown.keys())


def findings(parts: list[Part]) -> dict[str, Seen]:
    """Read the findings of one version by id; two parts may have come to the same minimal case."""
    found: dict[str, Seen] = {}
    for part in parts:
        for finding in part.document["findings"]:
            text = _without_engine(finding["fingerprint"])
            check, sort = text.split(" ")[:2]
            detail = text[text.index("(") :].strip("()") if "(" in text else ""
            path = part.findings / f"{finding['id']}.json"
            before = found.get(finding["id"])
            found[finding["id"]] = Seen(
                kind=_kind(check, sort),
                text=text,
                observed=detail or sort if check == "error" else " ".join([check, sort, *_traits(path)]),
                num_cases=finding["num_cases"] + (before.num_cases if before else 0),
                path=path,
            )
    return found


def _without_engine(named: str) -> str:
    return named.split(": ", 1)[1]


def _kind(check: str, sort: str) -> str:
    if check == "error":
        return "no error" if sort == "no_error" else "error"
    return _KIND_OF_CHECK.get(check, "metrics")


def _traits(path: Path) -> list[str]:
    (case,) = load_cases(path)
    named = {"with evolution": "schema-evolution", "partitioned": "partitions"}
    return [name for name, one in named.items() if has(PlainCase(case=case), one)]


def in_all_versions(found: dict[str, dict[str, Seen]], jobs: int) -> dict[str, dict[str, Seen]]:
    """Run every minimal case on all versions of its engine, some versions at the same time."""
    with ProcessPoolExecutor(jobs) as pool:
        shown = dict(zip(found, pool.map(partial(_shown_in, found=found), found), strict=True))
    return {
        version: {
            i: replace(one, shown={v: those[version, i] for v, those in shown.items() if (version, i) in those})
            for i, one in seen.items()
        }
        for version, seen in found.items()
    }


def _shown_in(version: str, *, found: dict[str, dict[str, Seen]]) -> dict[tuple[str, str], bool]:
    """Return for the findings of all versions whether their minimal cases show the same in one version."""
    shown: dict[tuple[str, str], bool] = {}
    engine = load_engine(version)
    for other, seen in found.items():
        if other.partition("@")[0] != version.partition("@")[0]:
            continue
        for finding_id, one in seen.items():
            (case,) = load_cases(one.path)
            told = shows(check_case(case, engine), one)
            if told is not None:
                shown[other, finding_id] = told
    engine.close()
    return shown


def shows(report: CaseReport, finding: Seen) -> bool | None:
    """Return whether a report of a finding's minimal case shows the finding; None if that is unknown.

    A merge that fails, or should fail and does not, hides what else is wrong. So does anything else of the same kind.
    """
    if report.verdict in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED, Verdict.ENGINE_ERROR):
        return None
    named = fingerprint(report)
    if named is not None and _without_engine(str(named)) == finding.text:
        return True
    kinds = {_kind(mismatch.check.value, mismatch.kind) for mismatch in report.mismatches}
    return None if kinds & {"error", "no error", finding.kind} else False
