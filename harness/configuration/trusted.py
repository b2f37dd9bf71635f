"""The configurations that the user trusts, kept among the user's own settings.

Trust holds for one file, by its real path, and for the values of its settings that need trust. If another such setting
is added, or one changes, the user is asked again; other edits of the file change nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.configuration.files import ConfigFile

FORMAT_VERSION = 1


def user_settings_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's own settings of mergecheck, by the custom of the system."""
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "mergecheck"
    given = environment.get("XDG_CONFIG_HOME") or ""
    # a relative one would lie in the working folder, and the standard forbids it
    return (Path(given) if Path(given).is_absolute() else home / ".config") / "mergecheck"


class TrustedFiles:
    """The file that records trusted configurations.

    Args:
        environment: the environment variables, which name the user's folders.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.path = user_settings_folder(environment) / "trusted.json"

    def has(self, file: ConfigFile, needing: Sequence[tuple[str, Any]]) -> bool:
        """Return whether the user trusts a configuration with these settings, each a key and a value.

        Raises:
            UserInputError: the file cannot be read.
        """
        return self._read().get(_place(file)) == _digest(needing)

    def knows(self, file: ConfigFile) -> bool:
        """Return whether the user has trusted a configuration, whatever its settings were then.

        Raises:
            UserInputError: the file cannot be read.
        """
        return _place(file) in self._read()

    def add(self, file: ConfigFile, needing: Sequence[tuple[str, Any]]) -> None:
        """Trust a configuration with these settings.

        Raises:
            UserInputError: the file cannot be read or written.
        """
        self._write(self._read() | {_place(file): _digest(needing)})

    def remove(self, file: ConfigFile) -> bool:
        """Withdraw trust in a configuration; return whether it was trusted.

        Raises:
            UserInputError: the file cannot be read or written.
        """
        known = self._read()
        if known.pop(_place(file), None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> dict[str, str]:
        try:
            document = json.loads(read_ordinary(self.path))
            if document["format_version"] != FORMAT_VERSION:
                raise UserInputError(
                    f"{self.path} has the format version {document['format_version']!r}; this mergecheck reads "
                    f"{FORMAT_VERSION}. Remove the file, and trust your folders again."
                )
            return {str(place): str(digest) for place, digest in document["files"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserInputError(
                f"{self.path} cannot be read: {error}. Remove it, and trust your folders again."
            ) from error

    def _write(self, files: Mapping[str, str]) -> None:
        document = {"format_version": FORMAT_VERSION, "files": dict(sorted(files.items()))}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(prefix=".trusted-", dir=self.path.parent)  # readable by the user alone
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    stream.write(json.dumps(document, indent=1) + "\n")
                Path(name).replace(self.path)
            finally:
                with contextlib.suppress(OSError):
                    Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise UserInputError(f"cannot write {self.path}: {error}") from error


def _place(file: ConfigFile) -> str:
    return str(file.folder.resolve() / file.path.name)


def _digest(needing: Sequence[tuple[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(sorted(needing, key=repr), default=str).encode()).hexdigest()
