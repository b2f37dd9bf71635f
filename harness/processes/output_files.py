"""Writing and removing files, in a folder that may be a stranger's clone.

The author of the clone can have put a symbolic link at any place where mergecheck writes. So in the project, which is
the repository around the working folder or that folder alone, paths are walked one folder at a time, and no system call
follows a link. Links that stay in the project and lead to nothing hidden are resolved here; under ``.mergecheck``, the
place of files that the user did not name, there are none at all. A path that leads out of the project by its own text
is the user's matter, and is used as the system uses it.

A file is never opened for overwriting: a new one takes its place, so that a reader sees a whole file, and neither a
hard link nor a link swapped in meanwhile leads anywhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_FOLDER = ".mergecheck"
_REPOSITORY_MARKS = (".git", ".hg", ".jj")
_MOST_LINKS = 40
_MOST_COMPARED = 200  # bytes of a file that may be replaced
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC  # O_PATH: it need not be readable
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# without O_NONBLOCK, opening a pipe without a reader never ends
_SPECIAL_FLAGS = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")


class LinkInTheWayError(OSError):
    """A symbolic link in the project is not followed."""

    def __init__(self, link: str, target: str) -> None:
        super().__init__(
            f"{link} is a link to {target}, and a link is followed neither under {OWN_FOLDER} nor out of the project. "
            "Remove it, or name the place that it leads to"
        )


def project_folder(start: Path) -> Path | None:
    """Return the nearest folder, a given one or one above it, that is the root of a repository; None if none is."""
    return next(
        (folder for folder in (start, *start.parents) if any((folder / mark).exists() for mark in _REPOSITORY_MARKS)),
        None,
    )


def write_text(path: Path, text: str, *, parents: bool = False, errors: str = "strict") -> None:
    """Write a whole file in place of the one that is there, which stays as it is if this fails.

    Args:
        path: a file, or a pipe or device, which is written to.
        text: its content, written as UTF-8.
        parents: make the folders that are missing.
        errors: how a character is written that UTF-8 does not have.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """
    with _place(path, parents=parents) as place:
        if place.is_special:
            with _text(place.open_special(), errors) as file:
                file.write(text)
            return
        new = place.new_name()
        try:
            with _text(place.open_new(new), errors) as file:
                file.write(text)
            place.put(new)
        finally:
            place.discard(new)


def create(path: Path, text: str, *, parents: bool = False) -> None:
    """Write a file that is not there.

    Raises:
        FileExistsError: something is there; it stays as it is.
        OSError: it cannot be written, or a link is in the way.
    """
    with _place(path, parents=parents) as place, _text(place.open_new(place.name)) as file:
        file.write(text)


def append(path: Path, text: str) -> None:
    """Add to the end of a file, which is made if it is not there.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """
    with _place(path) as place, _text(place.open_end(), "backslashreplace") as file:
        file.write(text)


def open_stream(path: Path) -> TextIO:
    """Open a file anew, to be written line by line while others read it.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """
    with _place(path) as place:
        if place.is_special:
            return _text(place.open_special())
        new = place.new_name()
        try:
            file = place.open_new(new)
            place.put(new)
        finally:
            place.discard(new)
        return _text(file)


def require_writable(path: Path, *, over: str = "") -> None:
    """Find out whether ``write_text`` could write a file, and leave nothing behind.

    Args:
        path: the file.
        over: a regular expression for the beginning of the files that may be replaced, so that a name typed wrong costs
            no other file; an empty file always may be.

    Raises:
        FileExistsError: another file is there.
        OSError: it cannot be written, or a link is in the way.
    """
    with _place(path) as place:
        if not place.is_special:
            beginning = place.beginning()
            if beginning and not re.match(over, beginning):
                raise FileExistsError("it is there with other content, which would be lost")
            new = place.new_name()
            os.close(place.open_new(new))
            place.discard(new)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if they are not there.

    Raises:
        OSError: it cannot be made, or a link is in the way.
    """
    with _place(path / "x", parents=True):
        pass


def remove(path: Path, *, missing_ok: bool = False) -> None:
    """Remove a file; of a link the link itself.

    Raises:
        FileNotFoundError: it is not there, unless that is allowed.
        OSError: it cannot be removed, or a link is in the way.
    """
    try:
        with _place(path, follow=False) as place:
            os.unlink(place.name, dir_fd=place.folder)
    except FileNotFoundError:
        if not missing_ok:
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A name in an open folder.

    Attributes:
        folder: descriptor of the folder.
        name: of the file in it; an unchecked whole path, if the system follows it.
        permissions: of the existing file.
        is_special: whether the name is a pipe, a device or a descriptor: it is written to, not replaced.
        is_appended: whether existing content stays: others write to the descriptor as well.
    """

    folder: int
    name: str
    permissions: int | None = None
    is_special: bool = False
    is_appended: bool = False

    def new_name(self) -> str:
        return f".mergecheck-{secrets.token_hex(6)}.new"

    def open_new(self, name: str) -> int:
        file = os.open(name, _NEW_FLAGS, 0o666, dir_fd=self.folder)
        if self.permissions is not None:
            with contextlib.suppress(OSError):
                os.fchmod(file, self.permissions)
        return file

    def beginning(self) -> str:
        """Return the first characters of the file; empty if there is none."""
        follow = 0 if os.path.isabs(self.name) else os.O_NOFOLLOW  # noqa: PTH117 - a name of the system's
        try:
            file = os.open(self.name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow, dir_fd=self.folder)
        except FileNotFoundError:
            return ""
        with os.fdopen(file, "rb") as opened:
            return opened.read(_MOST_COMPARED).decode(errors="replace")

    def open_special(self) -> int:
        follow = 0 if os.path.isabs(self.name) else os.O_NOFOLLOW  # noqa: PTH117 - a name of the system's
        flags = _SPECIAL_FLAGS | follow | (os.O_APPEND if self.is_appended else 0)
        try:
            file = os.open(self.name, flags, dir_fd=self.folder)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.ENXIO, "it is a pipe or a device that nobody reads") from error
            raise
        os.set_blocking(file, True)
        return file

    def open_end(self) -> int:
        if self.is_special:
            return self.open_special()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.name, flags, 0o666, dir_fd=self.folder)

    def put(self, new: str) -> None:
        os.replace(new, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def discard(self, new: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=self.folder)


@contextmanager
def _place(path: Path, *, parents: bool = False, follow: bool = True) -> Iterator[_Place]:
    """Open the folder of a file.

    Args:
        path: of the file.
        parents: make the folders that are missing.
        follow: whether a link at the file's own name is resolved.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a path has no NUL in it")
    here = Path.cwd()
    root = project_folder(here) or here
    inner = None if _is_descriptor(path) else _inside(Path(os.path.normpath(here / path)), root)
    if inner is None:
        with _outside(path, parents=parents, follow=follow) as place:
            yield place
        return
    for _ in range(_MOST_LINKS):
        found = _walk(root, inner, parents=parents, follow=follow)
        if isinstance(found, int):
            try:
                yield _described(found, inner.name)
            finally:
                os.close(found)
            return
        inner = found
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _inside(path: Path, root: Path) -> Path | None:
    """Return the rest of a path below the project, by whichever name the path uses for it; None if it is elsewhere."""
    known = root.stat()
    for folder in reversed(path.parents):
        with contextlib.suppress(OSError):
            if os.path.samestat(folder.stat(), known):
                return path.relative_to(folder)
    return None


def _walk(root: Path, inner: Path, *, parents: bool, follow: bool) -> int | Path:
    """Open the folder of a path in the project; or return the path that it is with one link resolved."""
    folder = os.open(root, _FOLDER_FLAGS)
    try:
        for number, part in enumerate(inner.parts):
            is_last = number == len(inner.parts) - 1
            if (not is_last or follow) and (target := _link(part, folder)) is not None:
                return _resolved(root, inner, number, target)
            if is_last:
                break
            if parents:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            below = os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        opened, folder = folder, -1
        return opened
    finally:
        if folder >= 0:
            os.close(folder)


def _link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:  # it is no link, or not there
        return None


def _resolved(root: Path, inner: Path, number: int, target: str) -> Path:
    """Put the target of a link in a path in its place.

    Raises:
        LinkInTheWayError: the link is under ``.mergecheck``, or leads out of the project or to something hidden.
    """
    link = Path(*inner.parts[: number + 1])
    led = os.path.relpath(os.path.normpath(root / link.parent / target), root)
    is_hidden = any(part.startswith(".") for part in Path(led).parts)  # ".." begins with a dot, too
    if OWN_FOLDER in link.parts or is_hidden:
        raise LinkInTheWayError(os.path.relpath(root / link), target)
    return Path(led, *inner.parts[number + 1 :])


@contextmanager
def _outside(path: Path, *, parents: bool, follow: bool) -> Iterator[_Place]:
    """Open the folder of a path that is not in the project; the system follows links."""
    if follow and path.exists() and (_is_descriptor(path) or not (path.is_file() or path.is_dir())):
        # by its own name: what /dev/stdout leads to may have none
        yield _Place(folder=-1, name=str(path.absolute()), is_special=True, is_appended=_is_descriptor(path))
        return
    if follow:
        path = path.resolve()
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, _FOLDER_FLAGS)
    try:
        yield _described(folder, path.name)
    finally:
        os.close(folder)


def _is_descriptor(path: Path) -> bool:
    return _DESCRIPTOR.fullmatch(str(path)) is not None


def _described(folder: int, name: str) -> _Place:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return _Place(folder=folder, name=name)
    is_special = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    permissions = stat.S_IMODE(mode) if stat.S_ISREG(mode) else None
    return _Place(folder=folder, name=name, permissions=permissions, is_special=is_special)


def _text(file: int, errors: str = "strict") -> TextIO:
    return os.fdopen(file, "w", encoding="utf-8", errors=errors, newline="\n", buffering=1)
