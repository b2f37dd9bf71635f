"""Which mutants could show in a run of the right merge (weak mutation).

A mutant is run on a case only if one of its functions returned something else than the right one when the right merge
called it. Otherwise the whole merge would do the same, and running it would be a waste.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tools.selfcheck.fault import name_of, workers_given
from tools.selfcheck.mutation import calling, copy_of, replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FunctionType

    from tools.selfcheck.fault import Mutant

# The result of a function that acts, or plans a query: to call it twice is expensive at least, and proves nothing.
_NOT_COMPARED = ("DataFrame", "Iterator", "Iterable", "PathResult", "WriteResult", "TouchedFiles")


@contextlib.contextmanager
def watched(mutants: Sequence[Mutant]) -> Iterator[set[str]]:
    """Watch the right merge for the length of a ``with`` block.

    Every call of a function that a mutant changes returns the right function's result. The wrong versions are
    called beside it, with the same arguments. A call alone counts as a difference if a function cannot be compared,
    or if Spark's workers would run the wrong version.

    Yields:
        The ids of the faults that made a difference, complete at the end of the block.
    """
    watch = _Watch()
    rivals: dict[FunctionType, dict[str, FunctionType | None]] = {}
    for mutant in mutants:
        for function, wrong in mutant.functions.items():
            compared = mutant.fault.comparable and is_compared(function)
            rivals.setdefault(function, {})[mutant.fault.id] = wrong if compared else None
    tasks = {mutant.fault.id: mutant.fault.in_workers for mutant in mutants if mutant.fault.in_workers is not None}
    watching = {function: calling(watch.of(copy_of(function), others)) for function, others in rivals.items()}
    with replaced(watching), workers_given(functools.partial(watch.note_task, tasks)):
        yield watch.differing


def is_compared(function: FunctionType) -> bool:
    """Return whether two versions of a function can be called with the same arguments, and their results compared."""
    returned = str(function.__annotations__.get("return", ""))
    return not any(name in returned for name in _NOT_COMPARED)


@dataclass(slots=True)
class _Watch:
    """Calls the right functions, and notes which mutants returned something else."""

    differing: set[str] = field(default_factory=set)
    is_comparing: bool = False

    def of(self, right: FunctionType, rivals: Mapping[str, FunctionType | None]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - arguments of any function
            if self.is_comparing:  # calls of a wrong version are no calls of the right merge
                return right(*args, **kwargs)
            answer, error = _call(right, args, kwargs)
            self.is_comparing = True
            try:
                for name, wrong in rivals.items():
                    if name not in self.differing and (
                        wrong is None or not _is_same((answer, error), _call(wrong, args, kwargs))
                    ):
                        self.differing.add(name)
            finally:
                self.is_comparing = False
            if error is not None:
                raise error
            return answer

        return call

    def note_task(self, tasks: Mapping[str, str], task: Callable[..., Any]) -> Callable[..., Any]:
        self.differing.update(name for name, wanted in tasks.items() if wanted == name_of(task))
        return task


def _call(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001 - compared, too; the right one's is raised again
        return None, error


def _is_same(left: Any, right: Any) -> bool:  # noqa: ANN401 - any value of merge
    """Compare by value, also what compares by identity."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Exception):
        return str(left) == str(right)
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(_is_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if is_dataclass(left) and not isinstance(left, type):
        return all(_is_same(getattr(left, f.name), getattr(right, f.name)) for f in fields(left))
    if isinstance(left, pa.Field | pa.Schema | pa.DataType):
        return bool(left.equals(right, check_metadata=True))  # == leaves metadata out
    return bool(left == right)
