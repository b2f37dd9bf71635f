"""Known deviations of engines, as data: which cases, which difference, why, and until when it was looked at.

An entry explains a mismatch only where its engine, its versions and its predicate fit and where every difference of the
case is one that some fitting entry names. Anything else stays a finding.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources
from typing import TYPE_CHECKING, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from harness.case_predicates import WORDS, BadPredicateError, Predicate, parse_predicate
from harness.errors import ExitCode, MergecheckError, UserInputError
from harness.verdict import Verdict
from reference.case_file import load_cases, parse_cases
from reference.errors import CaseFormatError
from reference.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from harness.engine import Engine
    from harness.verdict import CaseReport, Mismatch
    from reference.case import Case

_KEYS = ("id", "engine", "versions", "when", "difference", "message", "reason", "link", "review", "case")
_OPTIONAL = frozenset({"message", "when"})
_PACKAGED = "deviations.toml"


class StaleDeviationError(MergecheckError):
    """An entry does not describe its engine any more; the message says which and what to do."""

    exit_code = ExitCode.MISMATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One entry.

    Attributes:
        when: which cases it is about.
        difference: the mismatches it explains, each ``check kind``; ``*`` and ``?`` match as in file names.
        message: must be found in the engine's error, or in the lines of one of the mismatches; None for any.
        review: the day by which somebody should look at the entry again.
        case: a case that shows the deviation.
    """

    id: str
    engine: str
    versions: SpecifierSet
    when: Predicate
    difference: tuple[str, ...]
    message: re.Pattern[str] | None
    reason: str
    link: str
    review: dt.date
    case: Case

    def is_about(self, engine: str, version: str) -> bool:
        """Tell whether the entry speaks of this release."""
        try:
            parsed = Version(version)
        except InvalidVersion:
            return False
        return self.engine == engine and self.versions.contains(parsed, prereleases=True)

    def fits(self, report: CaseReport) -> bool:
        """Tell whether the entry speaks of this engine and of cases like this one."""
        if not self.is_about(report.engine, report.engine_version) or not self.when.holds(report):
            return False
        return self.message is None or any(self.message.search(text) for text in _texts(report))

    def names(self, mismatch: Mismatch) -> bool:
        """Tell whether the entry expects this difference."""
        return any(fnmatchcase(f"{mismatch.check.value} {mismatch.kind}", wanted) for wanted in self.difference)


@dataclass(frozen=True, slots=True)
class Deviations:
    """All entries that a run knows."""

    entries: tuple[Deviation, ...] = ()

    def explain(self, report: CaseReport) -> tuple[Deviation, ...]:
        """Return the entries that together explain every difference of a mismatch; none where one is left over."""
        if report.verdict is not Verdict.MISMATCH:
            return ()
        fitting = [entry for entry in self.entries if entry.fits(report)]
        if not all(any(entry.names(mismatch) for entry in fitting) for mismatch in report.mismatches):
            return ()
        return tuple(entry for entry in fitting if any(map(entry.names, report.mismatches)))

    def annotated(self, report: CaseReport) -> CaseReport:
        """Return the report with the ids of the entries that explain it."""
        found = self.explain(report)
        return replace(report, deviations=tuple(entry.id for entry in found)) if found else report

    def of(self, engine: Engine) -> tuple[Deviation, ...]:
        """Return the entries about an engine."""
        return tuple(entry for entry in self.entries if entry.is_about(engine.name, engine.version))

    def check_examples(self, engine: Engine, check: Callable[[Case, Engine], CaseReport]) -> None:
        """Require that every entry about an engine still describes it.

        Raises:
            StaleDeviationError: where the case of an entry agrees by now, or differs in another way.
        """
        for entry in self.of(engine):
            report = check(entry.case, engine)
            if entry not in Deviations((entry,)).explain(report):
                found = ", ".join(f"{m.check.value} {m.kind}" for m in report.mismatches) or report.reason
                raise StaleDeviationError(
                    f"deviation {entry.id!r} no longer describes {engine.name} {engine.version}: its case must differ "
                    f"in {', '.join(entry.difference)}, but its verdict is {report.verdict.value} ({found}). "
                    "Narrow the entry's versions, mend it, or take it out."
                )

    def due(self, engine: Engine, today: dt.date) -> tuple[Deviation, ...]:
        """Return the entries about an engine whose review date has passed."""
        return tuple(entry for entry in self.of(engine) if entry.review < today)

    def reason(self, deviation_id: str) -> str:
        """Return why an entry is there."""
        return next((entry.reason for entry in self.entries if entry.id == deviation_id), "")


def load_deviations(paths: Iterable[Path] = (), *, packaged: bool = True) -> Deviations:
    """Read the packaged entries and those of the user's files.

    Raises:
        UserInputError: for anything that is not exactly an entry; the message names file, entry and key.
    """
    entries: list[Deviation] = []
    if packaged:
        root = resources.files("harness")
        text = (root / _PACKAGED).read_text(encoding="utf-8")
        folder = root / "deviation_cases"
        entries += _parsed(
            text,
            _PACKAGED,
            lambda name: parse_cases((folder / name).read_text(encoding="utf-8"), name=name, lines=False),
        )
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserInputError(f"{path} cannot be read: {error}. Give a deviations file in TOML.") from error
        entries += _parsed(text, str(path), lambda name, path=path: load_cases(path.parent / name))  # type: ignore[misc]
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise UserInputError(f"deviation {entry.id!r} stands twice; give every entry an id of its own")
        seen.add(entry.id)
    return Deviations(tuple(entries))


def _parsed(text: str, where: str, load: Callable[[str], Sequence[Case]]) -> list[Deviation]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserInputError(f"{where} is no TOML: {error}") from error
    unknown = set(document) - {"deviation"}
    tables = document.get("deviation", [])
    if unknown or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserInputError(f"{where} must hold [[deviation]] entries and nothing else, but has {sorted(document)}")
    return [
        _entry(table, f"{where}, deviation {table.get('id', number)!r}", load) for number, table in enumerate(tables)
    ]


def _entry(table: dict[str, Any], where: str, load: Callable[[str], Sequence[Case]]) -> Deviation:
    for key in table:
        if key not in _KEYS:
            raise UserInputError(f"{where}: unknown key {key!r}{_hint(key, _KEYS)}; allowed: {', '.join(_KEYS)}")
    missing = [key for key in _KEYS if key not in table and key not in _OPTIONAL]
    if missing:
        raise UserInputError(f"{where}: lacks {', '.join(missing)}")
    for key in ("id", "engine", "versions", "reason", "link", "case", *(["message"] if "message" in table else [])):
        if not isinstance(table[key], str) or not table[key].strip():
            raise UserInputError(f"{where}: {key} must be a text that is not empty")
    difference, review = table["difference"], table["review"]
    if not isinstance(difference, list) or not difference or not all(_is_difference(one) for one in difference):
        raise UserInputError(f'{where}: difference must be a list of "check kind", such as ["rows missing_rows"]')
    if not isinstance(review, dt.date) or isinstance(review, dt.datetime):
        raise UserInputError(f"{where}: review must be a date, such as 2027-06-30, without quotes")
    try:
        return Deviation(
            id=table["id"],
            engine=table["engine"],
            versions=SpecifierSet(table["versions"]),
            when=parse_predicate(_table(table.get("when", {}), where)),
            difference=tuple(difference),
            message=re.compile(table["message"]) if "message" in table else None,
            reason=" ".join(table["reason"].split()),
            link=table["link"],
            review=review,
            case=_only_case(load(table["case"]), where),
        )
    except InvalidSpecifier as error:
        raise UserInputError(f"{where}: versions {table['versions']!r} is no range, such as '>=1.6,<1.7'") from error
    except re.error as error:
        raise UserInputError(f"{where}: message is no regular expression: {error}") from error
    except BadPredicateError as error:
        word = str(error)
        text = f"unknown word {word!r}{_hint(word, WORDS)}; allowed: {', '.join(WORDS)}" if " " not in word else word
        raise UserInputError(f"{where}: when: {text}") from error
    except (CaseFormatError, OSError) as error:
        raise UserInputError(f"{where}: its case cannot be read: {error}") from error


def _is_difference(one: Any) -> bool:  # noqa: ANN401 - any TOML value
    return isinstance(one, str) and len(one.split()) == 2  # noqa: PLR2004 - check and kind


def _table(value: Any, where: str) -> dict[str, Any]:  # noqa: ANN401 - any TOML value
    if not isinstance(value, dict):
        raise UserInputError(f"{where}: when must be a table of words, such as when = {{ partitioned = true }}")
    return value


def _only_case(cases: Sequence[Case], where: str) -> Case:
    if len(cases) != 1:
        raise UserInputError(f"{where}: its case file must hold one case, but holds {len(cases)}")
    return cases[0]


def _hint(given: str, allowed: Iterable[str]) -> str:
    close = difflib.get_close_matches(given, list(allowed), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _texts(report: CaseReport) -> list[str]:
    lines = [line for mismatch in report.mismatches for line in mismatch.lines]
    if isinstance(report.result, Rejection):
        lines.append(f"{report.result.error_class} {report.result.message}")
    return lines
