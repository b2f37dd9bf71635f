"""``--html FILE``: the option, and writing the file in one step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.html.rendering import page_html
from mergecheck.harness.cli.options import writable
from mergecheck.harness.processes.output_files import write_text
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from mergecheck.harness.cli.html.page import Page, SectionedPage


def write_html(path: Path, page: Page | SectionedPage) -> None:
    """Write a report. A file that is there is replaced by the whole new one, or stays as it is.

    Raises:
        UserInputError: the file cannot be written.
    """
    text = page_html(page)
    try:
        write_text(path, text, errors="backslashreplace")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --html FILE.") from error


html_option = click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=writable,
    metavar="FILE",
    help="Also write a report to FILE, one HTML page that opens without a network.",
)
