"""Mutants: the entries of the catalogue, and how they are switched on."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from mergecheck.harness.deviations.predicates import Predicate
from tools.selfcheck.mutation import (
    Change,
    calling,
    changed_in_worker,
    compile_changes,
    copy_of,
    find_function,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FunctionType

_RUN_IN_WORKERS = "merge.table.storage.workers.run_in_workers"
_USES_SINGLE_SCAN = "merge.executors.optimizations.single_scan.uses_single_scan"
_ANY_CASE = Predicate(words={})


class Area(Enum):
    """The part of a merge that a fault is in."""

    MATCHING = "matching"
    CLAUSES = "clauses"
    INSERT_ONLY = "insert-only"
    CDF = "change feed"
    METRICS = "metrics"
    SKIPPING = "data skipping"
    WRITING = "writing"
    COMMIT = "commit"
    RESOLUTION = "resolution"
    EVOLUTION = "schema evolution"
    ROW_TRACKING = "row tracking"
    IDENTITY = "identity columns"
    COLUMN_CONDITIONS = "column conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong version of the merge.

    Attributes:
        id: what tables, the command line and tests call it.
        summary: the wrong behaviour.
        rules: the rules of the specification that it breaks.
        changes: the changes of the source.
        when: a property that a case must have for the fault to show: a necessary condition, which saves runs.
        in_workers: the function at the top of the task for Spark's workers in which the changes are made; None if they
            are made in the driver.
        two_scans: it is looked for in merges by two scans, as large ones are; otherwise small ones are single scans.
        comparable: the changed functions only compute, so that both versions can be called with the same arguments.
        origin: a bug of a released engine that it resembles.
        equivalent: why no valid case can show it, if that can be argued; it is run all the same, and not counted.
        seldom: why random cases seldom show it; printed for a fault that is not solved.
    """

    id: str
    area: Area
    summary: str
    rules: tuple[str, ...]
    changes: tuple[Change, ...]
    when: Predicate = _ANY_CASE
    in_workers: str | None = None
    two_scans: bool = True
    comparable: bool = True
    origin: str = ""
    equivalent: str = ""
    seldom: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that is compiled.

    Attributes:
        functions: the wrong version of each function that the fault changes in the driver.
    """

    fault: Fault
    functions: Mapping[FunctionType, FunctionType]

    @classmethod
    def of(cls, fault: Fault) -> Mutant:
        """Compile a fault.

        Raises:
            StaleChangeError: the fault does not fit the source any more.
        """
        functions = compile_changes(fault.changes)  # also if only workers need them: a stale fault fails here
        return cls(fault, {} if fault.in_workers else functions)

    @contextlib.contextmanager
    def switched_on(self) -> Iterator[None]:
        """Make ``merge`` wrong for the length of a ``with`` block."""
        with contextlib.ExitStack() as stack:
            if self.fault.two_scans:
                stack.enter_context(two_scans())
            stack.enter_context(replaced(self.functions))
            if self.fault.in_workers is not None:
                stack.enter_context(workers_given(self._changed_task))
            yield

    def _changed_task(self, task: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        return changed_in_worker(self.fault.changes, task) if name_of(task) == self.fault.in_workers else task


@contextlib.contextmanager
def workers_given(change: Callable[[Callable[[Any], Iterator[Any]]], Callable[[Any], Iterator[Any]]]) -> Iterator[None]:
    """Change the tasks that ``merge`` gives to Spark's workers for the length of a ``with`` block."""
    function = find_function(_RUN_IN_WORKERS)
    right = copy_of(function)

    def run(frame: Any, task: Callable[[Any], Iterator[Any]], ddl: str) -> Any:  # noqa: ANN401 - frames of Spark
        return right(frame, change(task), ddl)

    with replaced({function: calling(run)}):
        yield


def name_of(task: Callable[..., Any]) -> str:
    """Name the function at the top of a task for Spark's workers."""
    while isinstance(task, functools.partial):
        task = task.func
    return task.__name__


@contextlib.contextmanager
def two_scans() -> Iterator[None]:
    """Let small merges do what large ones do for the length of a block: find the touched files, then rewrite them."""
    with replaced({find_function(_USES_SINGLE_SCAN): calling(lambda *_args, **_kwargs: False)}):
        yield
