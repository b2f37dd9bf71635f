"""Which mutants could show in a run of the right merge (weak mutation).

A mutant is run on a case only if one of its functions returned something else than the right one when the right merge
called it. Otherwise the whole merge would do the same, and running it would be a waste.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck.fault import name_of, workers_given
from mergecheck.harness.selfcheck.mutation import behaving_as, calling, copy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FunctionType

    from mergecheck.harness.selfcheck.fault import Mutant

# What a function returns that acts, or plans a query: to call it twice is expensive at least, and says nothing.
_NOT_COMPARED = ("DataFrame", "Iterator", "Iterable", "PathResult", "WriteResult", "TouchedFiles")


@contextlib.contextmanager
def watched(mutants: Sequence[Mutant]) -> Iterator[set[str]]:
    """Watch the right merge for the length of a ``with`` block.

    Every call of a function that a mutant changes returns what the right function returns. The wrong versions are
    called beside it, with the same arguments. A call alone counts as a difference if a function cannot be compared,
    or if Spark's workers would run the wrong version.

    Yields:
        The ids of the faults that made a difference, complete at the end of the block.
    """
    watch = _Watch()
    rivals: dict[FunctionType, list[tuple[str, FunctionType | None]]] = {}
    for mutant in mutants:
        for function, wrong in mutant.functions.items():
            compared = wrong if mutant.fault.comparable and is_compared(function) else None
            rivals.setdefault(function, []).append((mutant.fault.id, compared))
    tasks = [(mutant.fault.id, mutant.fault.in_workers) for mutant in mutants if mutant.fault.in_workers is not None]
    with contextlib.ExitStack() as stack:
        for function, others in rivals.items():
            if function.__closure__:  # only a function with the same variables of what encloses it could take its place
                watch.differing.update(name for name, _ in others)
                continue
            stack.enter_context(behaving_as(function, calling(watch.of(copy_of(function), others))))
        if tasks:
            stack.enter_context(workers_given(watch.of_tasks(tasks)))
        yield watch.differing


def is_compared(function: FunctionType) -> bool:
    """Tell whether two versions of a function can be called with the same arguments, and what they return compared."""
    returned = str(function.__annotations__.get("return", ""))
    return not any(name in returned for name in _NOT_COMPARED)


@dataclass(slots=True)
class _Watch:
    differing: set[str] = field(default_factory=set)
    is_comparing: bool = False

    def of(self, right: FunctionType, rivals: Sequence[tuple[str, FunctionType | None]]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - arguments of any function
            if self.is_comparing:  # what a wrong version calls says nothing of the right merge
                return right(*args, **kwargs)
            answer = _Answer.of(right, args, kwargs)
            self.is_comparing = True
            try:
                for name, wrong in rivals:
                    if name not in self.differing and (
                        wrong is None or not answer.is_like(_Answer.of(wrong, args, kwargs))
                    ):
                        self.differing.add(name)
            finally:
                self.is_comparing = False
            return answer.given()

        return call

    def of_tasks(self, tasks: Sequence[tuple[str, str]]) -> Callable[[Any], Any]:
        def note(task: Any) -> Any:  # noqa: ANN401 - a callable of Spark's iterators
            self.differing.update(name for name, wanted in tasks if wanted == name_of(task))
            return task

        return note


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call gave: a value or an error."""

    value: Any = None
    error: Exception | None = None

    @classmethod
    def of(cls, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Answer:
        try:
            return cls(value=function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - part of what is compared; the right one's is raised again
            return cls(error=error)

    def is_like(self, other: _Answer) -> bool:
        if self.error is not None or other.error is not None:
            return type(self.error) is type(other.error) and str(self.error) == str(other.error)
        return _is_same(self.value, other.value)

    def given(self) -> Any:  # noqa: ANN401 - as the function gave it
        if self.error is not None:
            raise self.error
        return self.value


def _is_same(left: Any, right: Any) -> bool:  # noqa: ANN401 - any value of merge
    """Compare by value, also what compares by identity."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(_is_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if is_dataclass(left) and not isinstance(left, type):
        return all(_is_same(getattr(left, f.name), getattr(right, f.name)) for f in fields(left))
    return bool(left == right)
