"""A merge up to its first Spark job: enough to see whether a fault in the analysis or in data skipping differs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn
from unittest import mock

from mergecheck.harness.selfcheck.fault import watched
from mergecheck.merge import command
from mergecheck.merge.executors import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.selfcheck.fault import Edit, Fault
    from mergecheck.reference.case.model import Case

_EARLY_MODULES = (
    "mergecheck.merge.types.",
    "mergecheck.merge.expressions.",
    "mergecheck.merge.resolution.",
    "mergecheck.merge.table.reading.data_skipping",
    "mergecheck.merge.table.reading.bounds",
    "mergecheck.merge.table.writing.checks",
)
_EARLY_NAMES = {("mergecheck.merge.command", "table_checks"), ("mergecheck.merge.executors.run", "pruning_predicate")}


def is_early(fault: Fault) -> bool:
    """Tell whether a rehearsal calls everything that the fault replaces, as often as a whole merge would."""
    places = [(_module(edit), edit.name) for edit in fault.edits if edit.comparable]
    early = [place in _EARLY_NAMES or place[0].startswith(_EARLY_MODULES) for place in places]
    return all(early) and len(early) == len(fault.edits)


def differing_early(case: Case, engine: Engine, faults: Sequence[Fault]) -> set[str]:
    """Run a case on the right merge, watched, until its source would be read.

    Args:
        case: what to run.
        engine: the engine ``pyspark``, whose ``merge`` the faults are planted in.
        faults: early ones.

    Returns:
        The names of the faults that made a difference.
    """
    stopping = mock.patch.object(command._Command, "_prepare", _skip_files_and_stop)  # noqa: SLF001 - the seam between analysis and jobs
    with watched(faults) as differing, stopping, contextlib.suppress(_Stopped):
        engine.run(case)
    return differing


class _Stopped(BaseException):
    """Passes through every handler of an engine, which takes each Exception for an answer."""


def _skip_files_and_stop(_command: Any, snapshot: Any, merge: Any, *_rest: Any) -> NoReturn:  # noqa: ANN401 - as _prepare
    run.candidate_files(snapshot, merge)
    raise _Stopped


def _module(edit: Edit) -> str:
    return edit.owner.__module__ if isinstance(edit.owner, type) else edit.owner.__name__
