"""Findings: one minimal case per fingerprint, kept on disk in the case file's format, never overwritten."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.findings.origin import case_text
from mergecheck.harness.processes import output_files
from mergecheck.harness.processes.start import is_alive
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import dump_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

WORK_DIRECTORY = Path(output_files.OWN_FOLDER)
FINDINGS_DIRECTORY = WORK_DIRECTORY / "findings"
EXAMPLES = "examples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A confirmed mismatch with the smallest case known for it.

    Attributes:
        report: the check of the minimal case; its case carries the finding's id.
        original: the case as it was drawn.
        number: of the drawn case in the stream of the seed; None if it was drawn in another way.
        num_cases: cases checked until it was found, this one included.
        num_runs: executions that shrinking took; seconds: the time.
        cut_short: whether a limit ended shrinking before nothing smaller was left to try.
        hypotheses: the explanations of the engine's result, such as ``as if NULL counted as TRUE in clause 1``.
    """

    fingerprint: Fingerprint
    report: CaseReport
    original: Case
    seed: int
    num_cases: int
    num_runs: int
    seconds: float
    cut_short: bool
    number: int | None = None
    hypotheses: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The finding's short id."""
        return self.report.case.id


class FindingsDirectory:
    """The folder of findings.

    Cases set aside lie in its sub-folders: ``crashed``, ``flaky``, ``engine_error``, ``harness_bug``; other forms of a
    finding, which its hypothesis explains too, lie in ``examples``.
    """

    def __init__(self, root: Path = FINDINGS_DIRECTORY) -> None:
        self.root = root

    def save(self, case: Case, report_text: str, origin: Origin | None = None) -> Path:
        """Write a case, with where it comes from, and the text of its report beside it; an existing file is kept.

        Raises:
            UserInputError: if the folder cannot be written.
        """
        return self._write(self.root, case, report_text, origin)

    def set_aside(self, kind: str, case: Case, report_text: str) -> Path:
        """Write a case that is no finding into the sub-folder of its kind.

        Raises:
            UserInputError: if the folder cannot be written.
        """
        return self._write(self.root / kind, case, report_text, None)

    def path_of(self, finding_id: str) -> Path:
        """Return the path of the finding with this id, None if there is none."""
        return self.root / f"{finding_id}.json"

    def path_of_example(self, case_id: str) -> Path:
        """Return the path of another form of a finding."""
        return self.root / EXAMPLES / f"{case_id}.json"

    def _write(self, folder: Path, case: Case, report_text: str, origin: Origin | None) -> Path:
        path = folder / f"{case.id}.json"
        try:
            _write_new(path, case_text(case, origin))
            _write_new(folder / f"{case.id}.report.txt", report_text + "\n")
        except OSError as error:
            raise UserInputError(
                f"cannot write findings to {folder}: {error}. Choose another folder with --findings DIR."
            ) from error
        return path


class RunningCase:
    """The case under way, on disk before it runs, so that a lost process leaves its case behind.

    One file per process and job: several runs may share a folder, and a run may check several cases at once.
    """

    def __init__(self, work_directory: Path = WORK_DIRECTORY, *, job: int = 0) -> None:
        self._folder = work_directory / "running"
        self._path = self._folder / (f"{os.getpid()}-{job}.json" if job else f"{os.getpid()}.json")
        self._is_written = False

    @contextlib.contextmanager
    def under_way(self, case: Case) -> Iterator[None]:
        """Keep a case on disk while the block runs; whatever ends the block, the process still lives.

        Raises:
            UserInputError: if the folder cannot be written.
        """
        self.write(case)
        try:
            yield
        finally:
            self.clear()

    def write(self, case: Case) -> None:
        """Put a case on disk in place of the one before.

        Raises:
            UserInputError: if the folder cannot be written.
        """
        try:
            output_files.write_text(self._path, dump_case(case), parents=True)
            self._is_written = True
        except OSError as error:
            raise UserInputError(
                f"cannot write the case under way to {self._folder}: {error}. Run mergecheck in a folder you can write."
            ) from error

    def clear(self) -> None:
        """Forget the case under way: it came to its end."""
        if self._is_written:
            forget(self._path)
            self._is_written = False

    def clear_of(self, pid: int) -> None:
        """Discard the unfinished cases of a process that has ended.

        Raises:
            UserInputError: if a file cannot be removed.
        """
        for path in self.of_process(pid):
            forget(path)

    def of_process(self, pid: int) -> tuple[Path, ...]:
        """Return the cases that a process has under way, or left behind: a case that is being prepared is one."""
        return tuple(sorted([*self._folder.glob(f"{pid}.json"), *self._folder.glob(f"{pid}-*.json")]))

    def leftovers(self) -> Iterator[Path]:
        """Yield the cases that processes left which live no more."""
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json")):
            process = path.stem.partition("-")[0]
            if process.isdigit() and (int(process) == os.getpid() or not is_alive(int(process))):
                yield path


def forget(path: Path) -> None:
    """Remove a file of this folder, if it is there.

    Raises:
        UserInputError: if it cannot be removed.
    """
    try:
        output_files.remove(path, missing_ok=True)
    except OSError as error:
        raise UserInputError(f"cannot remove {path}: {error}.") from error


def _write_new(path: Path, text: str) -> None:
    with contextlib.suppress(FileExistsError):
        output_files.create(path, text, parents=True)
