"""The command line's entry point, and exit codes for errors."""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.output.terminal import (
    LentStream,
    LogNotices,
    Results,
    discard_output,
    error_line,
    make_streams_safe,
    usage_error,
    whole_notice,
)
from mergecheck.harness.cli.verb_group import VerbGroup
from mergecheck.harness.configuration.extras import missing_extra
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.library_warnings import ignore_irrelevant_warnings
from mergecheck.harness.verdict import ExitCode, MergecheckError, MissingExtraError, OutputError
from mergecheck.model.errors import CaseFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HELP = """Find correctness bugs in MERGE INTO: compare an engine with a DuckDB reference on random and saved cases.

\b
Exit codes
  0    agree
  1    mismatch
  2    usage or bad input
  3    engine or infrastructure
  4    inconclusive: too few cases were verified, or too many show known deviations
  130  interrupted
"""

# What these verbs import first is in smaller extras.
_NEED_SPARK = dict.fromkeys(("concurrency", "scale"), "spark")

cli = click.version_option(package_name="mergecheck", message="mergecheck %(version)s")(
    VerbGroup("mergecheck", help=_HELP)
)


def main(
    arguments: Sequence[str] | None = None,
    *,
    command: click.Command = cli,
    name: str = "mergecheck",
    closing: list[Callable[[], None]] | None = None,
) -> int:
    """Run a command line. A mistake of the user is reported in one message, without a traceback.

    Args:
        arguments: the arguments after the program's name; None means this process's own.
        command: mergecheck's verbs, or a command of another program.
        name: the program's name.
        closing: gets what closes the engines, for a caller that does this when the output is out; None closes them.

    Returns:
        The exit code (``ExitCode``).
    """
    make_streams_safe()
    logging.basicConfig(handlers=[LogNotices()])
    ignore_irrelevant_warnings()
    try:
        code = _run(arguments, command, name, closing)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return ExitCode.OUTPUT_CLOSED
    except OSError as error:  # an adapter's is none any more
        discard_output()
        error_line(f"cannot read or write: {error}")
        return ExitCode.USAGE
    return code


def _run(
    arguments: Sequence[str] | None, command: click.Command, name: str, closing: list[Callable[[], None]] | None
) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    results = Results(sys.stdout, [] if closing is None else closing)
    # An engine's output must not get into the one document.
    out, err = LentStream(sys.stderr if "--json" in given else sys.stdout), LentStream(sys.stderr)
    lent = contextlib.ExitStack()
    lent.enter_context(contextlib.redirect_stdout(out))
    lent.enter_context(contextlib.redirect_stderr(err))
    try:
        with lent, interrupts_kept(also_swallowed=False):  # a run ends with a summary
            try:
                answer = command.main(args=given, prog_name=name, standalone_mode=False, obj=results)
            finally:
                while closing is None and results.closing:
                    results.closing.pop()()
    except click.ClickException as error:
        usage_error(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        error_line("interrupted")
        return ExitCode.INTERRUPTED
    except CaseFormatError as error:
        error_line(str(error))
        return ExitCode.USAGE
    except OutputError as error:
        return error.exit_code
    except MergecheckError as error:
        error_line(str(error))
        return error.exit_code
    except OSError:
        raise
    except SystemExit:  # click raises none; a run that something ended may not look like a run that found nothing
        error_line("the engine's adapter called sys.exit(); it must return an answer or raise an error")
        return ExitCode.ENGINE
    except BaseException as error:  # noqa: BLE001 - shown in full; Python's own exit code 1 would read as "mismatch"
        if isinstance(error, ImportError) and (missing := _missing(error, given)):
            error_line(str(missing))
            return missing.exit_code
        whole_notice(traceback.format_exc())
        error_line("this is a bug in mergecheck or in the engine's adapter; please report it with the text above")
        return ExitCode.ENGINE
    return int(answer) if isinstance(answer, int) else ExitCode.AGREE


def _missing(error: ImportError, given: Sequence[str]) -> MissingExtraError | None:
    words = [word for word in given if not word.startswith("-")][:2]
    verb = next((word for word in words if word in _NEED_SPARK), words[0] if words else "")
    return missing_extra(error, f"mergecheck {verb}".strip(), extra=_NEED_SPARK.get(verb))
