"""The JSON documents of ``fuzz``, ``replay`` and ``run``, read back."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from pathlib import Path

_ERROR = "engine_error"
_UNJUDGED = frozenset({"unsupported", _ERROR})
_NOT_CHECKED, _AGREES = "not_checked", frozenset({"agree", "both_rejected"})
_TOO_FEW = "too few cases were verified"
_OF_BASELINE = frozenset({"regression", "expected", "now passing", "quarantined"})
_CUT_OFF = "the run was cut off before its end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One way in which an engine differed.

    Attributes:
        check: the observable, such as ``rows``.
        kind: the kind of difference, with the side it was compared with.
        lines: the difference for a person; they hold data of the case.
    """

    check: str
    kind: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCase:
    """A finding, or a saved case.

    Attributes:
        verdict: in the words of ``--json``; ``deviates`` for a known deviation, ``not_checked`` for a finding whose
            difference was not compared again, and beside a baseline one of its four words.
        path: the case's file, if the document names it.
        fingerprint: of a finding, without the name of its engine; empty for a saved case.
        reason: why there is no judgement.
        deviations: the known deviations that explain every difference.
        not_checked: the checks that were not made, or not in full.
    """

    id: str
    verdict: str
    path: str = ""
    fingerprint: str = ""
    reason: str = ""
    differences: tuple[Difference, ...] = ()
    deviations: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()

    @property
    def problems(self) -> frozenset[str]:
        """The problems by which a later run is compared: the case or kind of case, with the kind of difference."""
        if self.verdict == _ERROR:
            return frozenset({f"{self.id}: {_ERROR}"})
        if not self.differs:
            return frozenset()
        if self.fingerprint:
            return frozenset({self.fingerprint})
        return frozenset(map(self.problem, self.differences))

    @property
    def differs(self) -> bool:
        """Whether the engine differs, and not as a deviation or a baseline knows it."""
        return self.verdict in ("mismatch", "regression")

    def problem(self, difference: Difference) -> str:
        """Name a difference of a saved case."""
        return f"{self.id}: {difference.check} {difference.kind}"

    @property
    def is_judged(self) -> bool:
        """Whether the engine's answer was held against something."""
        return self.verdict not in _UNJUDGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The results of one run.

    Attributes:
        name: the file that it was read from.
        is_random: whether it is of ``fuzz``, whose agreeing cases are counted only.
        counts: cases by verdict; known deviations count as ``deviates``.
        deviations: cases by known deviation.
        inconclusive: why the run is inconclusive, a sentence each; empty if it is not.
    """

    name: str
    engine: str
    is_random: bool
    seed: int | None
    cases: tuple[CheckedCase, ...]
    counts: dict[str, int]
    deviations: dict[str, int]
    inconclusive: tuple[str, ...]

    def command_for(self, case: CheckedCase) -> str:
        """Write the command that checks a case again; empty if the document does not name its file."""
        engine = f" --engine {shlex.quote(self.engine)}" if self.engine else ""
        return f"mergecheck replay{engine} {shlex.quote(case.path)}" if case.path else ""

    @property
    def num_engine_errors(self) -> int:
        """How many cases the engine failed on."""
        return self.counts.get(_ERROR, 0)


def read_result(path: Path) -> Result:
    """Read what ``fuzz --json``, ``replay --json`` or ``run --json`` wrote.

    Raises:
        UserInputError: the file cannot be read, or is none of these.
    """
    try:
        document = json.loads(read_ordinary(path))
        return _result(path.name, document)
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserInputError(
            f"{path} is no result of mergecheck. Write one by: mergecheck fuzz --json > {path.name} "
            "(replay and run have --json, too)."
        ) from error


def _result(name: str, document: dict[str, Any]) -> Result:
    engine = str(document.get("engine", ""))
    cut_off = () if document.get("complete", True) else (_CUT_OFF,)
    if "seed" in document:
        found = [_finding(one) for one in document["findings"]]
        counts = _numbers(document["counts"])
        counts |= {"deviates": int(document.get("deviating", 0)), "flaky": int(document.get("flaky", 0))}
        is_inconclusive = document.get("exit_code") == ExitCode.INCONCLUSIVE
        why = tuple(map(str, document.get("inconclusive", (_TOO_FEW,))))
        return Result(
            name=name,
            engine=engine,
            is_random=True,
            seed=document["seed"],
            cases=tuple(found),
            counts=counts,
            deviations=_numbers(document.get("deviations", {})),
            inconclusive=(*cut_off, *(why if is_inconclusive else ())),
        )
    cases = tuple(_saved(one) for one in document.get("cases", [document]))
    verdicts = [case.verdict for case in cases]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    judged = {"agree", "both_rejected", "mismatch", "deviates"} | _OF_BASELINE
    is_judged = bool(judged.intersection(verdicts)) and _NOT_CHECKED not in verdicts
    return Result(
        name=name,
        engine=engine,
        is_random=False,
        seed=None,
        cases=cases,
        counts=counts,
        deviations=dict(Counter(name for one in cases for name in one.deviations)),
        inconclusive=(*cut_off, *(() if is_judged else (_TOO_FEW,))),
    )


def _finding(one: dict[str, Any]) -> CheckedCase:
    fingerprint = str(one["fingerprint"])
    return CheckedCase(
        id=str(one["id"]),
        verdict="mismatch",
        path=str(one["path"]),
        fingerprint=fingerprint.partition(": ")[2] or fingerprint,
        differences=_differences(one),
    )


def _saved(one: dict[str, Any]) -> CheckedCase:
    deviations = tuple(map(str, one.get("deviation", ())))
    verdict, reason, finding = str(one["verdict"]), str(one.get("reason", "")), one.get("finding", {})
    if finding.get("status") == _NOT_CHECKED and verdict in _AGREES:
        verdict = _NOT_CHECKED
        reason = "; ".join(f"{check} not checked: {why}" for check, why in finding.get("reasons", {}).items())
    word = str(one.get("baseline", ""))
    return CheckedCase(
        id=str(one["id"]),
        verdict=word if word in _OF_BASELINE else "deviates" if deviations else verdict,
        path=str(one.get("path", "")),
        reason=reason,
        differences=_differences(one),
        deviations=deviations,
        not_checked=tuple(map(str, one.get("unsupported_checks", ()))),
    )


def _numbers(counts: dict[str, Any]) -> dict[str, int]:
    return {str(name): int(number) for name, number in counts.items()}


def _differences(one: dict[str, Any]) -> tuple[Difference, ...]:
    return tuple(
        Difference(check=str(m["check"]), kind=f"{m['kind']} against {m['against']}", lines=tuple(map(str, m["lines"])))
        for m in one["mismatches"]
    )
