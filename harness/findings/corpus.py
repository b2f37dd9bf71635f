"""Saved cases: files, folders and finding ids turned into cases, with every unreadable one named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.findings.origin import origin_in
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json, parse_document
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.findings.origin import Origin
    from mergecheck.model.case import Case

SUFFIXES = (".json", ".jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCase:
    """A case and the file it came from.

    Attributes:
        origin: where the case comes from, if the file has an origin.
    """

    case: Case
    path: Path
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The case files found under some paths.

    Attributes:
        unreadable: one message per case that is not in the format or is refused; the files stay as they are.
    """

    cases: tuple[SavedCase, ...]
    unreadable: tuple[str, ...] = ()


def load_corpus(names: Iterable[str], *, trust: bool, findings: FindingsDirectory | None = None) -> Corpus:
    """Load files, folders (searched at every depth) and ids of findings, in the order given.

    Args:
        names: paths and ids.
        trust: take cases that are not shown harmless too; without it they count as unreadable.
        findings: where ids are looked up.

    Raises:
        UserInputError: if a name is neither file, folder nor finding, or a folder holds no case file.
    """
    store = findings or FindingsDirectory()
    cases: list[SavedCase] = []
    unreadable: list[str] = []
    for name in names:
        for path in _files(name, store):
            try:
                loaded = tuple(_load_file(path, unreadable))
            except CaseFormatError as error:
                unreadable.append(str(error))
                continue
            cases.extend(loaded if trust else _harmless(loaded, unreadable))
    return Corpus(cases=tuple(cases), unreadable=tuple(unreadable))


def _harmless(cases: Iterable[SavedCase], refused: list[str]) -> Iterator[SavedCase]:
    for saved in cases:
        try:
            require_harmless(saved.case, str(saved.path))
        except UserInputError as error:
            refused.append(str(error))
        else:
            yield saved


def find_case_file(name: str, *, findings: FindingsDirectory | None = None) -> Path:
    """Return the one file that a path or a finding id names.

    Raises:
        UserInputError: if there is none, or a folder is named.
    """
    path = _existing(name, findings or FindingsDirectory())
    if path.is_dir():
        raise UserInputError(f"{name} is a folder; give one case file, or replay the folder: mergecheck replay {name}")
    return path


def _files(name: str, store: FindingsDirectory) -> Iterator[Path]:
    path = _existing(name, store)
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise UserInputError(f"{name} is a pipe or a device; give a case file or a folder")
    try:
        files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        list(path.iterdir())  # rglob passes over a folder that it may not read
    except OSError as error:
        raise UserInputError(f"{name} cannot be read: {error.strerror}. Check the folder's permissions.") from error
    if not files:
        raise UserInputError(f"{name} holds no case file; case files end in {' or '.join(SUFFIXES)}")
    yield from files


def _existing(name: str, store: FindingsDirectory) -> Path:
    path = Path(name)
    try:
        if path.exists():
            return path
        if path.name == name and store.path_of(name).is_file():
            return store.path_of(name)
    except (OSError, ValueError) as error:
        raise UserInputError(f"{name} cannot be read: {error}") from error
    raise UserInputError(
        f"{name} is neither a file nor a folder, nor the id of a finding in {store.root}. "
        "Give a case file (.json, .jsonl), a folder of them, or an id that mergecheck fuzz printed."
    )


def _load_file(path: Path, unreadable: list[str]) -> Iterator[SavedCase]:
    """Load one file; in a ``.jsonl`` file a bad line does not keep the others from being read."""
    if path.suffix != ".jsonl":
        yield saved_case(read_text(path), path=path, where=str(path))
        return
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            saved = saved_case(line, path=path, where=f"{path}, line {number}")
        except CaseFormatError as error:
            unreadable.append(str(error))
        else:
            yield saved


def read_saved(path: Path) -> tuple[SavedCase, ...]:
    """Read the cases of one file.

    Raises:
        CaseFormatError: a file is not in the format.
    """
    unreadable: list[str] = []
    found = tuple(_load_file(path, unreadable))
    if unreadable:
        raise CaseFormatError(unreadable[0])
    return found


def saved_case(text: str, *, path: Path, where: str) -> SavedCase:
    """Read a case, and where it comes from, out of one JSON document; ``where`` leads messages.

    Raises:
        CaseFormatError: the text is not in the format.
    """
    document = parse_document(text, where=where)
    case = case_from_json(document, where=where)
    return SavedCase(case=case, path=path, origin=origin_in(document, where))
