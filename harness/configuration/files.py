"""Finding the configuration's file, and reading its table."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.processes.output_files import project_folder
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN_FILE = "mergecheck.toml"
PROJECT_FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file with a configuration.

    Attributes:
        table: its content, parsed from TOML.
        prefix: the prefix of its tables' names in messages: ``tool.mergecheck.`` or nothing.
    """

    path: Path
    table: dict[str, Any]
    prefix: str = ""

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the file start from."""
        return self.path.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The result of a search for a configuration.

    Attributes:
        file: the configuration that applies; None if there is none.
        outside: a file that is not used because it lies outside of the project.
    """

    file: ConfigFile | None = None
    outside: Path | None = None


def find_file(start: Path, *, home: Path) -> Search:
    """Search a folder and those above it, up to the root of the repository.

    Outside of a repository the search ends at the home folder. Outside of both, only the folder itself is searched:
    in a folder that all users can write, the file may be another user's.

    Args:
        start: the working folder.
        home: the user's home folder.

    Raises:
        UserInputError: a file is no TOML, or cannot be read.
    """
    start, home = start.resolve(), home.resolve()
    folders = [start, *start.parents]
    last = project_folder(start) or (home if home in folders else start)
    inside = folders[: folders.index(last) + 1]
    for folder in inside:
        for file in _files_in(folder):
            return Search(file=file)
    return Search(
        outside=next((path for folder in folders[len(inside) :] if (path := folder / OWN_FILE).is_file()), None)
    )


def read_file(path: Path) -> ConfigFile:
    """Read a file that the user names; a ``pyproject.toml`` has its configuration in ``[tool.mergecheck]``.

    Raises:
        UserInputError: there is no such file, it cannot be read, is no TOML, or has no configuration.
    """
    document = _document(path)
    if path.name != PROJECT_FILE:
        return ConfigFile(path=path, table=document)
    found = _project_table(path, document)
    if found is None:
        raise UserInputError(
            f"{path} has no table [tool.mergecheck]. Add one, or name another file with --config FILE."
        )
    return found


def _files_in(folder: Path) -> Iterator[ConfigFile]:
    own, project = folder / OWN_FILE, folder / PROJECT_FILE
    if own.is_file():
        yield ConfigFile(path=own, table=_document(own))
    if project.is_file():
        try:
            document = _document(project)
        except UserInputError:  # a project's file may not be meant for mergecheck
            return
        found = _project_table(project, document)
        if found is not None:
            yield found


def _project_table(path: Path, document: dict[str, Any]) -> ConfigFile | None:
    tools = document.get("tool", {})
    table = tools.get("mergecheck") if isinstance(tools, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UserInputError(f"{path}: tool.mergecheck = {table!r} must be a table: [tool.mergecheck]")
    return ConfigFile(path=path, table=table, prefix="tool.mergecheck.")


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_ordinary(path))
    except OSError as error:
        raise UserInputError(
            f"{path}: cannot be read: {error.strerror}. Name another file with --config FILE."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserInputError(f"{path} is no TOML: {error}") from error
