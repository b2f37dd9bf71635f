"""A finding as a reviewed test of a project: its case file, and a pytest module that runs every such file."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.findings.origin import case_text
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.properties.merge_text import words_of
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import Expectation
from mergecheck.model.case_id import content_digest
from mergecheck.model.outcome import Prediction
from mergecheck.model.text_file import read_ordinary
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mergecheck.harness.findings.corpus import SavedCase
    from mergecheck.model.case import Case

CASES_FOLDER = "cases"
TEST_MODULE = "test_merge_cases.py"
FIXTURE = "mergecheck_check"
_TEST = f'''"""Merges that once came out wrong: every case in {CASES_FOLDER}/ must come out as the reference says.

Choose the engine with --mergecheck-engine NAME.
"""

from pathlib import Path

import pytest

CASES = sorted((Path(__file__).parent / "{CASES_FOLDER}").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_merge_case(path, {FIXTURE}):
    {FIXTURE}(path)
'''
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
# Functions whose values another run does not have.
_UNSTEADY = frozenset({"uuid", "rand", "random", "randn", "now", "current_timestamp", "current_date", "localtimestamp"})


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """A file to write.

    Attributes:
        is_there: whether it is there already, with this content or, of the test module, with another that does the
            same.
    """

    path: Path
    text: str
    is_there: bool


def adopted(saved: SavedCase, folder: Path, name: str | None) -> tuple[ProposedFile, ProposedFile]:
    """Propose the two files that make a saved case a test of a project: the case and the module that runs it.

    Args:
        saved: the case; its origin is kept.
        folder: of the tests.
        name: of the case; None for one made of its difference and its id.

    Raises:
        UserInputError: the name cannot be a file's, or a file is there with other content.
    """
    if name is None:
        name = default_name(saved)
    elif not _NAME.fullmatch(name):
        raise UserInputError(
            f"{name!r:.120} cannot be the name of a case: use letters, digits, hyphens, underscores and points, "
            "at most 100, and begin with a letter or digit"
        )
    case = replace(saved.case, id=name)
    if case.expect is None and (rows := _expected(case)) is not None:
        case = replace(case, expect=rows)
    return _case_file(folder / CASES_FOLDER / f"{name}.json", case_text(case, saved.origin)), _test(folder)


def default_name(saved: SavedCase) -> str:
    """Name a case by its difference and its id."""
    found = saved.origin.fingerprint if saved.origin is not None else None
    words = [found.check.value, found.kind] if found is not None else ["case"]
    plain = saved.case.id if _NAME.fullmatch(saved.case.id) else content_digest(saved.case)[:6]
    name = _NO_NAME.sub("-", "-".join([*words, plain]).replace("_", "-")).strip("-.")
    return name if _NAME.fullmatch(name) else f"case-{content_digest(saved.case)[:6]}"


def write(files: Iterable[ProposedFile]) -> None:
    """Write the files that are not there; none is overwritten.

    Raises:
        UserInputError: a file cannot be written.
    """
    for file in files:
        if file.is_there:
            continue
        try:
            create(file.path, file.text, parents=True)
        except OSError as error:
            raise UserInputError(f"cannot write {file.path}: {error}. Give --into another folder.") from error


def patch(files: Iterable[ProposedFile]) -> str:
    """Write the files that are not there as a patch that ``git apply`` takes in the current folder.

    Raises:
        UserInputError: a file lies outside the current folder.
    """
    parts: list[str] = []
    for file in files:
        if file.is_there:
            continue
        path = os.path.relpath(file.path)
        if path.startswith(".."):
            raise UserInputError(f"--diff writes a patch for the current folder, and {file.path} is not in it")
        place = json.dumps(f"b/{path}", ensure_ascii=False) if _NO_NAME.search(path.replace("/", "")) else f"b/{path}"
        before = place.replace("b/", "a/", 1)
        lines = file.text.removesuffix("\n").split("\n")
        parts += [f"diff --git {before} {place}", "new file mode 100644", "--- /dev/null", f"+++ {place}"]
        parts += [f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]
    return "\n".join(parts)


def _case_file(path: Path, text: str) -> ProposedFile:
    there = _content(path)
    if there not in (None, text):
        raise UserInputError(f"{path} is there with other content. Give the case another name with --name NAME.")
    return ProposedFile(path, text, is_there=there is not None)


def _test(folder: Path) -> ProposedFile:
    """Propose the module; one that its owner has changed stays as it is if it still uses the plugin's fixture."""
    path = folder / TEST_MODULE
    there = _content(path)
    if there is not None and FIXTURE not in there:
        raise UserInputError(
            f"{path} is there and does not use the fixture {FIXTURE}. Give --into another folder, or rename the file."
        )
    return ProposedFile(path, _TEST, is_there=there is not None)


def _content(path: Path) -> str | None:
    try:
        return read_ordinary(path) if path.exists() or path.is_symlink() else None
    except (OSError, ValueError) as error:
        raise UserInputError(f"{path} is there and cannot be read: {error}") from error


def _expected(case: Case) -> Expectation | None:
    """Describe the expected table for a reviewer of the case; None if the reference alone cannot decide."""
    if _UNSTEADY & words_of(case.sql):
        return None
    reference = MergeReference().evaluate(case)
    answer = reference.answer
    if not isinstance(answer, Prediction) or reference.alternative is not None:
        return None
    schema = None if answer.schema == case.target.schema else answer.schema
    return Expectation(rows=answer.rows, schema=schema)
