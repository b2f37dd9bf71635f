"""The harness's verdict on one case on one engine."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

from mergecheck.model.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.work_counts import WorkCounts
    from mergecheck.reference.answer import Reference


class ExitCode(IntEnum):
    """The exit code of a ``mergecheck`` process."""

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
    """Something that the user gave cannot be used; the message gives it, the allowed values and the next step."""

    exit_code = ExitCode.USAGE


class BadSettingError(UserInputError):
    """A setting of a case has a value that the engine refuses."""


class MissingExtraError(UserInputError):
    """The user's command needs packages that are not installed; the message has the command that installs them."""


class OutputError(MergecheckError, RuntimeError):
    """The reader of a run's results is gone."""

    exit_code = ExitCode.OUTPUT_CLOSED


class EngineDownError(MergecheckError, RuntimeError):
    """The engine or its infrastructure failed; nothing is known about the merge."""

    exit_code = ExitCode.ENGINE


class HarnessBugError(MergecheckError, AssertionError):
    """The harness contradicts itself; please report it with the case."""

    exit_code = ExitCode.ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The options, besides the case itself, that decide the verdict of a case.

    Attributes:
        engine: the name that starts the engine; empty if none was given.
        options: other options by their names without dashes; a flag has the value "".
    """

    engine: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def flags(self, prefix: str = "--") -> str:
        """Write the options for a shell, each after a space.

        Args:
            prefix: what stands before each name; pytest's options begin with ``--mergecheck-``.
        """
        named = (("engine", self.engine),) if self.engine else ()
        return "".join(
            f" {prefix}{name} {shlex.quote(value)}" if value else f" {prefix}{name}"
            for name, value in (*named, *self.options)
        )


class Verdict(Enum):
    """How the check of a case ends; JSON output has the value."""

    AGREE = "agree"
    """the merge succeeded and every check that the engine supports agrees"""
    MISMATCH = "mismatch"
    """the engine differs from the reference or from the case's ``expect``"""
    BOTH_REJECTED = "both_rejected"
    """engine and reference both reject the statement, with the same error class"""
    JUDGED_IN_PART = "judged_in_part"
    """the reference predicts nothing; the engine's answer breaks no invariant that needs none; see the reason"""
    UNSUPPORTED = "unsupported"
    """the engine does not do this; see the reason"""
    ENGINE_ERROR = "engine_error"
    """the engine is down, its adapter failed, or the reference did; no evidence about the merge"""


EXIT_CODES: Mapping[Verdict, ExitCode] = {
    Verdict.AGREE: ExitCode.AGREE,
    Verdict.BOTH_REJECTED: ExitCode.AGREE,
    Verdict.MISMATCH: ExitCode.MISMATCH,
    Verdict.JUDGED_IN_PART: ExitCode.INCONCLUSIVE,
    Verdict.UNSUPPORTED: ExitCode.INCONCLUSIVE,
    Verdict.ENGINE_ERROR: ExitCode.ENGINE,
}
"""How a verb ends that checks one case without known deviations."""


class Oracle(Enum):
    """What judges an engine's answers; the value is what ``--oracle`` calls it."""

    REFERENCE = "reference"
    METAMORPHIC = "metamorphic"
    """relations between the engine's own answers"""
    BOTH = "both"
    """the reference, and relations if it agrees"""


class Expressions(Enum):
    """What evaluates expressions and source queries for the reference; the value is what ``--expressions`` calls it."""

    AUTO = "auto"
    """DuckDB where there is a translation, and Spark for the rest; ``fuzz`` starts no Spark for it"""
    DUCKDB = "duckdb"
    """DuckDB alone; what has no translation is unsupported"""
    SPARK = "spark"
    """Spark, for every expression"""


class Check(Enum):
    """The observables that are compared."""

    ROWS = "rows"
    SCHEMA = "schema"
    METRICS = "metrics"
    CDF = "cdf"
    ERROR = "error"
    COMMIT = "commit"
    PATH = "path"
    UNCHANGED = "unchanged"
    FILES = "files"
    TABLE = "table"
    """the table's definition in the log: properties, protocol, partition columns, name, comments"""
    LOG = "log"
    """the commit's own entries: ``commitInfo`` and the flags of its actions"""
    RESULT = "result"
    """the row that the command returns"""


LEFT_OUT = "left out by --check"
"""Why a check was not made, if it was not requested (``CaseReport.unsupported_reasons``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One way in which an engine differs.

    Attributes:
        check: the observable.
        against: ``reference``, ``expect``, or ``itself`` if the engine's own answer breaks an invariant.
        kind: the kind of difference, from a small closed vocabulary of the comparator, e.g. ``missing_rows``,
            ``extra_rows``, ``changed_rows``, ``numTargetRowsCopied``, ``no_error``, ``spurious_error``,
            ``error_class``, ``P-12``. Together with ``check`` it makes the fingerprint.
        lines: the difference for a person, at most a dozen lines of at most 100 columns; never a whole table.
        parts: all of the difference, one text for each differing cell, missing or extra row; empty if ``lines``
            have all. An explanation of a difference has to explain every part of it.
    """

    check: Check
    against: str
    kind: str
    lines: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One observable of an engine's answer that was held against something.

    Attributes:
        against: as in ``Mismatch``.
        kinds: the kinds of difference that would have been seen; None for all.
    """

    check: Check
    against: str
    kinds: frozenset[str] | None = None

    def shows(self, mismatch: Mismatch) -> bool:
        """Return whether this comparison would have found a difference, if it were there."""
        is_same = (self.check, self.against) == (mismatch.check, mismatch.against)
        return is_same and (self.kinds is None or mismatch.kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """Everything known after one case was checked.

    Attributes:
        result: the engine's answer; None if the engine is down.
        facts: the facts that the case reached.
        reason: why the verdict is ``judged_in_part``, ``unsupported`` or ``engine_error``; empty otherwise.
        compared: the comparisons made, and the side compared with. A check missing here is not known to agree.
        unsupported_checks: checks that were not made, or not for all metrics, because the engine lacks the capability.
        unsupported_metrics: the metrics that were not compared, because the engine does not report them.
        unsupported_reasons: why, by the name of the check or of the metric, if the engine gives a reason.
        work: the work of the engine's merge, and how much of it was in vain; None if that is not known.
        work_unknown: why it is not known, if the merge's rows are right.
        unknown_columns: columns with values that cannot be predicted, whose form is checked.
        deviations: ids of the entries that explain every mismatch; empty if something is unexplained.
        is_lost: the engine took too long for the case, or its process was lost with it; the verdict is
            ``engine_error``, and every such case is kept.
        is_defect: the reference failed, so that ``engine_error`` is a defect of mergecheck and not of the engine.
        rerun: how to check the case again as it was checked.
        seconds: wall time of the whole check. phase_seconds: the same by ``reference``, ``engine`` and ``compare``.
    """

    case: Case
    engine: str
    engine_version: str
    verdict: Verdict
    reference: Reference
    result: EngineResult | None
    facts: Facts = field(default_factory=Facts)
    mismatches: tuple[Mismatch, ...] = ()
    compared: tuple[Compared, ...] = ()
    reason: str = ""
    unsupported_checks: tuple[Check, ...] = ()
    unsupported_metrics: tuple[str, ...] = ()
    unsupported_reasons: Mapping[str, str] = field(default_factory=dict)
    work: WorkCounts | None = None
    work_unknown: str = ""
    unknown_columns: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    is_defect: bool = False
    is_lost: bool = False
    rerun: Rerun = field(default_factory=Rerun)
    seconds: float = 0.0
    phase_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        """Whether the engine's answer was held against a prediction; what another case reaches counts as not tested."""
        return self.verdict not in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED, Verdict.ENGINE_ERROR)
