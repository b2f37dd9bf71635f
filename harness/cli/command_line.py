"""The command line's entry point: the table of verbs, and exit codes for errors."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import traceback
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.configured.command import configured
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
from mergecheck.harness.configuration.extras import missing_extra
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.verdict import ExitCode, MergecheckError, MissingExtraError, OutputError
from mergecheck.model.errors import CaseFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

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

# Sections of the help, and for each verb what it does.
VERBS = {
    "Check an engine": {
        "run": "Check one case, or one merge of your own tables, and explain it.",
        "fuzz": "Check random cases until a budget is spent.",
        "explain": "Tell row by row how one case comes to its result.",
        "replay": "Check saved cases and findings again.",
        "sequences": "Check several merges and other writes on one table.",
        "concurrency": "Check writers that run at the same time on one table.",
        "variants": "Check cases under configurations that must not change them.",
        "bisect": "Name the configuration that changes the outcome of a case.",
        "scale": "Check merges of large generated tables.",
    },
    "Compare and certify engines": {
        "matrix": "Compare several engines, feature by feature.",
        "scoreboard": "Put stored runs of engines and releases together.",
        "conform": "Run the fixed conformance suite and write a certificate.",
        "learn": "Find out by trial what an engine refuses.",
        "new-engine": "Write the template of an engine of your own.",
    },
    "Keep cases": {
        "cases": "List, show, compare and prune saved cases.",
        "adopt": "Make a finding a test of your project.",
        "export": "Write a case as a script for another system.",
        "shrink": "Make a failing case smaller.",
        "import": "Make a case of two versions of a Delta table.",
    },
    "Inspect": {
        "rules": "Count the cases that reach each rule of the specification.",
        "selfcheck": "Measure how fast planted faults are found.",
        "doctor": "Check that this machine has what a run needs.",
    },
    "Set up a project": {
        "config": "Show the configuration and where each value comes from.",
        "ci": "Report results to a CI service, or write its workflows.",
        "compare": "Tell what a run found that an earlier one did not.",
    },
}
_MODULES = {
    "fuzz": "fuzzing.fuzz",
    "cases": "saved.cases",
    "adopt": "saved.adopt",
    "export": "saved.export",
    "shrink": "saved.shrink",
    "import": "saved.import_case",
    "explain": "explaining.explain",
    "concurrency": "concurrency.concurrency",
    "sequences": "sequencing.sequences",
    "variants": "variants.variants",
    "bisect": "variants.bisect",
    "learn": "engines.learn",
    "scoreboard": "engines.scoreboard",
    "new-engine": "new_engine",
    "config": "project.config",
    "ci": "project.ci",
    "compare": "project.compare",
}
# What these verbs import first is in smaller extras.
_NEED_SPARK = dict.fromkeys(
    ("concurrency", "scale", "selfcheck"), "spark"
)  # what they import first is in smaller extras
_FUNCTIONS = {"import": "import_case"}  # a word of Python's


class VerbGroup(click.Group):
    """The verbs of ``VERBS``, each imported when it is asked for, since engines and libraries load slowly."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all verbs."""
        return [name for section in VERBS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; None if there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"mergecheck.harness.cli.verbs.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name.replace("-", "_")))
        return configured(command, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the verbs by section, without importing them."""
        for title, section in VERBS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=_HELP)
@click.version_option(package_name="mergecheck", message="mergecheck %(version)s")
def cli() -> None:
    """Run one verb."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. A mistake of the user is reported in one message, without a traceback.

    Args:
        arguments: what follows the program's name; None means those of this process.

    Returns:
        The exit code (``ExitCode``).
    """
    make_streams_safe()
    logging.basicConfig(handlers=[LogNotices()])
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return ExitCode.OUTPUT_CLOSED
    except OSError as error:  # an adapter's is none any more
        discard_output()
        error_line(f"cannot read or write: {error}")
        return ExitCode.USAGE
    return code


def _run(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    results = Results(sys.stdout)
    # What an engine prints must not get into the one document.
    out, err = LentStream(sys.stderr if "--json" in given else sys.stdout), LentStream(sys.stderr)
    lent = contextlib.ExitStack()
    lent.enter_context(contextlib.redirect_stdout(out))
    lent.enter_context(contextlib.redirect_stderr(err))
    try:
        with lent, interrupts_kept(also_swallowed=False):  # a run ends with a summary of what it did
            answer = cli.main(args=given, prog_name="mergecheck", standalone_mode=False, obj=results)
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
    verb = next((word for word in given if not word.startswith("-")), "")
    return missing_extra(error, f"mergecheck {verb}".strip(), extra=_NEED_SPARK.get(verb))
