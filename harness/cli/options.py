"""Options that several verbs share."""

from __future__ import annotations

import functools
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.engines.spark.config import (
    DEFAULT_MASTER,
    MASTER_VARIABLE,
    REMOTE_VARIABLE,
    TABLE_ROOT_VARIABLE,
    require_place,
    spark_place,
    use_place,
    was_used,
)
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY
from mergecheck.harness.processes.output_files import require_writable
from mergecheck.harness.processes.time_limit import DEFAULT_SECONDS
from mergecheck.harness.properties.limits import DEFAULT_FLOOR, DEFAULT_MAX_DEVIATING, Limits
from mergecheck.harness.verdict import Check, Expressions, Oracle, UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable


_RANGE = re.compile(r"(\d{1,12}):(\d{1,12})?")


class FiniteRange(click.FloatRange):
    """A number in a range; NaN and infinity are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's signature
        """Read a number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


def parse_range(text: str, *, size: int | None = None, stream: str = "") -> range:
    """Read ``A:B``, the numbers from A to before B.

    Args:
        text: the user's ``--range``.
        size: of the stream, which B may leave out or exceed; None for an endless stream, of which B is required.
        stream: the name of a stream of that size, for the message.

    Raises:
        UserInputError: the text is none, or no number is in it.
    """
    found = _RANGE.fullmatch(text)
    end = (int(found[2]) if found[2] else size) if found else None
    if size is not None and end is not None:
        end = min(size, end)
    if found is None or end is None or int(found[1]) >= end:
        about = "cases have the numbers from 0" if size is None else f"{stream} has statements 0 to {size - 1}"
        raise UserInputError(
            f"--range {text}: {about}; give two numbers such as 0:{min(size or 100, 100)}, the first and the one "
            "after the last"
        )
    return range(int(found[1]), end)


LEARNED = r'\{\s*"engine"'
"""How the files begin that ``engine learn`` writes."""


def writable(over: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """Return a callback that finds out before a run, and not after it, that a file of its results cannot be written.

    The callback raises ``UserInputError``.

    Args:
        over: how the files begin that may be replaced, as a regular expression.
    """

    def checked(_context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is not None:
            try:
                require_writable(path, over=over)
            except OSError as error:
                option = max(parameter.opts, key=len)
                raise UserInputError(
                    f"cannot write {path}: {error}. Choose another file with {option} FILE."
                ) from error
        return path

    return checked


def require_new_certificate(path: Path) -> None:
    """Find out before a run, and not after it, that its certificate cannot be written.

    Raises:
        UserInputError: something is there already, or the folder takes no file.
    """
    if os.path.lexists(path):
        raise UserInputError(f"{path} exists already; give --certificate another name, or move it away")
    try:
        require_writable(path)
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --certificate FILE.") from error


def file_option(
    name: str, parameter: str, purpose: str, *, over: str | None = None, multiple: bool = False
) -> Callable[[Any], Any]:
    """Return an option that names a file.

    Args:
        name: of the option, with its dashes.
        parameter: of the command's function.
        purpose: the help.
        over: of a file that the command writes at its end, see ``writable``; None for any other.
        multiple: whether it may be repeated.
    """
    return click.option(
        name,
        parameter,
        type=click.Path(path_type=Path, dir_okay=False),
        callback=None if over is None else writable(over),
        multiple=multiple,
        metavar="FILE",
        help=purpose,
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout, and nothing else there."
)

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show results and errors only, no progress.")

verbose_option = click.option("--verbose", "-v", is_flag=True, help="Also show maintenance notices.")

events_option = file_option(
    "--events", "events_file", "Write every event of the run as a line of JSON, as it happens (docs/commands.md)."
)

observations_option = file_option(
    "--observations",
    "observations_file",
    "Write every case as a line of JSON for viewers of Hypothesis' observations, such as Tyche.",
)

engine_option = click.option(
    "--engine",
    "engine_name",
    default="pyspark",
    show_default=True,
    metavar="NAME",
    help="The engine to check: a registered name, or package.module:Class.",
)

max_cases_option = click.option("--max-cases", type=click.IntRange(min=1), metavar="N", help="Stop after N cases.")

max_time_option = click.option(
    "--max-time",
    "max_seconds",
    type=FiniteRange(min=0),
    metavar="S",
    help="Stop after S seconds, not counting start-up.",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="The same seed gives the same cases. Drawn and printed if left out.",
)

batch_option = click.option(
    "--batch",
    "batch_size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Check N pairs of tables in one merge, if the statement allows it; 1 checks each alone.",
)


def jobs_option(text: str) -> Callable[[Any], Any]:
    """Make the option of how many are checked at once."""
    return click.option(
        "--jobs", "num_jobs", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help=text
    )


on_spark_option = click.option(
    "--on-spark",
    "spark_master",
    metavar="URL",
    help="Check the parts of the --range on the workers of this Spark cluster, spark://HOST:PORT; for engines that "
    "need no Spark.",
)

case_timeout_option = click.option(
    "--case-timeout",
    "case_seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long the engine may take for a case; a longer one counts as a failure of the engine.",
)

case_id_option = click.option("--id", "case_id", metavar="ID", help="Which case to take, if the file holds several.")


def trust_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--trust``, and print a notice if it is given."""

    @functools.wraps(command)
    def saying_so(*, trust: bool, **values: Any) -> Any:  # noqa: ANN401 - click passes options of any type
        if trust:
            notice("--trust: cases run without being shown harmless; their SQL may read and change what you may")
        return command(trust=trust, **values)

    help_text = "Run cases that may touch more than their own tables. Only for files of your own."
    return click.option("--trust", is_flag=True, help=help_text)(saying_so)


check_option = click.option(
    "--check",
    "check_names",
    type=click.Choice([check.value for check in Check]),
    multiple=True,
    help="Compare only this, and whether the merge fails; may be repeated. The rest counts as not checked.",
)


def checks_named(names: tuple[str, ...]) -> frozenset[Check] | None:
    """Return the observables that ``--check`` names; None if it was left out."""
    return frozenset(map(Check, names)) or None


oracle_option = click.option(
    "--oracle",
    "oracle_name",
    type=click.Choice([oracle.value for oracle in Oracle]),
    default=Oracle.REFERENCE.value,
    show_default=True,
    help="What judges the engine: the reference, metamorphic relations between its own answers, or both.",
)

expressions_option = click.option(
    "--expressions",
    "expressions_name",
    type=click.Choice([one.value for one in Expressions]),
    default=Expressions.AUTO.value,
    show_default=True,
    help="What evaluates expressions and source queries for the reference: DuckDB as far as it can and Spark for the "
    "rest (fuzz: if the engine is on Spark), DuckDB alone, or Spark alone (docs/expressions.md).",
)


def limits_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--floor`` and ``--max-deviating``, and pass them to the command as ``limits``."""

    @functools.wraps(command)
    def with_limits(*, floor: float, max_deviating: float, **values: Any) -> Any:  # noqa: ANN401 - click passes options of any type
        return command(limits=Limits(floor=floor, max_deviating=max_deviating), **values)

    for option in (
        click.option(
            "--max-deviating",
            type=FiniteRange(0, 1),
            default=DEFAULT_MAX_DEVIATING,
            show_default=True,
            help="Maximum share of cases that show known deviations; above it the run is inconclusive (exit code 4).",
        ),
        click.option(
            "--floor",
            type=FiniteRange(0, 1),
            default=DEFAULT_FLOOR,
            show_default=True,
            help="Minimum share of verified cases; below it the run is inconclusive (exit code 4).",
        ),
    ):
        with_limits = option(with_limits)
    return with_limits


markdown_option = file_option("--markdown", "markdown", "Also write the result to FILE as Markdown.", over=r"#|\||<!--")


def findings_option(purpose: str, *, default: Path = FINDINGS_DIRECTORY) -> Callable[[Any], Any]:
    """Return the option ``--findings``, whose help gives the purpose of the folder."""
    return click.option(
        "--findings",
        "findings_directory",
        type=click.Path(path_type=Path, file_okay=False),
        default=default,
        show_default=True,
        metavar="DIR",
        help=purpose,
    )


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that set where Spark runs and where tables are created, and apply them to this process."""

    @functools.wraps(command)
    def with_place(*, master: str | None, remote: str | None, table_root: str | None, **values: Any) -> Any:  # noqa: ANN401 - click passes options of any type
        use_place(spark_place(master=master, remote=remote, table_root=table_root))
        if values.get("engine_name", "") is not None:  # a verb that runs no engine connects to no store
            require_place()
        answer = command(**values)
        if _on_command_line("master", "remote", "table_root") and not was_used():
            notice("--master, --remote and --table-root had no effect: no engine of this run uses Spark")
        return answer

    for option in (
        click.option(
            "--table-root",
            metavar="PLACE",
            help="Where tables are created: a directory that all Spark workers share, or s3a://BUCKET/PREFIX. "
            f"[env: {TABLE_ROOT_VARIABLE}]",
        ),
        click.option(
            "--remote", metavar="URL", help=f"A Spark Connect server, sc://HOST:PORT. [env: {REMOTE_VARIABLE}]"
        ),
        click.option(
            "--master",
            metavar="URL",
            help=f"A Spark master: spark://HOST:PORT or local[N]. [env: {MASTER_VARIABLE}; default: {DEFAULT_MASTER}]",
        ),
    ):
        with_place = option(with_place)
    return with_place


def _on_command_line(*names: str) -> bool:
    """Return whether any of these options was given for this command, not by the configuration for all."""
    context = click.get_current_context()
    return any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


def deviation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose which known deviations of engines apply."""
    for option in (
        click.option("--no-deviations", is_flag=True, help="Report known deviations as ordinary mismatches."),
        file_option(
            "--deviations",
            "deviation_files",
            "Known deviations to add to the packaged ones (docs/deviations.md); may be repeated.",
            multiple=True,
        ),
    ):
        command = option(command)
    return command


def known_deviations(files: tuple[Path, ...], *, none: bool) -> Deviations:
    """Read the known deviations that the options of ``deviation_options`` ask for.

    Raises:
        UserInputError: a file is not a valid list of deviations.
    """
    if none and files:
        raise click.UsageError("give either --deviations or --no-deviations")
    return Deviations() if none else load_deviations(files)
