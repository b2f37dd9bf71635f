"""The file format of known deviations: TOML tables, read into entries, with one clear message for each mistake."""

from __future__ import annotations

import datetime as dt
import difflib
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.deviations.causes import CAUSES
from mergecheck.harness.deviations.expected import BadDifferenceError, parse_difference
from mergecheck.harness.deviations.patterns import BadPatternError, pattern_of
from mergecheck.harness.deviations.predicates import WORDS, BadPredicateError, parse_predicate
from mergecheck.harness.deviations.registry import Deviation, Deviations
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import load_cases, parse_cases
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mergecheck.model.case import Case

_KEYS = (
    "id",
    "engine",
    "versions",
    "when",
    "difference",
    "message",
    "cause",
    "as_if",
    "reason",
    "link",
    "review",
    "case",
)
_TEXTS = ("id", "engine", "versions", "message", "cause", "as_if", "reason", "link", "case")
_OPTIONAL = frozenset({"message", "cause", "when", "as_if"})
_PACKAGED = "deviations.toml"
_ANY_VERSION = "*"


def load_deviations(paths: Iterable[Path] = (), *, packaged: bool = True) -> Deviations:
    """Read the packaged entries and the entries of the user's files.

    Raises:
        UserInputError: if an entry is malformed; the message names file, entry and key.
    """
    entries: list[Deviation] = []
    if packaged:
        root = resources.files("mergecheck.harness.deviations")
        text = (root / _PACKAGED).read_text(encoding="utf-8")
        folder = root / "cases"
        entries += _parsed(
            text,
            _PACKAGED,
            lambda name: parse_cases((folder / name).read_text(encoding="utf-8"), name=name, lines=False),
        )
    for path in paths:
        try:
            text = read_text(path)
        except CaseFormatError as error:
            raise UserInputError(f"{error} Give a deviations file in TOML.") from error
        entries += _parsed(text, str(path), lambda name, path=path: _harmless_cases(path.parent / name))  # type: ignore[misc]
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise UserInputError(f"deviation {entry.id!r} occurs twice; give every entry an id of its own")
        seen.add(entry.id)
    return Deviations(tuple(entries))


def _harmless_cases(path: Path) -> Sequence[Case]:
    cases = load_cases(path)
    for case in cases:
        require_harmless(case, str(path), advice="An entry needs a case that its own tables suffice for.")
    return cases


def _parsed(text: str, where: str, load: Callable[[str], Sequence[Case]]) -> list[Deviation]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
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
    for key in (key for key in _TEXTS if key in table):
        if not isinstance(table[key], str) or not table[key].strip():
            raise UserInputError(f"{where}: {key} must be a text that is not empty")
    difference, review = table["difference"], table["review"]
    if not isinstance(difference, list) or not difference:
        raise UserInputError(f'{where}: difference must be a list, such as ["rows missing_rows"]')
    if table.get("as_if", next(iter(BUG_MODELS))) not in BUG_MODELS:
        names = "; ".join(BUG_MODELS)
        raise UserInputError(f"{where}: as_if = {table['as_if']!r} is no bug model; known: {names}")
    if table.get("cause", next(iter(CAUSES))) not in CAUSES:
        raise UserInputError(f"{where}: cause = {table['cause']!r} is no cause; known: {'; '.join(CAUSES)}")
    if "cause" in table and "message" not in table:
        raise UserInputError(f"{where}: a cause is of an error: give message, too")
    if not isinstance(review, dt.date) or isinstance(review, dt.datetime):
        raise UserInputError(f"{where}: review must be a date, such as 2027-06-30, without quotes")
    try:
        return Deviation(
            id=table["id"],
            engine=table["engine"],
            versions=None if table["versions"] == _ANY_VERSION else SpecifierSet(table["versions"]),
            when=parse_predicate(_table(table.get("when", {}), where)),
            difference=tuple(map(parse_difference, difference)),
            message=pattern_of(table["message"]) if "message" in table else None,
            cause=CAUSES[table["cause"]] if "cause" in table else None,
            as_if=BUG_MODELS[table["as_if"]] if "as_if" in table else None,
            reason=" ".join(table["reason"].split()),
            link=table["link"],
            review=review,
            case=_only_case(load(table["case"]), where),
        )
    except InvalidSpecifier as error:
        raise UserInputError(
            f"{where}: versions {table['versions']!r} is no range, such as '>=1.6,<1.7' or '*'"
        ) from error
    except BadPatternError as error:
        raise UserInputError(f"{where}: message is no regular expression: {error}") from error
    except BadDifferenceError as error:
        raise UserInputError(f"{where}: {error}") from error
    except BadPredicateError as error:
        word = str(error)
        text = f"unknown word {word!r}{_hint(word, WORDS)}; allowed: {', '.join(WORDS)}" if " " not in word else word
        raise UserInputError(f"{where}: when: {text}") from error
    except (CaseFormatError, OSError) as error:
        raise UserInputError(f"{where}: its case cannot be read: {error}") from error


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
