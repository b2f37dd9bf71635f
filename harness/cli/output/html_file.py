"""``--html FILE``: the option, and writing the file in one step."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.html_report.rendering import page_html

if TYPE_CHECKING:
    from mergecheck.harness.html_report.page import Page, SectionedPage


def write_html(path: Path, page: Page | SectionedPage) -> None:
    """Write a report. A file that is there is replaced by the whole new one, or stays as it is.

    Raises:
        UserInputError: the file cannot be written.
    """
    text = page_html(page)
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no other file in its place
            with path.open("w", encoding="utf-8") as stream:
                stream.write(text)
            return
        whole = path.resolve()
        new = _beside(whole)
        try:
            with new.open("x", encoding="utf-8") as stream:
                stream.write(text)
            new.replace(whole)
        finally:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(path, error) from error


def _require_writable(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Find out before a run, and not after it, that its report cannot be written."""
    if path is None:
        return None
    try:
        if not path.exists() or path.is_file():
            new = _beside(path.resolve())
            new.touch(exist_ok=False)
            new.unlink()
    except OSError as error:
        raise _refused(path, error) from error
    return path


def _beside(path: Path) -> Path:
    return path.with_name(f".mergecheck-{os.getpid()}.html")


def _refused(path: Path, error: OSError) -> UserInputError:
    return UserInputError(f"cannot write {path}: {error}. Choose another file with --html FILE.")


html_option = click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_require_writable,
    metavar="FILE",
    help="Also write a report to FILE, one HTML page that opens without a network.",
)
