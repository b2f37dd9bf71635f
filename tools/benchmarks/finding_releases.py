"""Which releases show a finding: ``python -m tools.benchmarks.finding_releases --engine delta-rs 1.5.1 1.6.6``.

The minimal cases of each page of docs/findings run on each release, in an environment of its own, and the result goes
into docs/findings/releases.json. The page of all findings is made from it: the release that introduced a fault, and the
one that mended it. The reference predicts by the dialect of the release that is installed here.
"""

from __future__ import annotations

import argparse
import json
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import EngineDownError, Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

PAGES = Path("docs/findings")
RESULTS = PAGES / "releases.json"


class Shown(Enum):
    """Whether a release shows a finding."""

    YES = "shows"
    """it differs in the observable, and by the kind, in which the finding was seen"""
    NO = "right"
    OTHER = "differs otherwise"
    UNKNOWN = "cannot tell"
    """the case is not supported, or is judged in part"""


def cases_of_pages(engine: str) -> dict[str, Case]:
    """Return the minimal cases of an engine's pages, by names ``PAGE`` or ``PAGE/CASE``.

    Cases without a page of their own belong to the page of the engine, such as ``sail/sail-doubled-row``.
    """
    found: dict[str, Case] = {}
    for page in sorted(PAGES.glob(f"{engine}-*.md")):
        path = PAGES / "cases" / f"{page.stem}.json"
        if path.exists():
            found[page.stem] = load_cases(path)[0]
        entries = [entry for entry in load_deviations().entries if entry.link == str(page) and entry.engine == engine]
        found |= {
            f"{page.stem}/{entry.id}": entry.case for entry in entries if entry.id != page.stem or not path.exists()
        }
    others = (path for path in sorted((PAGES / "cases").glob(f"{engine}-*.json")) if path.stem not in found)
    return found | {f"{engine}/{path.stem}": load_cases(path)[0] for path in others if _is_of(path.stem, engine)}


def _is_of(name: str, engine: str) -> bool:
    """Return whether a case is of the engine's present line: ``delta-spark-3-...`` is of an older one."""
    return not name.removeprefix(f"{engine}-")[0].isdigit()


def shown_by(report: CaseReport, kinds: frozenset[tuple[str, str]]) -> Shown:
    """Return whether a check shows a finding.

    Args:
        report: the check of its case.
        kinds: check and kind of each difference in which the finding was seen.
    """
    if report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED):
        return Shown.NO
    if report.verdict is not Verdict.MISMATCH:
        return Shown.UNKNOWN
    return Shown.YES if kinds & kinds_of(report) else Shown.OTHER


def kinds_of(report: CaseReport) -> frozenset[tuple[str, str]]:
    """Return check and kind of each difference."""
    return frozenset((mismatch.check.value, mismatch.kind) for mismatch in report.mismatches)


def run(engine_name: str, versions: Iterable[str]) -> dict[str, dict[str, str]]:
    """Check all cases of an engine's pages on releases; the newest that differs settles the kinds of each finding."""
    cases = cases_of_pages(engine_name)
    dialect = load_engine(engine_name).capabilities.dialect
    predict = partial(MergeReference().evaluate, dialect=dialect)
    reports: dict[str, dict[str, CaseReport]] = {name: {} for name in cases}
    for version in sorted(versions, key=Version):
        try:
            engine: Engine = load_engine(f"{engine_name}@{version}")
        except EngineDownError as error:
            print(f"{engine_name} {version} cannot be run: {error}")
            continue
        for name, case in cases.items():
            reports[name][version] = check_case(case, engine, reference=predict)
        engine.close()
        print(f"{engine_name} {version}: {len(cases)} cases")
    return {name: _states(found) for name, found in reports.items()}


def _states(reports: Mapping[str, CaseReport]) -> dict[str, str]:
    differing = [report for report in reports.values() if report.verdict is Verdict.MISMATCH]
    kinds = kinds_of(differing[-1]) if differing else frozenset()
    return {version: shown_by(report, kinds).value for version, report in reports.items()}


def main() -> None:
    """Run, and write the results of the engine in place of its former ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", required=True)
    parser.add_argument("versions", nargs="+")
    given = parser.parse_args()
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known[given.engine] = run(given.engine, given.versions)
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
