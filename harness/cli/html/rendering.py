"""A page as HTML, and the option ``--html FILE`` that writes it.

Jinja2 fills the templates, escapes every text and makes control characters visible.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from mergecheck.harness.cli.options import file_option
from mergecheck.harness.processes.output_files import write_text
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.cli.html.page import Page, SectionedPage

MAX_TEXT = 1_000
"""Characters of one text; of a longer one, both ends are shown."""

_ENDS = 200


def page_html(page: Page | SectionedPage, *, made: dt.datetime | None = None) -> str:
    """Write a page as one HTML document that refers to nothing outside itself.

    Args:
        page: the page.
        made: the time shown on it; now if left out.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - loads slowly, and few runs need it

    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made = made or dt.datetime.now(dt.UTC)
    return environment.get_template("page.html.j2").render(
        page=page,
        css=Markup(_template("style.css")),  # noqa: S704 - a file of this package
        version=importlib.metadata.version("mergecheck"),
        made=made.strftime("%Y-%m-%d %H:%M UTC"),
    )


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


html_option = file_option(
    "--html",
    "html_file",
    "Also write a report to FILE, one HTML page that opens without a network.",
    over=r"(?i)<!doctype html",
)


def visible(value: object) -> object:
    """Make a text fit for a page: control characters as escapes, and without the middle if it is very long."""
    if isinstance(value, Markup):  # the output of a macro
        return value
    text = printable(str(value))
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:_ENDS]} … {len(text) - 2 * _ENDS:,} characters … {text[-_ENDS:]}"


def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
