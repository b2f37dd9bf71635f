"""What `matrix`, `fuzz` and `run` wrote with ``--json``, read back as the answers of releases of engines."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.model.case import Case

_ANSWERS = {"both_rejected": Answer.AGREE, "judged_in_part": Answer.UNSUPPORTED, "engine_error": Answer.ERROR}
_ANSWERS |= {answer.value: answer for answer in Answer}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDifference:
    """One way in which a release differed.

    Attributes:
        what: the known deviations, or the fingerprint.
        deviations: ids of the known deviations that explain it; empty if nothing does.
        num_cases: cases that showed it. features: the same by feature.
        lines: the difference by check, for a person.
        case: a minimal case. path: the file that it was saved to; empty if the document names none.
    """

    what: str
    num_cases: int
    deviations: tuple[str, ...] = ()
    features: Counter[str] = field(default_factory=Counter)
    lines: tuple[tuple[str, tuple[str, ...]], ...] = ()
    case: Case | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The results of one run for one release of an engine.

    Attributes:
        file: where it was read. cases: the checked cases, in words; the same words mean the same cases.
        totals: answers over all cases. features: the same by feature; empty if the run did not count them.
        unsupported: cases by reason.
        down: why the engine ended before the cases did; empty if it did not.
    """

    file: str
    cases: str
    engine: str
    version: str
    totals: Counter[Answer]
    features: dict[str, Counter[Answer]]
    unsupported: Counter[str]
    differences: tuple[StoredDifference, ...]
    down: str = ""


def read_runs(path: Path) -> tuple[StoredRun, ...]:
    """Read a stored run; a run of several engines gives one value for each.

    Raises:
        UserInputError: the file cannot be read, or is no such document.
    """
    try:
        document = json.loads(read_ordinary(path))
        runs = tuple(_runs(str(path), document))
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CaseFormatError) as error:
        raise _refused(path) from error
    if not runs:
        raise _refused(path)
    return runs


def _refused(path: Path) -> UserInputError:
    return UserInputError(
        f"{path} is no run that a scoreboard can read. Write one by: mergecheck lab matrix --json > {path.name} "
        "(fuzz and run have --json, too)."
    )


def _runs(file: str, document: dict[str, Any]) -> Iterator[StoredRun]:
    if "engines" in document and "seed" in document:
        off = ", ".join(map(str, document.get("features_off", ())))
        cases = f"matrix, seed {int(document['seed'])}" + (f", without {off}" if off else "")
        for one in document["engines"]:
            yield _counted(file, cases, one, engine=one["engine"], version=one["version"], totals=one["totals"])
    elif "seed" in document:
        totals = {**document["counts"], Answer.DEVIATES.value: document["deviating"]}
        name, version = document["engine_name"], document["engine_version"]
        yield _counted(
            file, f"fuzz, seed {int(document['seed'])}", document, engine=name, version=version, totals=totals
        )
    else:
        for one in document.get("engines", [document]):
            yield _single(file, one)


def _counted(
    file: str, cases: str, document: dict[str, Any], *, engine: str, version: str, totals: dict[str, Any]
) -> StoredRun:
    return StoredRun(
        file=file,
        cases=cases,
        engine=str(engine),
        version=str(version),
        totals=_answers(totals),
        features={str(name): _answers(counts) for name, counts in document.get("features", {}).items()},
        unsupported=_numbers(document["unsupported"]),
        differences=tuple(_differences(document)),
        down=str(document.get("down") or ""),
    )


def _differences(document: dict[str, Any]) -> Iterator[StoredDifference]:
    """Read the stored differences: a matrix keeps every difference, ``fuzz`` keeps only counts of known deviations."""
    for one in document.get("differences", []) + document.get("findings", []):
        yield _difference(one)
    for name, number in document.get("deviations", {}).items():
        yield StoredDifference(what=str(name), num_cases=int(number), deviations=(str(name),))


def _single(file: str, document: dict[str, Any]) -> StoredRun:
    deviations = tuple(map(str, document.get("deviation", ())))
    answer = Answer.DEVIATES if deviations else _ANSWERS[document["verdict"]]
    checks = ", ".join(f"{one['check']} {one['kind']}" for one in document["mismatches"])
    found = StoredDifference(
        what=", ".join(deviations) or checks, num_cases=1, deviations=deviations, lines=_lines(document)
    )
    reason = [str(document["reason"])] if answer is Answer.UNSUPPORTED and document.get("reason") else []
    return StoredRun(
        file=file,
        cases=f"run, case {document['id']}",
        engine=str(document["engine"]),
        version=str(document["engine_version"]),
        totals=Counter([answer]),
        features={},
        unsupported=Counter(reason),
        differences=(found,) if document["mismatches"] else (),
    )


def _difference(document: dict[str, Any]) -> StoredDifference:
    case = document.get("case_file")
    return StoredDifference(
        what=str(document["what"] if "what" in document else document["fingerprint"]),
        num_cases=int(document["num_cases"]),
        deviations=tuple(map(str, document.get("deviation", ()))),
        features=_numbers(document.get("features", {})),
        lines=_lines(document),
        case=None if case is None else case_from_json(case, where="case_file"),
        path=str(document.get("path") or ""),
    )


def _lines(document: dict[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = [(str(one["check"]), tuple(map(str, one["lines"]))) for one in document.get("mismatches", ())]
    return tuple(found)


def _answers(counts: dict[str, Any]) -> Counter[Answer]:
    found = Counter[Answer]()
    for name, number in counts.items():
        found[_ANSWERS[name]] += int(number)
    return found


def _numbers(counts: dict[str, Any]) -> Counter[str]:
    return Counter({str(name): int(number) for name, number in counts.items()})
