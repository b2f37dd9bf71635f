"""The command line: one front of the harness, with the exit codes and the JSON of DESIGN's contract."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.bisect import bisect
from mergecheck.harness.cli.cases import cases
from mergecheck.harness.cli.conform import conform
from mergecheck.harness.cli.doctor import doctor
from mergecheck.harness.cli.fuzz import fuzz
from mergecheck.harness.cli.matrix import matrix
from mergecheck.harness.cli.new_engine import new_engine
from mergecheck.harness.cli.replay import replay
from mergecheck.harness.cli.rules import rules
from mergecheck.harness.cli.run import run
from mergecheck.harness.cli.scale import scale
from mergecheck.harness.cli.selfcheck import selfcheck
from mergecheck.harness.cli.sequences import sequences
from mergecheck.harness.cli.terminal import error_line, make_streams_safe
from mergecheck.harness.cli.variants import variants
from mergecheck.harness.errors import ExitCode, MergecheckError
from mergecheck.reference.errors import CaseFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


_HELP = """Find correctness bugs in MERGE INTO: random cases, held against a DuckDB reference.

\b
Exit codes
  0    agree
  1    mismatch
  2    usage or bad input
  3    engine or infrastructure
  4    inconclusive: too little was verified
  130  interrupted
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, help=_HELP)
@click.version_option(package_name="mergecheck", message="mergecheck %(version)s")
def cli() -> None:
    """Group the verbs."""


for command in (
    run,
    fuzz,
    replay,
    sequences,
    variants,
    bisect,
    matrix,
    conform,
    new_engine,
    selfcheck,
    scale,
    rules,
    cases,
    doctor,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; mistakes of the user end in one message, never a traceback."""
    make_streams_safe()
    try:
        answer = cli.main(
            args=None if arguments is None else list(arguments), prog_name="mergecheck", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        error_line("interrupted")
        return ExitCode.INTERRUPTED
    except CaseFormatError as error:
        error_line(str(error))
        return ExitCode.USAGE
    except MergecheckError as error:
        error_line(str(error))
        return error.exit_code
    except Exception:  # noqa: BLE001 - shown in full; Python's own exit code 1 would read as "mismatch"
        traceback.print_exc(file=sys.stderr)
        error_line("this is a bug in mergecheck or in the engine's adapter; please report it with the text above")
        return ExitCode.ENGINE
    return int(answer) if isinstance(answer, int) else ExitCode.AGREE


if __name__ == "__main__":
    sys.exit(main())
