"""A merge up to its first Spark job: enough to see whether mutants of the analysis or of data skipping differ."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

from mergecheck.merge.executors.merge_run import candidate_files
from tools.selfcheck.mutation import calling, find_function, replaced
from tools.selfcheck.watch import is_compared, watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case
    from tools.selfcheck.fault import Mutant

_ANALYSIS = (
    "merge.types.",
    "merge.expressions.",
    "merge.resolution.",
    "merge.table.reading.data_skipping.",
    "merge.table.reading.bounds.",
    "merge.table.writing.checks.table_checks",
    "merge.executors.merge_run.pruning_predicate",
)
_AFTER_ANALYSIS = "merge.command._Command._prepare"


def differs_during_analysis(mutant: Mutant) -> bool:
    """Return whether the analysis calls every function that a mutant changes, as often as a whole merge would."""
    names = [change.function for change in mutant.fault.changes]
    return (
        all(name.startswith(_ANALYSIS) for name in names)
        and mutant.fault.comparable
        and all(is_compared(function) for function in mutant.functions)
    )


def differing_in_analysis(case: Case, engine: Engine, mutants: Sequence[Mutant]) -> set[str]:
    """Watch the right merge until it would read the source.

    Args:
        case: what to run.
        engine: the engine ``pyspark``, whose ``merge`` is mutated.
        mutants: those that differ during the analysis, if they differ at all.

    Returns:
        The ids of the faults that made a difference.
    """
    stopping = replaced({find_function(_AFTER_ANALYSIS): calling(_skip_files_and_stop)})
    with watched(mutants) as differing, stopping, contextlib.suppress(_Stopped):
        engine.run(case)
    return differing


class _Stopped(BaseException):
    """Passes through every handler of an engine, which takes each Exception for an answer."""


def _skip_files_and_stop(_command: Any, snapshot: Any, merge: Any, *_rest: Any) -> NoReturn:  # noqa: ANN401 - as _prepare
    candidate_files(snapshot, merge)
    raise _Stopped
