"""The results of a run's statements, in a file that grows with each result, so that a later run can resume."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from mergecheck.harness.processes.output_files import append
from mergecheck.harness.report.merged_runs import checked_finding, kind_of_finding
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.lab.exhaustive.scope import Scope

_FINDING: Final = "finding"
_NO_NUMBER: Final = 1 << 60


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
        if path is not None and path.exists() and path.stat().st_size:
            entries = read_journal(path)
            require_same(path, entries.header, header)
            self.results, self.findings = dict(entries.results), list(entries.findings)
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
        try:
            append(path, json.dumps(document) + "\n")
        except OSError as error:
            raise UserInputError(f"cannot write {path}: {error}. Choose another file with --journal FILE.") from error


def read_journal(path: Path) -> Entries:
    """Read a journal.

    Raises:
        UserInputError: the file is none, or cannot be read.
    """
    try:
        return parse_journal(read_ordinary(path))
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise UserInputError(
            f"{path} is no journal: {error!r:.200}. Give --journal the name of a new file, or of one that an "
            "earlier run has written."
        ) from error


def parse_journal(text: str) -> Entries:
    """Read the text of a journal.

    Raises:
        LookupError, TypeError, ValueError: it is none.
    """
    first, *rest = map(json.loads, text.splitlines())
    results = [_result(line) for line in rest if _FINDING not in line]
    findings = [checked_finding(line[_FINDING]) for line in rest if _FINDING in line]
    return Entries(Header(**first), {result.number: result for result in results}, tuple(findings))


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


def _result(line: dict[str, Any]) -> StatementResult:
    lists = ("deviations", "findings", "disputes")
    known: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in line.items()}
    return StatementResult(**known)
