"""The results of a run's statements, in a file to which each is added as it comes, so that a later run goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.processes.output_files import append
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    """What became of one statement on all its pairs of tables.

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
    """What a journal is about; another run adds to it only if all of this is the same."""

    scope: str
    digest: str
    engine: str
    engine_version: str
    mergecheck: str


class Journal:
    """A file of results.

    Args:
        path: the file; None keeps results in memory.
        header: what this run is about.

    Raises:
        UserInputError: the file is there and is no journal of such a run, or it cannot be read.
    """

    def __init__(self, path: Path | None, header: Header) -> None:
        self._path = path
        self._header = header
        self.results: dict[int, StatementResult] = {}
        if path is not None and path.exists() and path.stat().st_size:
            self._read(path)
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

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            first, *rest = map(json.loads, lines)
            found = [_result(line) for line in rest]
        except (OSError, ValueError, TypeError) as error:
            raise UserInputError(
                f"{path} is no journal: {error!r:.200}. Give --journal the name of a new file, or of one that an "
                "earlier run has written."
            ) from error
        if first != asdict(self._header):
            differ = ", ".join(
                f"{name} {first.get(name)!r} and not {value!r}"
                for name, value in asdict(self._header).items()
                if first.get(name) != value
            )
            raise UserInputError(f"{path} is the journal of another run: {differ}. Give --journal another file.")
        self.results = {result.number: result for result in found}

    def _append(self, path: Path, document: dict[str, Any]) -> None:
        try:
            append(path, json.dumps(document) + "\n")
        except OSError as error:
            raise UserInputError(f"cannot write {path}: {error}. Choose another file with --journal FILE.") from error


def _result(line: dict[str, Any]) -> StatementResult:
    lists = ("deviations", "findings", "disputes")
    known: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in line.items()}
    return StatementResult(**known)
