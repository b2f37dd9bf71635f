"""What reaches the terminal: the result on stdout, everything else on stderr."""

from __future__ import annotations

import functools
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.report.render import printable
from mergecheck.harness.spark.config import (
    DEFAULT_MASTER,
    MASTER_VARIABLE,
    REMOTE_VARIABLE,
    TABLE_ROOT_VARIABLE,
    require_place,
    spark_place,
    use_place,
    was_used,
)
from mergecheck.harness.verdict import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from mergecheck.harness.deviations.registry import Deviations

_WIDEST = 1_000
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
}

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else there.")


batch_option = click.option(
    "--batch",
    "batch_size",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Check N pairs of tables in one merge, where the statement allows it.",
)


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


def oracle_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that says what judges an engine's answers."""
    return click.option(
        "--oracle",
        "oracle_name",
        type=click.Choice([oracle.value for oracle in Oracle]),
        default=Oracle.REFERENCE.value,
        show_default=True,
        help="What judges the answers: the reference, relations between the engine's own answers, or both.",
    )(command)


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where Spark runs and where its tables lie, and choose that place for the process."""

    @functools.wraps(command)
    def at_a_place(*, master: str | None, remote: str | None, table_root: str | None, **values: Any) -> Any:  # noqa: ANN401 - click's
        use_place(spark_place(master=master, remote=remote, table_root=table_root))
        require_place()
        answer = command(**values)
        if (master or remote or table_root) and not was_used():
            notice("--master, --remote and --table-root are about Spark, which no engine of this run uses")
        return answer

    for option in (
        click.option(
            "--table-root",
            metavar="PLACE",
            help="Where tables are made: a directory that Spark's workers share, or s3a://BUCKET/PREFIX. "
            f"[env: {TABLE_ROOT_VARIABLE}]",
        ),
        click.option(
            "--remote", metavar="URL", help=f"A Spark Connect server, sc://HOST:PORT. [env: {REMOTE_VARIABLE}]"
        ),
        click.option(
            "--master",
            metavar="URL",
            help=f"A cluster, spark://HOST:PORT, or local[N]. [env: {MASTER_VARIABLE}; default: {DEFAULT_MASTER}]",
        ),
    ):
        at_a_place = option(at_a_place)
    return at_a_place


def deviation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which deviations of engines are known."""
    for option in (
        click.option(
            "--no-deviations", is_flag=True, help="Explain nothing away: known deviations are mismatches like others."
        ),
        click.option(
            "--deviations",
            "deviation_files",
            type=click.Path(path_type=Path, dir_okay=False),
            multiple=True,
            metavar="FILE",
            help="More known deviations, besides those that come along (docs/deviations.md).",
        ),
    ):
        command = option(command)
    return command


def known_deviations(files: tuple[Path, ...], *, none: bool) -> Deviations:
    """Read the deviations that a command was given.

    Raises:
        UserInputError: for a file that is no list of deviations.
    """
    from mergecheck.harness.deviations.registry import Deviations, load_deviations  # noqa: PLC0415 - --help need not wait for DuckDB

    if none and files:
        raise click.UsageError("give either --deviations or --no-deviations")
    return Deviations() if none else load_deviations(files)


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


def show_table(table: Table) -> None:
    """Print a table in full: a file or a pipe has no width, and a narrow terminal breaks lines rather than numbers."""
    console = stdout()
    console.width = max(
        console.width, console.measure(table, options=console.options.update(max_width=_WIDEST)).maximum
    )
    console.print(table)


def styled(text: str) -> Text:
    """Colour the verdicts at the start of lines."""
    lines = [_styled_line(line) for line in text.split("\n")]
    return Text("\n").join(lines)


def emit_json(document: dict[str, Any]) -> None:
    """Write the one JSON document of a ``--json`` run."""
    sys.stdout.write(json.dumps(document, ensure_ascii=True, allow_nan=False) + "\n")
    sys.stdout.flush()


def write_page(path: Path, text: str) -> None:
    """Write what ``--markdown`` asked for.

    Raises:
        UserInputError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --markdown FILE.") from error


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
