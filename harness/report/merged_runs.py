"""The runs of several machines as one: their counts added up, and each finding once.

A finding is known by its hypothesis, else by its fingerprint. Of its cases the one with the lowest number in the seed
wins, so that the result does not depend on which machine ran which range, nor on the order of the runs.
"""

from __future__ import annotations

import itertools
import json
import operator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.properties.statistics import Stop
from mergecheck.harness.report.fuzz_figures import figures_of, number
from mergecheck.harness.verdict import ExitCode, UserInputError, Verdict
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.properties.limits import Limits

    Document = Mapping[str, Any]

_ALIKE = ("engine", "engine_name", "engine_version", "seed", "batch_size")
_AMOUNTS = (
    *("seconds", "num_cases", "num_repeated", "verified", "flaky", "expressions_by_spark", "partly_judged"),
    *("deviating", "merges", "multi_matched", "idle", "table_pairs", "batches", "batched", "passed_over"),
    *("failing_pairs", "pairs_left_out"),
)
_COUNTS = (
    *("phase_seconds", "counts", "unsupported", "judged_in_part", "rejected", "deviations", "not_checked"),
    *("not_checked_metrics", "engine_paths", "clauses_present", "clauses_fired", "rules", "pairs", "paths"),
)
_WORK, _UNKNOWN = "work", "unknown"  # amounts, and below ``unknown`` counts
_ADDED = (*_AMOUNTS, *_COUNTS, _WORK)
_NOT_ADDED = ("verified_share", "deviating_share", "changed_share", "cells", "seed", "batch_size")
_TEXTS = ("engine", "engine_name", "engine_version", "started", "stop")


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """Several runs as one.

    Attributes:
        document: what ``fuzz --json`` would have written, with ``range`` from the first number to the last and
            ``missing``, the ranges in between that no run has checked to its end.
        winners: the findings, by the lowest number.
        others: further cases of these findings.
    """

    document: dict[str, Any]
    winners: tuple[dict[str, Any], ...]
    others: tuple[Document, ...]

    @property
    def code(self) -> ExitCode:
        """The exit code, as of one run."""
        return ExitCode(self.document["exit_code"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    verified_share: float
    deviating_share: float
    changed_share: float


def read_run(path: Path) -> Document:
    """Read what ``fuzz --range A:B --json`` wrote.

    Raises:
        UserInputError: the file cannot be read, or is no result of a range.
    """
    try:
        return checked_run(json.loads(read_ordinary(path)))
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise UserInputError(
            f"{path} is no result of a range: {reason!s:.200}. Write one by: mergecheck fuzz --seed 1 --range 0:100 "
            f"--json > {path.name}"
        ) from error


def checked_run(document: Any) -> Document:  # noqa: ANN401 - any JSON
    """Return a document of ``fuzz --range A:B --json`` if it has what merging needs.

    Raises:
        LookupError, TypeError, ValueError: it does not.
    """
    figures_of(document, name="a run")
    for name in (*_AMOUNTS, *_NOT_ADDED):
        _require(name, document, _is_amount(document[name]), "a number from 0")
    for name in _COUNTS:
        _require(name, document, _are_counts(document[name]), "numbers by names")
    work = dict(document[_WORK])
    is_right = _are_counts(work.pop(_UNKNOWN, {})) and _are_counts(work)
    _require(_WORK, document, is_right, f"numbers by names, those below {_UNKNOWN!r} included")
    for verdict in Verdict:
        _require("counts", document, verdict.value in document["counts"], f"counts with {verdict.value}")
    for name in _TEXTS:
        _require(name, document, isinstance(document[name], str), "a text")
    missing = document["pairs_missing"]
    is_right = isinstance(missing, list) and all(isinstance(name, str) for name in missing)
    _require("pairs_missing", document, is_right, "a list of texts")
    first, end = map(operator.index, document["range"])
    _require("range", document, 0 <= first < end, "two numbers, such as [0, 100]")
    findings = [checked_finding(one) for one in document["findings"]]
    for finding in findings:
        _require("num_cases", finding, _is_amount(finding["num_cases"]), "a number from 0")
    return {**document, "range": [first, end], "findings": findings}


def _are_counts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_amount, value.values()))


def _is_amount(value: object) -> bool:
    try:
        return number(value) >= 0
    except ValueError:
        return False


def _require(name: str, document: Document, is_right: bool, allowed: str) -> None:  # noqa: FBT001 - a check
    if not is_right:
        raise ValueError(f"{name} must be {allowed}, given {document[name]!r:.80}")


def checked_finding(finding: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a finding of a document if it has what merging needs.

    Raises:
        LookupError, TypeError, ValueError: it does not.
    """
    texts = [finding["id"], finding["fingerprint"], *finding["hypotheses"]]
    texts += [line for mismatch in finding["mismatches"] for line in mismatch["lines"]]
    whole = isinstance(finding["case_file"], dict) and isinstance(finding["number"], int | None)
    if not whole or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"finding {texts[0]!r:.40} has values of the wrong kind")
    return dict(finding)


def merge_runs(runs: Sequence[Document], limits: Limits) -> MergedRuns:
    """Put runs of one engine and seed together.

    Args:
        runs: one or more documents of ``fuzz --range A:B --json``, in any order.
        limits: of the whole.

    Raises:
        UserInputError: two runs are of different engines, seeds or sizes of batches, or have a number in common.
    """
    runs = sorted(runs, key=lambda run: tuple(run["range"]))
    first = runs[0]
    for run in runs[1:]:
        for name in _ALIKE:
            if run[name] != first[name]:
                raise UserInputError(
                    f"the runs cannot be merged: one has {name} {first[name]!r}, another {run[name]!r}. "
                    "Merge runs of one engine, one --seed and one --batch."
                )
    for one, other in itertools.pairwise(runs):
        if other["range"][0] < one["range"][1]:
            raise UserInputError(
                f"the runs cannot be merged: the ranges {_text(one)} and {_text(other)} overlap. Give each number once."
            )
    added = {name: _sum([run[name] for run in runs]) for name in _ADDED}
    missing = _missing(runs)
    winners, others = _findings(runs)
    num_cases, judged = added["num_cases"], added["num_cases"] - added["deviating"]
    shares = _Shares(
        verified_share=_share(added["verified"], judged),
        deviating_share=_share(sum(run["deviating_share"] * run["num_cases"] for run in runs), num_cases),
        changed_share=_share(sum(run["changed_share"] * run["verified"] for run in runs), added["verified"]),
    )
    lacking = [f"the numbers {a} to {b - 1} are in no run that came to its end" for a, b in missing]
    missed = [*lacking, *limits.missed(shares)]
    document = {
        **{name: first[name] for name in _ALIKE},
        "started": min(run["started"] for run in runs),
        "range": [first["range"][0], runs[-1]["range"][1]],
        "runs": len(runs),
        "missing": [list(each) for each in missing],
        "stop": Stop.END.value,
        "complete": not missing,
        **added,
        **asdict(shares),
        "cells": max(run["cells"] for run in runs),
        "pairs_missing": [name for name in first["pairs_missing"] if all(name in run["pairs_missing"] for run in runs)],
        "findings": list(winners),
        "inconclusive": missed,
    }
    return MergedRuns(document | {"exit_code": int(_code(document))}, winners, others)


def _code(document: Document) -> ExitCode:
    if document["findings"]:
        return ExitCode.MISMATCH
    if document["counts"][Verdict.ENGINE_ERROR.value]:
        return ExitCode.ENGINE
    return ExitCode.INCONCLUSIVE if document["inconclusive"] else ExitCode.AGREE


def _missing(runs: Sequence[Document]) -> tuple[tuple[int, int], ...]:
    """Return the missing ranges: between the runs, and at the end of runs that ended before their last number."""
    found, end = [], runs[0]["range"][0]
    for run in runs:
        first, last = run["range"]
        if first > end:
            found.append((end, first))
        if run["stop"] != Stop.END.value:
            found.append((first, last))
        end = last
    return tuple(found)


def kind_of_finding(finding: Document) -> str:
    """Return what two findings of one fault have in common."""
    return str(finding["hypotheses"][0] if finding["hypotheses"] else finding["fingerprint"])


def _findings(runs: Iterable[Document]) -> tuple[tuple[dict[str, Any], ...], tuple[Document, ...]]:
    """Return the finding of each kind with the lowest number, with the cases of all, and the other findings."""
    winners: dict[str, dict[str, Any]] = {}
    others: dict[str, Document] = {}
    for finding in sorted(
        (one for run in runs for one in run["findings"]), key=lambda one: (one["number"] or 0, one["id"])
    ):
        kind = kind_of_finding(finding)
        winner = winners.setdefault(kind, dict(finding, num_cases=0, examples=[]))
        winner["num_cases"] += finding["num_cases"]
        if finding["id"] != winner["id"]:
            others.setdefault(finding["id"], finding)
    return tuple(winners.values()), tuple(others.values())


def _sum(values: Sequence[Any]) -> Any:  # noqa: ANN401 - numbers, or objects of numbers
    if not isinstance(values[0], dict):
        total = sum(values)
        return round(total, 3) if isinstance(total, float) else total
    names = dict.fromkeys(name for value in values for name in value)
    return {name: _sum([value[name] for value in values if name in value]) for name in names}


def _share(part: float, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _text(run: Document) -> str:
    first, end = run["range"]
    return f"{first}:{end}"
