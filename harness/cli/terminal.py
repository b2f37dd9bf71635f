"""What reaches the terminal: the result on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from harness.render import printable

if TYPE_CHECKING:
    from collections.abc import Callable

_STYLES = {
    "AGREE": "bold green",
    "BOTH REJECTED": "bold green",
    "OK": "bold green",
    "MISMATCH": "bold red",
    "CRASHED": "bold red",
    "FIX": "bold red",
    "UNSUPPORTED": "bold yellow",
    "ENGINE ERROR": "bold yellow",
    "FLAKY": "bold yellow",
}

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else there.")


def engine_option() -> Callable[[Any], Any]:
    """Return the ``--engine`` option that all verbs share."""
    return click.option(
        "--engine",
        "engine_name",
        default="pyspark",
        show_default=True,
        metavar="NAME",
        help="A registered engine, or package.module:Class.",
    )


def make_streams_safe() -> None:
    """Let a terminal that cannot show a character get an escape instead of a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def stdout() -> Console:
    """Return the console of the result."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def stderr() -> Console:
    """Return the console of progress, notices and errors."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def show(text: str, *, console: Console | None = None) -> None:
    """Print lines; a verdict at the start of a line is coloured, and stays a word without colour."""
    (console or stdout()).print(styled(text))


def styled(text: str) -> Text:
    """Colour the verdicts at the start of lines."""
    lines = [_styled_line(line) for line in text.split("\n")]
    return Text("\n").join(lines)


def emit_json(document: dict[str, Any]) -> None:
    """Write the one JSON document of a ``--json`` run."""
    sys.stdout.write(json.dumps(document, ensure_ascii=True, allow_nan=False) + "\n")
    sys.stdout.flush()


def error_line(message: str) -> None:
    """Tell a person what went wrong."""
    text = "\n".join(printable(line) for line in message.split("\n"))
    stderr().print(Text.assemble(("error: ", "bold red"), text))


def notice(message: str) -> None:
    """Tell a person something beside the result."""
    stderr().print(Text("\n".join(printable(line) for line in message.split("\n"))))


def _styled_line(line: str) -> Text:
    for word, style in _STYLES.items():
        if line.startswith(word + " ") or line == word:
            return Text.assemble((word, style), line[len(word) :])
    return Text(line)
