"""The four classes of failure and their exit codes."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a ``mergecheck`` process ends with."""

    AGREE = 0
    MISMATCH = 1
    USAGE = 2
    ENGINE = 3
    INCONCLUSIVE = 4
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


class MergecheckError(Exception):
    """Root of the harness's own errors."""

    exit_code = ExitCode.ENGINE


class UserInputError(MergecheckError, ValueError):
    """Something that the user gave cannot be used; the message says what, what is allowed and what to do."""

    exit_code = ExitCode.USAGE


class BadSettingError(UserInputError):
    """A setting of a case has a value that the engine refuses."""


class MissingExtraError(UserInputError):
    """What the user asked for needs packages that are not installed; the message has the command that installs them."""


class OutputError(MergecheckError, RuntimeError):
    """Nobody reads the results of a run any more."""

    exit_code = ExitCode.OUTPUT_CLOSED


class EngineDownError(MergecheckError, RuntimeError):
    """The engine or its infrastructure failed; nothing is known about the merge."""

    exit_code = ExitCode.ENGINE


class HarnessBugError(MergecheckError, AssertionError):
    """The harness contradicts itself; please report it with the case."""

    exit_code = ExitCode.ENGINE
