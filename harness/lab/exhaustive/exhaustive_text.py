"""A run over a scope as text, as JSON and as a certificate."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.exhaustive.exhaustive_run import NO_ENGINE, RIGHT
from mergecheck.harness.lab.exhaustive.journal import DEVIATES, DISPUTE, ORACLES
from mergecheck.harness.verdict import Verdict
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.lab.exhaustive.exhaustive_run import ExhaustiveReport

CERTIFICATE_VERSION = 1
VERDICTS = {
    Verdict.AGREE.value: "agree",
    Verdict.BOTH_REJECTED.value: "rejected by both",
    ORACLES: "judged by the oracles alone",
    Verdict.MISMATCH.value: "differ",
    DEVIATES: "differ in a known way",
    Verdict.JUDGED_IN_PART.value: "judged in part",
    Verdict.UNSUPPORTED.value: "unsupported",
    Verdict.ENGINE_ERROR.value: "engine failed",
    DISPUTE: "the oracles differ",
}
_MOST_LINES = 12


def sentence(report: ExhaustiveReport) -> str:
    """Sum up a run: statements, pairs of tables, merges, and whether all are right."""
    results, merges = report.results.values(), report.merges
    pairs = [result.num_merges for result in results]
    if not pairs:
        return f"no statement of scope {report.scope.name} is done; {len(report.left):,} are left"
    many = f"{min(pairs):,} to {max(pairs):,} pairs" if min(pairs) != max(pairs) else counted(pairs[0], "pair")
    total = f"{counted(len(pairs), 'statement')} x {many} of tables = {counted(merges.total(), 'merge')}"
    wrong = merges.total() - sum(merges[name] for name in RIGHT)
    if not wrong:
        who = "the row model and the reference agree" if report.engine == NO_ENGINE else "all agree"
        ending = f"{total}, {who}"
    else:
        parts = [f"{merges[name]:,} {text}" for name, text in VERDICTS.items() if merges[name]]
        ending = f"{total}: {', '.join(parts)}"
    return f"{ending}; {counted(len(report.left), 'statement')} left" if report.left else ending


def lines(report: ExhaustiveReport) -> Iterator[str]:
    """Write the result of a run for a person; the last line sums up."""
    merges = report.merges
    for name, text in VERDICTS.items():
        if merges[name]:
            yield f"{text:<28}{merges[name]:>12,}"
    for reason, number in report.reasons.most_common(_MOST_LINES):
        yield f"  {number:>10,}  {reason}"
    for name, number in report.deviations.most_common():
        yield f"known deviation {name}: in {counted(number, 'statement')}"
    for name, number in report.findings.most_common():
        first = min(n for n, result in report.results.items() if name in result.findings)
        yield f"finding {name}: in {counted(number, 'statement')}, first in statement {first}"
    for result in report.results.values():
        for line in result.disputes[:_MOST_LINES]:
            yield f"statement {result.number}: {line}"
    if report.paths:
        yield "paths of R-402: " + ", ".join(f"{path} {number:,}" for path, number in sorted(report.paths.items()))
    if report.missing_paths:
        yield f"no merge took path {', '.join(report.missing_paths)}, which the scope must take"
    yield f"they stand for {report.num_lists:,} pairs of lists of rows: order and swapped values do not matter"
    speed = report.num_new / report.seconds if report.seconds else 0.0
    yield f"{counted(report.num_new, 'merge')} in this run, {report.seconds:.0f} s, {speed:,.0f} a second"
    yield ""
    yield sentence(report)


def document(report: ExhaustiveReport) -> dict[str, Any]:
    """Write a run as ``--json`` prints it."""
    return certificate(report) | {
        "stop": report.stop.value,
        "seconds": round(report.seconds, 1),
        "new_merges": report.num_new,
        "found": list(report.found),
        "exit_code": int(report.code),
    }


def certificate(report: ExhaustiveReport) -> dict[str, Any]:
    """Build the certificate of the merges that an engine was checked on, to be kept and compared."""
    merges = report.merges
    return {
        "certificate_version": CERTIFICATE_VERSION,
        "engine": report.engine,
        "engine_version": report.engine_version,
        "mergecheck_version": importlib.metadata.version("mergecheck"),
        "scope": {
            "name": report.scope.name,
            "digest": report.scope.digest,
            "statements": len(report.scope.statements),
            "first": report.numbers.start,
            "end": report.numbers.stop,
        },
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "conforms": bool(report.results)
        and not report.left
        and not report.missing_paths
        and all(name in RIGHT for name, number in merges.items() if number),
        "statements_done": len(report.results),
        "statements_left": len(report.left),
        "merges": dict(merges),
        "lists_of_rows": report.num_lists,
        "reasons": dict(report.reasons),
        "deviations": dict(report.deviations),
        "findings": dict(report.findings),
        "paths": dict(report.paths),
        "summary": sentence(report),
    }
