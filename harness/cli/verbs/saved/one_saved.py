"""The one saved case that a verb takes, with where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.findings.corpus import find_case_file, read_saved
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.findings.corpus import SavedCase
    from mergecheck.harness.findings.store import FindingsDirectory


def one_saved(name: str, case_id: str | None, *, findings: FindingsDirectory, verb: str) -> SavedCase:
    """Load the one case of a file.

    Args:
        name: a case file, or the id of a finding.
        case_id: which case to take, if the file holds several.
        findings: where ids are looked up.
        verb: for messages.

    Raises:
        UserInputError: there is no such file, or it holds another number of cases.
        CaseFormatError: the file is no case file.
    """
    path = find_case_file(name, findings=findings)
    found = read_saved(path)
    if case_id is not None:
        found = tuple(saved for saved in found if saved.case.id == case_id)
    if len(found) != 1:
        what = f"{len(found)} cases" if case_id is None else f"{len(found)} cases with the id {case_id!r}"
        raise UserInputError(f"{path} holds {what}, {verb} takes one: choose it with --id ID")
    return found[0]


def write_case(path: Path, text: str) -> None:
    """Write a file that a user names; a file with other content is not overwritten.

    Raises:
        UserInputError: it is there with other content, or cannot be written.
    """
    try:
        if path.exists():
            if path.is_file() and read_ordinary(path) == text:
                return
            raise UserInputError(f"{path} is there with other content. Give another file, or remove it.")
        create(path, text, parents=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UserInputError(f"cannot write {path}: {error}. Give another file.") from error
