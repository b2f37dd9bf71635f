"""Writing to the terminal: results go to stdout, everything else to stderr.

All text goes through here, also output of an engine or a library. Control characters are shown as escapes, so that no
text moves the cursor or hides a line. Text that a service showing the output (GitHub, Azure, TeamCity) would take for a
command is broken by an escape.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, cast

import click
from rich.console import Console
from rich.text import Text

from mergecheck.harness.processes.output_files import write_text
from mergecheck.harness.report.render import with_escapes
from mergecheck.harness.specification.citations import with_titles
from mergecheck.harness.verdict import OutputError, UserInputError
from mergecheck.model.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.table import Table

_NARROWEST, _WIDEST = 60, 120
_MAX_TABLE_WIDTH = 1_000  # columns
MAX_MESSAGE_BYTES = 2_000
_NUM_REASONS = 10
_PY4J_MODULES = frozenset({"java_gateway", "clientserver"})  # they log under the name "root", too
_STYLES = {
    "AGREE": "bold green",
    "BOTH REJECTED": "bold green",
    "OK": "bold green",
    "MISMATCH": "bold red",
    "DEVIATES": "bold yellow",
    "CRASHED": "bold red",
    "FIX": "bold red",
    "UNSUPPORTED": "bold yellow",
    "ENGINE ERROR": "bold yellow",
    "FLAKY": "bold yellow",
    "FIXED": "bold green",
    "STILL FAILS": "bold red",
    "CHANGED": "bold red",
    "NOW ERRORS": "bold red",
    "NOT CHECKED": "bold yellow",
}


# GitHub and TeamCity read a command at the start of a line, GitHub's old ones and Azure's are read anywhere in it.
_COLONS = re.compile(r"^((?:\x1b\[[0-9;?]*[A-Za-z]|\s)*)::", re.MULTILINE)
_HASHES = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)


def without_commands(text: str) -> str:
    """Break text that a CI service would take for a command."""
    return _HASHES.sub(r"#\\u0023", _COLONS.sub(r"\1\\u003A:", text))


class _Wrapped(io.TextIOBase):
    """A text stream that writes to another one; closing it leaves the other one open.

    Args:
        stream: where the text goes.
        may_fail: whether text that cannot be written is an error; else it is left out.
    """

    def __init__(self, stream: TextIO, *, may_fail: bool) -> None:
        super().__init__()
        self.stream = stream
        self._may_fail = may_fail

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream below."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the underlying stream writes characters that it cannot encode."""
        return getattr(self.stream, "errors", None)

    def fileno(self) -> int:
        """Return the descriptor of the stream below."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Return whether the stream below is a terminal."""
        return self.stream.isatty()

    def writable(self) -> bool:
        """Return True: it can be written to."""
        return True

    def flush(self) -> None:
        """Flush the stream below."""
        with self._failures():
            self.stream.flush()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):  # the second for a stream that is closed
            if self._may_fail:
                raise
            discard_output()

    def close(self) -> None:
        """Do nothing: the stream below is the run's."""

    def write(self, text: str) -> int:
        """Write a text of this program, which may have styles."""
        with self._failures():
            self.stream.write(without_commands(text))
        return len(text)


class LentStream(_Wrapped):
    """What code of others gets as ``sys.stdout`` or ``sys.stderr``: it can neither close it nor write commands."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream, may_fail=False)
        self._line = ""

    def write(self, text: str) -> int:
        """Write a text with its control characters as escapes."""
        if not isinstance(text, str):
            raise TypeError(f"a text stream takes text, not {type(text).__name__}")
        line = (self._line + text).rpartition("\n")[2][-_WIDEST:]
        shown = with_escapes(text)
        if self._line.strip() == ":" and shown.startswith(":"):
            shown = f"\\u003A{shown[1:]}"
        if self._line.strip():  # the first line of the text is none of its own
            first, end, rest = shown.partition("\n")
            shown = _HASHES.sub(r"#\\u0023", first) + end + without_commands(rest)
        else:
            shown = without_commands(shown)
        with self._failures():
            self.stream.write(shown)
        self._line = line
        return len(text)


def _own(stream: TextIO) -> TextIO:
    """Return the stream of the run, if others were lent one."""
    return stream.stream if isinstance(stream, LentStream) else stream


class LogNotices(logging.Handler):
    """Shows warnings that libraries log as notices, so that they appear above the status line.

    Py4j's are left out: it logs failed and interrupted calls, with their tracebacks, before it raises them.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(message)s"))
        self.addFilter(lambda record: record.module not in _PY4J_MODULES)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        notice(self.format(record))


def make_streams_safe() -> None:
    """Write characters that the terminal cannot encode as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Discard unwritten output: its device takes no more, and Python would fail again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            os.dup2(null, stream.fileno())
    os.close(null)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """End the run with a message; rich would end the process without one."""
        raise output_gone()


def output_gone() -> OutputError:
    """Return the error of a run whose output has no reader any more, and write no more."""
    discard_output()
    return OutputError("nobody reads the output any more")


def stdout() -> Console:
    """Return the console for results."""
    return _Console(
        file=cast("TextIO", _Wrapped(_own(sys.stdout), may_fail=True)), highlight=False, markup=False, soft_wrap=True
    )


def stderr() -> Console:
    """Return the console for progress, notices and errors; what cannot be written there is left out."""
    stream = cast("TextIO", _Wrapped(_own(sys.stderr), may_fail=False))
    return Console(file=stream, stderr=True, highlight=False, markup=False, soft_wrap=True)


def show(text: str, *, console: Console | None = None) -> None:
    """Print lines; a verdict at their start is coloured, and a rule cited in brackets gets its title."""
    (console or stdout()).print(styled(_clean(with_titles(text))))


def text_width() -> int:
    """Return how wide text for a person should be: as the terminal, but neither very narrow nor very wide."""
    return min(max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST), _WIDEST)


def show_wrapped(lines: Iterable[str]) -> None:
    """Print lines that may be long; a terminal gets them broken between words, a file or a program gets them whole."""
    console, width = stdout(), text_width()
    for line in lines:
        show(_wrapped(line, width) if console.is_terminal else line, console=console)


def _wrapped(line: str, width: int) -> str:
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def show_table(table: Table) -> None:
    """Print a table at its full width: no cell is cut, a narrow terminal wraps the lines."""
    console = stdout()
    console.width = max(
        console.width, console.measure(table, options=console.options.update(max_width=_MAX_TABLE_WIDTH)).maximum
    )
    console.print(table)


def styled(text: str) -> Text:
    """Colour the verdicts at the start of lines; the word itself stays, for terminals without colour."""
    lines = [_styled_line(line) for line in text.split("\n")]
    return Text("\n").join(lines)


@dataclass(frozen=True, slots=True)
class Results:
    """What outlives a verb.

    Attributes:
        stream: where the JSON document of a run goes: the process's stdout, whatever ``sys.stdout`` is meanwhile.
        closing: closes the verb's engines, the last one first, when its output is out.
    """

    stream: TextIO
    closing: list[Callable[[], None]]


def emit_json(document: dict[str, Any]) -> None:
    """Write the one JSON document of a ``--json`` run."""
    emit_text(json.dumps(document, ensure_ascii=True, allow_nan=False) + "\n")


def emit_text(text: str) -> None:
    """Write a text for another program unchanged; its maker has escaped control characters."""
    results = click.get_current_context().find_object(Results)
    stream = sys.stdout if results is None else results.stream
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError as error:  # click would end the process
        raise output_gone() from error


def write_page(path: Path, text: str) -> None:
    """Write the file that ``--markdown`` names.

    Raises:
        UserInputError: the file cannot be written.
    """
    try:
        write_text(path, with_titles(text), errors="backslashreplace")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --markdown FILE.") from error


def error_line(message: str) -> None:
    """Print an error on stderr."""
    stderr().print(Text.assemble(("error: ", "bold red"), _brief(message)))


def whole_notice(message: str) -> None:
    """Print a message on stderr, however long it is."""
    stderr().print(Text(_clean(message)))


def notice(message: str) -> None:
    """Print a message on stderr."""
    stderr().print(Text(_brief(message)))


def notice_unreadable(messages: Sequence[str]) -> None:
    """Print on stderr why files were not read: the first ten reasons, and how many more there are."""
    for message in messages[:_NUM_REASONS]:
        notice(f"not read: {message}")
    if (more := len(messages) - _NUM_REASONS) > 0:
        notice(f"not read: {more} more; name the files or folders of your cases")


def usage_error(error: click.ClickException) -> None:
    """Print click's message about a command line."""
    text = io.StringIO()
    error.show(file=text)
    stderr().print(Text(_brief(text.getvalue().rstrip("\n"))))


def _brief(message: str) -> str:
    """Make a message fit for a terminal: without raw control characters, and without the middle if it is long.

    A message is long if it quotes the given text, followed by the allowed values.
    """
    return shortened(_clean(with_titles(message)), MAX_MESSAGE_BYTES)


def _clean(text: str) -> str:
    return with_escapes(text.replace("\r\n", "\n"))


def _styled_line(line: str) -> Text:
    for word, style in _STYLES.items():
        if line.startswith(word + " ") or line == word:
            return Text.assemble((word, style), line[len(word) :])
    return Text(line)
