"""A fault that can be switched on in ``merge`` while it runs: a mutant schema (techniques T27)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any
from unittest import mock

from mergecheck.harness.selfcheck.preconditions import nothing
from mergecheck.merge.executors.optimizations import single_scan
from mergecheck.merge.table.writing import write as writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from mergecheck.harness.selfcheck.preconditions import Need

Function = Callable[..., Any]


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


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """One function of ``merge`` that a fault replaces.

    Attributes:
        owner: the module or class that calls it under ``name``.
        wrong: makes the wrong function of the right one.
        comparable: the function only computes, so that both versions can be asked and their answers compared. Where
            it acts, or gives a plan, a call alone counts as a difference.
    """

    owner: ModuleType | type
    name: str
    wrong: Callable[[Any], Any]
    comparable: bool = True

    @property
    def place(self) -> tuple[int, str]:
        """What two edits of one function have in common."""
        return id(self.owner), self.name

    def right(self) -> Any:  # noqa: ANN401 - a function or a property
        """Return what stands there now.

        Raises:
            KeyError: the function is gone, so that renaming one cannot disarm a fault.
        """
        return vars(self.owner)[self.name]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fault:
    """One wrong version of the merge.

    Attributes:
        name: what tables and tests call it.
        sentence: what is wrong.
        rules: the rules of the specification that it breaks.
        origin: where the idea comes from: a danger of part 9.2, the mutant catalogue T27, a bug of a released engine.
        needs: whether a case can show it at all, see ``needs``.
        equivalent: why no valid case can show it, where that can be argued; it is run all the same, and not counted.
        seldom: why random cases seldom show it; told of a fault that is not solved.
        by_two_scans: it is looked for in merges by two scans, as large ones are; otherwise small ones are single scans.
    """

    name: str
    area: Area
    sentence: str
    rules: tuple[str, ...]
    edits: tuple[Edit, ...]
    origin: str = ""
    needs: Need = nothing
    equivalent: str = ""
    seldom: str = ""
    by_two_scans: bool = True

    @contextlib.contextmanager
    def switched_on(self) -> Iterator[None]:
        """Make ``merge`` wrong within a ``with`` block, and right again behind it."""
        with contextlib.ExitStack() as stack:
            if self.by_two_scans:
                stack.enter_context(two_scans())
            for edit in self.edits:
                stack.enter_context(mock.patch.object(edit.owner, edit.name, edit.wrong(edit.right())))
            yield


@contextlib.contextmanager
def two_scans() -> Iterator[None]:
    """Let small merges do what large ones do, within a ``with`` block: find the touched files, then rewrite them."""
    with mock.patch.object(single_scan, "uses_single_scan", return_value=False):
        yield


def with_other(module: ModuleType, name: str, function: Function) -> Callable[[Any], Any]:
    """Make the wrong version of a function: the right one, with another function of a module replaced while it runs.

    So a fault reaches what the driver only hands over to Spark's workers, where a watch would see no call: the edit
    is of the function that hands it over.
    """

    def wrong(right: Any) -> Function:  # noqa: ANN401 - a function of merge
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever it stands for
            with mock.patch.object(module, name, function):
                return right(*args, **kwargs)

        return call

    return wrong


def in_workers(owner: ModuleType | type, caller: str, name: str, function: Function) -> Edit:
    """Let Spark's workers run another function than the one that ``merge.table.writing.write`` hands over under a name.

    Args:
        owner: the module or class that calls ``caller``.
        caller: the function within which the other one is handed over.
        name: the right function's name.
        function: the wrong one, at the top of a module that workers can import.
    """
    return Edit(owner, caller, with_other(writing, name, function), comparable=False)


# What a class may hold in place of a function, and under which name the function is found in it.
_WRAPPERS: dict[type, str] = {property: "fget", classmethod: "__func__", staticmethod: "__func__"}


@contextlib.contextmanager
def watched(faults: Sequence[Fault]) -> Iterator[set[str]]:
    """Run the right merge and tell which faults could have made a difference (weak mutation).

    Every function that some fault replaces runs as it is, and beside it the wrong ones with the same arguments. A
    fault whose wrong functions gave the same answers, or were never called, cannot show in this run, so that running
    the case with it would be a waste.

    Yields:
        The names of the faults that made a difference, complete at the end of the block.
    """
    differing: set[str] = set()
    edits: dict[tuple[int, str], list[tuple[str, Edit]]] = {}
    for fault in faults:
        for edit in fault.edits:
            edits.setdefault(edit.place, []).append((fault.name, edit))
    with contextlib.ExitStack() as stack:
        for rivals in edits.values():
            edit = rivals[0][1]
            both = _watching(edit.right(), rivals, differing)
            stack.enter_context(mock.patch.object(edit.owner, edit.name, both))
        yield differing


def _watching(right: Any, rivals: Sequence[tuple[str, Edit]], differing: set[str]) -> Any:  # noqa: ANN401
    for kind, part in _WRAPPERS.items():
        if isinstance(right, kind):
            inner = [(name, _of_part(edit, kind, part)) for name, edit in rivals]
            return kind(_watching(getattr(right, part), inner, differing))
    wrong = [(name, edit.wrong(right) if edit.comparable else None) for name, edit in rivals]

    def both(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever it stands for
        answer = _Answer.of(right, args, kwargs)
        for name, function in wrong:
            if name in differing:
                continue
            if function is None or not answer.is_like(_Answer.of(function, args, kwargs)):
                differing.add(name)
        return answer.given()

    return both


def _of_part(edit: Edit, kind: Callable[[Any], Any], part: str) -> Edit:
    """Make the edit of a function out of that of what a class holds around it."""
    return Edit(
        owner=edit.owner,
        name=edit.name,
        wrong=lambda function: getattr(edit.wrong(kind(function)), part),
        comparable=edit.comparable,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call gave: a value or an error."""

    value: Any = None
    error: Exception | None = None

    @classmethod
    def of(cls, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Answer:
        try:
            return cls(value=function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - part of what is compared, and raised again where it is the right one
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
    """Compare by value, also what compares by identity; a plan of Spark is never the same as another."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(_is_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if is_dataclass(left) and not isinstance(left, type):
        return all(_is_same(getattr(left, f.name), getattr(right, f.name)) for f in fields(left))
    return bool(left == right)
