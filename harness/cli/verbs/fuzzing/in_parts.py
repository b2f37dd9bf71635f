"""``mergecheck fuzz --on-spark``, and the runs of several machines as one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.findings.origin import origin_in
from mergecheck.harness.findings.store import EXAMPLES, FindingsDirectory
from mergecheck.harness.report.merged_runs import checked_run, merge_runs
from mergecheck.model.case_file import case_from_json
from mergecheck.model.case_id import with_content_id
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mergecheck.harness.properties.limits import Limits
    from mergecheck.harness.report.merged_runs import MergedRuns
    from mergecheck.harness.search.on_spark import RunInParts
    from mergecheck.harness.verdict import ExitCode

PART_SIZE = 50
"""Cases of a part: some seconds to a minute, many times the start of a process."""


def fuzz_in_parts(run: RunInParts, findings: FindingsDirectory, limits: Limits, *, as_json: bool) -> ExitCode:
    """Check a range of random cases on a cluster, and show the result.

    Args:
        run: the range and its options.
        findings: where findings are kept.
        limits: of the whole.
        as_json: print JSON.
    """
    found = [checked_run(json.loads(text)) for text in run.results("fuzz", "--json", size=PART_SIZE)]
    merged = merge_runs(found, limits)
    keep_findings(merged, findings)
    show_merged(merged, as_json=as_json)
    return merged.code


def parts_progress(*, quiet: bool) -> Callable[[int, int], None]:
    """Return what shows how many parts of how many are checked."""

    def report(number: int, total: int) -> None:
        if not quiet:
            notice(f"{number} of {counted(total, 'part')} checked")

    return report


def keep_findings(merged: MergedRuns, findings: FindingsDirectory) -> None:
    """Write the findings of several runs, and further cases of each beside them.

    Raises:
        CaseFormatError: a case is none.
        UserInputError: the folder cannot be written.
    """
    for winner in merged.winners:
        winner["path"] = str(save_finding(findings, winner))
    for other in merged.others:
        save_finding(FindingsDirectory(findings.root / EXAMPLES), other)


def save_finding(findings: FindingsDirectory, finding: Mapping[str, Any]) -> Path:
    """Write a finding that another machine has reported.

    Returns:
        Its file.

    Raises:
        CaseFormatError: its case is none.
        UserInputError: the folder cannot be written.
    """
    where = f"finding {finding['id']!r:.40}"
    case = with_content_id(case_from_json(finding["case_file"], where=where))
    lines = [line for mismatch in finding["mismatches"] for line in mismatch["lines"]]
    report = "\n".join([finding["fingerprint"], *finding["hypotheses"], "", *lines])
    return findings.save(case, report, origin_in(finding["case_file"], where))


def show_merged(merged: MergedRuns, *, as_json: bool) -> None:
    """Print several runs as one."""
    if as_json:
        emit_json(merged.document)
    else:
        show("\n".join(_lines(merged)))


def _lines(merged: MergedRuns) -> Iterator[str]:
    run = merged.document
    first, end = run["range"]
    runs = counted(run["runs"], "run")
    yield f"{run['engine_name']} {run['engine_version']}  seed {run['seed']}  numbers {first} to {end - 1} in {runs}"
    counts = run["counts"] | {"deviates": run["deviating"]}
    verdicts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    pairs = f" ({run['table_pairs']:,} pairs of tables)" if run["batches"] else ""
    yield f"{counted(run['num_cases'], 'case')}{pairs}: {verdicts}"
    for sentence in run["inconclusive"]:
        yield f"inconclusive: {sentence}"
    for finding in merged.winners:
        what = f"acts {finding['hypotheses'][0]}" if finding["hypotheses"] else finding["fingerprint"]
        in_cases = counted(finding["num_cases"], "case")
        yield f"finding {finding['id']}  {what}  in {in_cases}, first number {finding['number']}  {finding['path']}"
