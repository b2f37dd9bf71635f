"""Which features a run prefers because of the files that were changed: a map of paths to features, and git's answer."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.verdict import UserInputError
from mergecheck.strategies import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_GIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FocusPath:
    """Files by a pattern, and the features to prefer if any of them was changed.

    Attributes:
        pattern: a path from the root of the repository; ``*`` matches any characters, ``/`` included.
        features: names of features.
    """

    pattern: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFocus:
    """The features to prefer because of changed files.

    Attributes:
        base: the commit that they were compared with.
        files: those that a pattern fits.
        features: names of the features to prefer.
    """

    base: str
    files: tuple[str, ...]
    features: frozenset[str]


def focus_path(text: str) -> FocusPath:
    """Read an entry such as ``src/merge/insert*=insert,partial-insert-lists``.

    Raises:
        UserInputError: it has another form, or names an unknown feature.
    """
    pattern, _, names = text.rpartition("=")
    features = tuple(name.strip() for name in names.split(",") if name.strip())
    if not pattern.strip() or not features:
        raise UserInputError(
            f"{text!r} says no features for paths. Write PATTERN=FEATURE,FEATURE, for example src/insert*=insert"
        )
    known = {feature.value for feature in Feature}
    for name in features:
        if name not in known:
            told = f"{text!r} names the unknown feature {name!r}. {did_you_mean(name, known)}".rstrip()
            raise UserInputError(f"{told} There are: {', '.join(sorted(known))}")
    return FocusPath(pattern.strip(), features)


def changed_focus(base: str, paths: Iterable[str], *, folder: Path) -> ChangedFocus:
    """Find what to prefer because of the files that were changed since a commit.

    Args:
        base: a branch, tag or commit. What counts is its last commit that is also in the history of the current one.
        paths: entries as ``focus_path`` reads them.
        folder: in the repository.

    Raises:
        UserInputError: an entry is wrong, there is none, or git has no answer.
    """
    entries = [focus_path(text) for text in paths]
    if not entries:
        raise UserInputError(
            "no path has features to prefer. Give --focus-paths PATTERN=FEATURE, or in the configuration: "
            'focus-paths = ["src/insert*=insert"]'
        )
    files = changed_files(base, folder=folder)
    fitting = [(file, entry) for file in files for entry in entries if fnmatchcase(file, entry.pattern)]
    return ChangedFocus(
        base=base,
        files=tuple(dict.fromkeys(file for file, _ in fitting)),
        features=frozenset(name for _, entry in fitting for name in entry.features),
    )


def changed_files(base: str, *, folder: Path) -> tuple[str, ...]:
    """Ask git which files differ from a commit's, uncommitted changes included, files not yet added excluded.

    Returns:
        Paths from the root of the repository.

    Raises:
        UserInputError: git is missing, or fails.
    """
    # the repository may come from a stranger: its own settings may name programs
    command = (
        "git",
        "-c",
        "core.fsmonitor=false",
        "diff",
        "--name-only",
        "-z",
        "--no-ext-diff",
        "--merge-base",
        "--end-of-options",
        base,
        "--",
    )
    try:
        done = subprocess.run(  # noqa: S603 - the name of a commit cannot be taken for an option
            command, cwd=folder, capture_output=True, timeout=_GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserInputError(f"git does not say what was changed since {base!r}: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UserInputError(
            f"git does not say what was changed since {base!r}: {said}. Name a branch or commit of this repository "
            "with --focus-changed; in CI, fetch its history first."
        )
    return tuple(name for name in done.stdout.decode(errors="surrogateescape").split("\0") if name)
