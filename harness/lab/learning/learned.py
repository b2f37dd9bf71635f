"""An engine's accepted, refused and deviating features: probed, kept as a file, and compared with it again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.error_signature import message_skeleton
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.outcome import Rejection
from mergecheck.model.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.learning.probes import Probe
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

_PATH = re.compile(r"\S*/\S*/\S*")
_MAX_MESSAGE = 160


class Answer(Enum):
    """An engine's answer to a probe."""

    TAKES = "takes"
    REFUSES = "refuses"
    DIFFERS = "differs"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Learned:
    """An answer to a probe, and the engine's message; for a difference, the checks."""

    answer: Answer
    message: str = ""

    def is_same(self, other: Learned) -> bool:
        """Return whether two answers are the same apart from names, numbers and paths in messages."""
        return self.answer is other.answer and message_skeleton(self.message) == message_skeleton(other.message)

    def __str__(self) -> str:
        """Write it for a person."""
        return f"{self.answer.value} ({self.message})" if self.message else self.answer.value


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKnowledge:
    """All that was learned of a release of an engine, by group and name of the probe."""

    engine: str
    version: str
    answers: dict[tuple[str, str], Learned]

    def features_off(self, probes: Iterable[Probe]) -> frozenset[str]:
        """Name the features of random cases of which the engine refused every probe."""
        refused: dict[str, bool] = {}
        for probe in probes:
            found = self.answers.get((probe.group, probe.name))
            for feature in probe.features:
                is_refused = found is not None and found.answer is Answer.REFUSES
                refused[feature] = refused.get(feature, True) and is_refused
        return frozenset(feature for feature, is_refused in refused.items() if is_refused)

    def remark_on(self, engine: Engine) -> str:
        """Return a remark if this file is about another release of an engine; empty for the same release.

        Raises:
            UserInputError: it is about another engine.
        """
        if self.engine != engine.name:
            raise UserInputError(f"--capabilities is about the engine {self.engine}, not {engine.name}")
        if self.version == engine.version:
            return ""
        return f"--capabilities is about {self.engine} {self.version}; this is {engine.version}"


def learn(probes: Iterable[Probe], check: Callable[[Case], CaseReport]) -> dict[tuple[str, str], Learned]:
    """Try every probe.

    Args:
        probes: what to try.
        check: checks a case on the engine.
    """
    return {(probe.group, probe.name): learned(check(probe.case)) for probe in probes}


def learned(report: CaseReport) -> Learned:
    """Read an answer off the check of a probe."""
    if report.verdict is Verdict.UNSUPPORTED:
        return Learned(Answer.REFUSES, _steady(report.reason))
    if report.verdict is Verdict.ENGINE_ERROR:
        return Learned(Answer.FAILS, _steady(report.reason))
    if isinstance(report.result, Rejection):
        return Learned(Answer.REFUSES, _steady(report.result.message))
    if report.verdict is Verdict.MISMATCH:
        kinds = dict.fromkeys(f"{mismatch.check.value} {mismatch.kind}" for mismatch in report.mismatches)
        return Learned(Answer.DIFFERS, ", ".join(kinds))
    return Learned(Answer.TAKES)


def differences(before: EngineKnowledge, now: EngineKnowledge) -> Iterator[str]:
    """List the differences as lines, in the order of the file."""
    for key in sorted(before.answers.keys() | now.answers.keys()):
        old, new = before.answers.get(key), now.answers.get(key)
        name = ": ".join(key)
        if old is None:
            yield f"{name}: not in the file. Now: {new}"
        elif new is None:
            yield f"{name}: in the file, but there is no such probe"
        elif not old.is_same(new):
            yield f"{name}: before: {old}. Now: {new}"


def knowledge_json(known: EngineKnowledge) -> dict[str, Any]:
    """Return the learned facts as JSON, sorted, so that two versions of the file compare line by line."""
    groups: dict[str, dict[str, Any]] = {}
    for (group, name), found in sorted(known.answers.items()):
        by_answer = groups.setdefault(group, {})
        if found.answer is Answer.TAKES:
            by_answer.setdefault(found.answer.value, []).append(name)
        else:
            by_answer.setdefault(found.answer.value, {})[name] = found.message
    return {"engine": known.engine, "version": known.version, "groups": groups}


def knowledge_text(known: EngineKnowledge) -> str:
    """Write the file."""
    return json.dumps(knowledge_json(known), indent=2, ensure_ascii=False) + "\n"


def read_knowledge(path: Path) -> EngineKnowledge:
    """Read the file.

    Raises:
        CaseFormatError: it cannot be read.
        UserInputError: it is no such file.
    """
    try:
        document = json.loads(read_text(path))
        answers: dict[tuple[str, str], Learned] = {}
        for group, by_answer in document["groups"].items():
            for word, names in by_answer.items():
                for name in names:
                    message = names[name] if isinstance(names, dict) else ""
                    answers[str(group), str(name)] = Learned(Answer(word), str(message))
        return EngineKnowledge(engine=str(document["engine"]), version=str(document["version"]), answers=answers)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserInputError(
            f"{path} has no answers of an engine. Write such a file by: "
            f"mergecheck engine conform ENGINE --learned {path.name}"
        ) from error


def _steady(message: str) -> str:
    """Keep the first line of a message, without paths, which differ from run to run."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = _PATH.sub("PATH", lines[0] if lines else "no message")
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}..."
