"""Writing the template of an engine: a folder with a small working package."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from typing import TYPE_CHECKING

from mergecheck.harness.processes.output_files import create
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FILES = {
    "engine.py.txt": "{module}.py",
    "test.py.txt": "test_{module}.py",
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
}


def write_new_engine(name: str, folder: Path) -> tuple[Path, ...]:
    """Write the template of an engine.

    Args:
        name: what ``--engine`` will call it: small letters, digits and hyphens.
        folder: where to write; it may exist, but none of the files.

    Returns:
        The files written.

    Raises:
        UserInputError: for a name that is none, a file that is there already, or a folder that cannot be written.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UserInputError(
            f"{name!r} is not a name for an engine: use small letters, digits and hyphens, for example my-merge"
        )
    words = name.split("-")
    module = "_".join(words) + "_engine"
    values = {
        "NAME": name,
        "MODULE": module,
        "CLASS": "".join(map(str.capitalize, words)) + "Engine",
        "PACKAGE": f"mergecheck-{name}",
    }
    files = {folder / target.format(module=module): _filled(template, values) for template, target in _FILES.items()}
    there = [str(path) for path in files if path.exists()]
    if there:
        raise UserInputError(f"exists already: {', '.join(there)}. Give --directory another folder.")
    try:
        for path, text in files.items():
            create(path, text, parents=True)
    except OSError as error:
        raise UserInputError(f"cannot write to {folder}: {error}. Give --directory another folder.") from error
    return tuple(files)


def _filled(template: str, values: dict[str, str]) -> str:
    text = (resources.files("mergecheck.harness.lab.conformance") / "templates" / template).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
