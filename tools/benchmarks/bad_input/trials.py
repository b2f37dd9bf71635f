"""Give ``mergecheck`` a bad input and judge how it takes it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.processes.time_limit import raising_after
from mergecheck.harness.verdict import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.benchmarks.bad_input.inputs import BadInput

MAX_MESSAGE_BYTES = 2_048
MAX_SECONDS = 60.0
MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
_RAN = (ExitCode.AGREE, ExitCode.MISMATCH, ExitCode.INCONCLUSIVE)


class Outcome(Enum):
    """How an input was taken; all but the first three are faults."""

    RAN = "ran: the damage left something sound"
    REFUSED = "refused (2)"
    FAILED = "engine or infrastructure (3)"
    TRACEBACK = "FAULT: a traceback"
    LONG_MESSAGE = "FAULT: a message of more than 2 kB"
    NO_MESSAGE = "FAULT: no message"
    RAW_CONTROL = "FAULT: a raw control character"
    OTHER_CODE = "FAULT: another exit code"
    HANG = "FAULT: no end"

    @property
    def is_fault(self) -> bool:
        """Whether the program should have taken the input otherwise."""
        return self not in (Outcome.RAN, Outcome.REFUSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one input: the exit code and the output."""

    given: BadInput
    outcome: Outcome
    code: int | None
    output: str
    seconds: float


class _HungError(BaseException):
    """No ``except Exception`` of the program may take it for an error of its own."""


def try_here(given: BadInput, folder: Path) -> Trial:
    """Run the command line in this process, by click's runner."""
    arguments = _arguments(given, folder)
    begin = time.monotonic()
    code: int | None = None
    with CliRunner().isolation() as (out, err, _):
        with contextlib.suppress(_HungError), contextlib.chdir(folder), raising_after(MAX_SECONDS, _HungError):
            code = main(arguments)
        written, messages = out.getvalue(), err.getvalue()
    return _judged(given, code, written, messages, time.monotonic() - begin)


def try_process(given: BadInput, folder: Path) -> Trial:
    """Run the command line as a process."""
    arguments = [MERGECHECK, *_arguments(given, folder)]
    begin = time.monotonic()
    try:
        ended = subprocess.run(  # noqa: S603 - our own command
            arguments, capture_output=True, check=False, timeout=MAX_SECONDS, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return _judged(given, None, b"", b"", time.monotonic() - begin)
    return _judged(given, ended.returncode, ended.stdout, ended.stderr, time.monotonic() - begin)


@contextlib.contextmanager
def input_folder(given: BadInput) -> Iterator[Path]:
    """Write the files of an input."""
    with tempfile.TemporaryDirectory(prefix="bad-input-") as name:
        folder = Path(name)
        for relative, content in given.files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield folder


def _arguments(given: BadInput, folder: Path) -> Sequence[str]:
    return [argument.replace("{folder}", str(folder)) for argument in given.arguments]


def _judged(given: BadInput, code: int | None, written: bytes, messages: bytes, seconds: float) -> Trial:
    output = (written + messages).decode("utf-8", "replace")
    outcome = _outcome(code, output, messages)
    return Trial(given=given, outcome=outcome, code=code, output=output, seconds=seconds)


def _outcome(code: int | None, output: str, messages: bytes) -> Outcome:
    if code is None:
        return Outcome.HANG
    if "Traceback" in output or "this is a bug in" in output:
        return Outcome.TRACEBACK
    if not all(sign.isprintable() or sign in "\n\t" for sign in output):
        return Outcome.RAW_CONTROL
    if code in _RAN:
        return Outcome.RAN
    if code not in (ExitCode.USAGE, ExitCode.ENGINE):
        return Outcome.OTHER_CODE
    if max(map(len, messages.splitlines()), default=0) > MAX_MESSAGE_BYTES:
        return Outcome.LONG_MESSAGE
    if not output.strip():
        return Outcome.NO_MESSAGE
    return Outcome.REFUSED if code == ExitCode.USAGE else Outcome.FAILED
