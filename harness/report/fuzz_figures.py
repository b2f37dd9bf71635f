"""The figures of a run of random cases, from what ``fuzz --json`` writes: to compare runs with each other."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from mergecheck.harness.properties.phases import PHASES
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary
from mergecheck.model.work_counts import WorkCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_MOST = 1 << 63
"""Far above all numbers of a run; infinity and NaN are not below it."""


class NoFuzzResultError(UserInputError):
    """A file that is no result of ``fuzz --json``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """One run in numbers.

    Attributes:
        name: the file, or another name that distinguishes runs.
        started: date and time in UTC, as ISO 8601; empty if the file does not have it.
        engine: the value of ``--engine``. engine_version: empty if the file does not have it.
        num_cases: distinct cases checked.
        num_judged: those that show no known deviation; ``num_verified`` of them agree.
        num_deviating: those that do.
        num_unsupported: those that the engine or the reference does not support.
        num_repeated: draws that gave a case of this run again.
        num_findings: different findings.
        num_rules: rules of the specification that were reached.
        num_pairs: pairs of values of the case space that occurred together.
        seed: None if the file does not have it.
        work: the work of verified merges; without any if the file does not have it.
        seconds: of the whole run. phase_seconds: by phase; empty if the file does not have it.
    """

    name: str
    started: str
    engine: str
    engine_version: str
    num_cases: int
    num_judged: int
    num_verified: int
    num_deviating: int
    num_unsupported: int
    num_repeated: int
    num_findings: int
    num_rules: int
    num_pairs: int
    seconds: float
    phase_seconds: Mapping[str, float]
    seed: int | None = None
    work: WorkCounts = field(default_factory=WorkCounts)

    @property
    def verified_share(self) -> float:
        """Verified cases among those that show no known deviation."""
        return self.num_verified / self.num_judged if self.num_judged else 0.0

    @property
    def cases_a_second(self) -> float:
        """Speed without the time for making findings small, which depends on how many there are."""
        seconds = self.seconds - self.phase_seconds.get("shrink", 0.0)
        return self.num_cases / seconds if seconds > 0 else 0.0

    def share(self, number: int) -> float:
        """Return a number of cases as a share of all."""
        return number / self.num_cases if self.num_cases else 0.0


def figures_of(document: Mapping[str, Any], *, name: str) -> RunFigures:
    """Take the figures from a document of ``fuzz --json``.

    Raises:
        LookupError, TypeError, ValueError: it is none.
    """
    num_cases, num_deviating = whole_number(document["num_cases"]), whole_number(document["deviating"])
    seconds = document.get("phase_seconds", {})
    return RunFigures(
        name=name,
        started=str(document.get("started", "")),
        engine=str(document["engine"]),
        engine_version=str(document.get("engine_version", "")),
        num_cases=num_cases,
        num_judged=num_cases - num_deviating,
        num_verified=whole_number(document["verified"]),
        num_deviating=num_deviating,
        num_unsupported=whole_number(document["counts"]["unsupported"]),
        num_repeated=whole_number(document["num_repeated"]),
        num_findings=len(document["findings"]),
        num_rules=len(document["rules"]),
        num_pairs=len(document["pairs"]),
        seconds=number(document["seconds"]),
        phase_seconds={phase: number(seconds[phase]) for phase in PHASES if phase in seconds},
        seed=document.get("seed"),
        work=work_from_json(document.get("work", {})),
    )


def number(value: object) -> float:
    """Return a number of a document.

    Raises:
        ValueError: it is none, or so large that figures cannot be made of it.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _MOST:
        raise ValueError(f"{value!r:.80} is no number of a run")
    return float(value)


def whole_number(value: object) -> int:
    """Return a number of a document that counts something.

    Raises:
        ValueError: it is none.
    """
    return int(number(value))


def work_from_json(document: Mapping[str, Any]) -> WorkCounts:
    """Take the work of merges from a document of ``fuzz --json``, ``replay --json`` or ``lab matrix --json``.

    Raises:
        AttributeError, ValueError: it has none.
    """
    return WorkCounts(**{each.name: whole_number(document.get(each.name, 0)) for each in fields(WorkCounts)})


def read_figures(path: Path) -> RunFigures:
    """Read a file that ``fuzz --json`` wrote.

    Raises:
        NoFuzzResultError: it is none.
        UserInputError: it cannot be read.
    """
    try:
        return figures_of(json.loads(read_ordinary(path)), name=path.name)
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise NoFuzzResultError(
            f"{path} is no result of fuzz. Write one by: mergecheck fuzz --json > {path.name}"
        ) from error


def read_history(paths: Iterable[Path], *, engine: str) -> tuple[RunFigures, ...]:
    """Read the earlier runs of an engine, the oldest first.

    Args:
        paths: files of ``fuzz --json``, and folders of them. In a folder, files of other commands are passed over.
        engine: what ``--engine`` is; runs of others are left out.

    Raises:
        UserInputError: a file cannot be read, or one that is named is no result of ``fuzz``.
    """
    found: list[RunFigures] = []
    for path in paths:
        if not path.is_dir():
            found.append(read_figures(path))
            continue
        for file in sorted(path.glob("*.json")):
            try:
                found.append(read_figures(file))
            except NoFuzzResultError:
                continue
    return tuple(sorted((one for one in found if one.engine == engine), key=lambda one: one.started))
