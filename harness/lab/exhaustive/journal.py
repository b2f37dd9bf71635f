"""The results of a run's statements, in a file that grows with each result, so that a later run can resume."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from mergecheck.harness.processes.output_files import append, write_text
from mergecheck.harness.report.merged_runs import checked_finding, kind_of_finding
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.json_shape import require_object
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.lab.exhaustive.scope import Scope

_FINDING: Final = "finding"
_LISTS: Final = ("deviations", "findings", "disputes")
_COUNTS: Final = ("merges", "reasons", "paths")
_NO_NUMBER: Final = 1 << 60
_ADVICE: Final = "Give --journal the name of a new file, or of one that an earlier run has written."
DEVIATES, DISPUTE, ORACLES = "deviates", "dispute", "oracles"
MERGE_WORDS: Final = frozenset({*(verdict.value for verdict in Verdict), DEVIATES, DISPUTE, ORACLES})
"""What a statement's merges are counted by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    """The results of one statement on all its pairs of tables.

    Attributes:
        merges: pairs of tables by verdict, by the value of ``Verdict``; ``deviates`` for a known deviation, ``dispute``
            if oracles differ, ``oracles`` for ambiguous pairs that only the oracles judge.
        lists: pairs of lists of rows for which the pairs stand.
        reasons: why the verdict is unsupported, judged in part or an engine error.
        deviations: ids of known deviations.
        findings: ids of findings.
        paths: merges by the path of R-402.
    """

    number: int
    sql: str
    tables: str
    merges: Mapping[str, int] = field(default_factory=dict)
    lists: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()
    paths: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_merges(self) -> int:
        """All its merges."""
        return sum(self.merges.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The subject of a journal; another run adds to it only if all of this is the same."""

    scope: str
    digest: str
    engine: str
    engine_version: str
    mergecheck: str


@dataclass(frozen=True, slots=True)
class Entries:
    """The content of a journal.

    Attributes:
        results: by the number of the statement.
        findings: as ``fuzz --json`` writes them.
    """

    header: Header
    results: Mapping[int, StatementResult]
    findings: tuple[Mapping[str, Any], ...] = ()


class Journal:
    """A file of results.

    Args:
        path: the file; None keeps results in memory.
        header: the subject of this run.

    Raises:
        UserInputError: the file is there and is no journal of such a run, or it cannot be read.
    """

    def __init__(self, path: Path | None, header: Header) -> None:
        self._path = path
        self.header = header
        self.results: dict[int, StatementResult] = {}
        self.findings: list[Mapping[str, Any]] = []
        if path is not None and has_content(path):
            text = _read(path)
            whole = _whole_lines(text)
            entries = _parsed(path, whole)
            require_same(path, entries.header, header)
            self.results, self.findings = dict(entries.results), list(entries.findings)
            if whole != text:  # what is added next needs a line of its own
                self._write(path, whole)
        elif path is not None:
            self._append(path, asdict(header))

    def add(self, result: StatementResult) -> None:
        """Keep a result.

        Raises:
            UserInputError: the file cannot be written.
        """
        self.results[result.number] = result
        if self._path is not None:
            self._append(self._path, asdict(result))

    def add_finding(self, finding: Mapping[str, Any]) -> None:
        """Keep a finding, as ``fuzz --json`` writes it.

        Raises:
            UserInputError: the file cannot be written.
        """
        self.findings.append(finding)
        if self._path is not None:
            self._append(self._path, {_FINDING: finding})

    def merged(self) -> Entries:
        """Return the content of the journal, with one case for each finding."""
        return merge_journals([Entries(self.header, self.results, tuple(self.findings))])

    def _append(self, path: Path, document: Mapping[str, Any]) -> None:
        self._write(path, json.dumps(document) + "\n", write=append)

    def _write(self, path: Path, text: str, write: Callable[[Path, str], None] = write_text) -> None:
        try:
            write(path, text)
        except OSError as error:
            raise UserInputError(f"cannot write {path}: {error}. Choose another file with --journal FILE.") from error


def has_content(path: Path) -> bool:
    """Return whether a file is there and has a text; what cannot be looked at cannot be written either."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def read_journal(path: Path) -> Entries:
    """Read a journal.

    Raises:
        UserInputError: the file is none, or cannot be read.
    """
    return _parsed(path, _whole_lines(_read(path)))


def parse_journal(text: str) -> Entries:
    """Read the text of a journal.

    Raises:
        CaseFormatError: it is none; the message has the number of the line.
    """
    documents = [_document(line, f"line {number}") for number, line in enumerate(text.splitlines(), start=1)]
    if not documents:
        raise CaseFormatError("it is empty")
    header = _header(documents[0])
    results, findings = {}, []
    for number, document in enumerate(documents[1:], start=2):
        if isinstance(document, dict) and _FINDING in document:
            findings.append(_finding(document[_FINDING], f"line {number}"))
        else:
            result = _result(document, f"line {number}")
            results[result.number] = result
    return Entries(header, results, tuple(findings))


def _read(path: Path) -> str:
    try:
        return read_ordinary(path)
    except (OSError, ValueError) as error:
        raise UserInputError(f"cannot read the journal {path}: {error}. {_ADVICE}") from error


def _parsed(path: Path, text: str) -> Entries:
    try:
        return parse_journal(text)
    except CaseFormatError as error:
        raise UserInputError(f"{path} is no journal: {error}. {_ADVICE}") from error


def _whole_lines(text: str) -> str:
    """Return a journal without a last line that was cut: the run ended, or the disk was full, while it was written."""
    end = text.rfind("\n") + 1
    last = text[end:]
    if not last:
        return text
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return text[:end] or text  # a header that was cut is no header
    return text + "\n"


def journal_text(entries: Entries) -> str:
    """Write a whole journal."""
    lines = [asdict(entries.header), *map(asdict, entries.results.values())]
    return "".join(json.dumps(line) + "\n" for line in [*lines, *({_FINDING: one} for one in entries.findings)])


def require_same(path: Path, found: Header, wanted: Header) -> None:
    """Check that a journal is about a run.

    Raises:
        UserInputError: it is about another one.
    """
    if found != wanted:
        differ = ", ".join(
            f"{each.name} {getattr(found, each.name)!r} and not {getattr(wanted, each.name)!r}"
            for each in fields(Header)
            if getattr(found, each.name) != getattr(wanted, each.name)
        )
        raise UserInputError(f"{path} is the journal of another run: {differ}. Give --journal another file.")


def require_scope(header: Header, scope: Scope) -> None:
    """Check that a journal is about a scope.

    Raises:
        UserInputError: it is about another one.
    """
    if scope.digest != header.digest:
        raise UserInputError(
            f"the journal is of another scope {header.scope!r} than {scope.name!r} is now. Give --scope what its run "
            "had, and use the version of mergecheck that it had."
        )


def merge_journals(journals: Sequence[Entries]) -> Entries:
    """Put the results of several machines together; each finding gets the case with the lowest number.

    A statement that several have is taken from the first of them.

    Args:
        journals: of one run, in the order of their ranges.
    """
    results: dict[int, StatementResult] = {}
    lowest: dict[str, tuple[int, str, Mapping[str, Any]]] = {}
    kinds: dict[str, str] = {}
    for journal in journals:
        for finding in journal.findings:
            name, kind = str(finding["id"]), kind_of_finding(finding)
            kinds[name] = kind
            numbers = [number for number, result in journal.results.items() if name in result.findings]
            found = (min(numbers, default=_NO_NUMBER), name, finding)
            lowest[kind] = min(lowest.get(kind, found), found, key=lambda one: one[:2])
        for number, result in journal.results.items():
            results.setdefault(number, result)
    renamed = {
        number: replace(
            result, findings=tuple(sorted({lowest[kinds[one]][1] if one in kinds else one for one in result.findings}))
        )
        for number, result in sorted(results.items())
    }
    return Entries(journals[0].header, renamed, tuple(finding for _, _, finding in lowest.values()))


def _document(line: str, where: str) -> Any:  # noqa: ANN401 - parsed JSON
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CaseFormatError(f"{where} is no JSON: {error}") from error


def _header(document: object) -> Header:
    names = tuple(each.name for each in fields(Header))
    given = require_object(document, names, names, "line 1")
    for name in names:
        _require(given, name, isinstance(given[name], str), "a text", "line 1")
    return Header(**given)


def _finding(document: object, where: str) -> Mapping[str, Any]:
    try:
        return checked_finding(document)
    except (ValueError, TypeError, LookupError) as error:
        raise CaseFormatError(f"{where}, {_FINDING}: it is none of those that a run saves ({error!r:.80})") from error


def _result(document: object, where: str) -> StatementResult:
    names = tuple(each.name for each in fields(StatementResult))
    given = require_object(document, names, ("number", "sql", "tables"), where)
    for name in ("number", "lists"):
        _require(given, name, name not in given or _is_count(given[name]), "a whole number from 0", where)
    for name in ("sql", "tables"):
        _require(given, name, isinstance(given[name], str), "a text", where)
    for name in _COUNTS:
        counts = given.get(name, {})
        is_right = isinstance(counts, dict) and all(map(_is_count, counts.values()))
        _require(given, name, is_right, "an object of whole numbers from 0", where)
    for name in _LISTS:
        texts = given.get(name, [])
        is_right = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        _require(given, name, is_right, "a list of texts", where)
    for name in given.get("merges", {}):
        _require(given, "merges", name in MERGE_WORDS, f"counts of {', '.join(sorted(MERGE_WORDS))}", where)
    known: dict[str, Any] = {name: tuple(value) if name in _LISTS else value for name, value in given.items()}
    return StatementResult(**known)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _require(given: Mapping[str, Any], name: str, is_right: bool, allowed: str, where: str) -> None:  # noqa: FBT001 - a check
    if not is_right:
        raise CaseFormatError(f"{where}, {name}: must be {allowed}, given {given[name]!r:.80}")
