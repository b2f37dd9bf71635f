"""Functions compiled anew from a changed source, which behave so for the length of a block.

A function keeps its identity and gets another ``__code__``. So the places that hold it need not be found: names
imported into other modules, tables of functions, properties and caches all call the changed one, and none of them has
to be put right afterwards. The process that changes a function may be Spark's driver or one of its Python workers, so
this module imports nothing of ``merge`` by itself.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import pkgutil
import sys
import textwrap
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_PACKAGE = "mergecheck"


class StaleChangeError(Exception):
    """A change does not fit its source; the message names the change and the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A piece of the source of one function, and what replaces it.

    Attributes:
        function: dotted name of a function or method below ``mergecheck``, as in
            ``merge.executors.cdc.exploded_actions``; the module is the one that defines it.
        replace: the piece; it occurs exactly once in the function's source.
        by: the text that replaces it.
    """

    function: str
    replace: str
    by: str


def find_function(name: str) -> FunctionType:
    """Find a function, or the function inside a property, a class method, a static method or a cache.

    Raises:
        StaleChangeError: there is no function of this name, or another module defines it.
    """
    try:
        found = pkgutil.resolve_name(f"{_PACKAGE}.{name}")
    except (ImportError, AttributeError) as error:
        raise StaleChangeError(f"{name}: there is no such function ({error})") from error
    found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    function = inspect.unwrap(found) if callable(found) else found
    if not isinstance(function, FunctionType):
        raise StaleChangeError(f"{name} is no function")
    if f"{function.__module__}.{function.__qualname__}" != f"{_PACKAGE}.{name}":
        raise StaleChangeError(f"{name} is defined as {function.__module__}.{function.__qualname__}: name it so")
    return function


def changed_source(changes: Sequence[Change]) -> tuple[str, str]:
    """Return the source of the one function that some changes are about, before and after them.

    Raises:
        StaleChangeError: there is no such function, or a piece does not occur exactly once in it.
    """
    before = after = inspect.getsource(find_function(changes[0].function))
    for change in changes:
        if (count := after.count(change.replace)) != 1:
            raise StaleChangeError(f"{change.function}: {change.replace!r} occurs {count} times, not once")
        after = after.replace(change.replace, change.by)
    return before, after


def compile_changes(changes: Iterable[Change]) -> Mapping[FunctionType, FunctionType]:
    """Compile every function that some changes are about.

    Returns:
        For each function another one, which behaves like the changed source. It has the same defaults.

    Raises:
        StaleChangeError: see ``changed_source``; or the changed source is no Python, or it is the same code.
    """
    return {find_function(name): _compile(name, found) for name, found in _by_function(changes).items()}


def diff(changes: Iterable[Change]) -> list[str]:
    """Show what some changes do to the source, as lines of a unified diff.

    Raises:
        StaleChangeError: see ``changed_source``.
    """
    found: list[str] = []
    for name, of_one in _by_function(changes).items():
        before, after = (textwrap.dedent(text).splitlines() for text in changed_source(of_one))
        found += difflib.unified_diff(before, after, fromfile=name, tofile=name, n=2, lineterm="")
    return found


def _by_function(changes: Iterable[Change]) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.function, []).append(change)
    return found


def _compile(name: str, changes: Sequence[Change]) -> FunctionType:
    """Compile the whole module with the change, so that line numbers, closures and mangled names are as they were."""
    function = find_function(name)
    before, after = changed_source(changes)
    module = inspect.getsource(sys.modules[function.__module__])
    lines = module.splitlines(keepends=True)
    first = function.__code__.co_firstlineno - 1
    text = "".join((*lines[:first], after, *lines[first + len(before.splitlines()) :]))
    try:
        code = compile(text, function.__code__.co_filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise StaleChangeError(f"{name}: the changed source is no Python ({error})") from error
    found = next((one for one in _codes(code) if _is_same_place(one, function.__code__)), None)
    if found is None or found.co_freevars or function.__closure__:
        raise StaleChangeError(f"{name} uses variables of what encloses it, as super() does: change another function")
    if _without_positions(found) == _without_positions(function.__code__):
        raise StaleChangeError(f"{name}: the change makes no difference to the code")
    return copy_of(function, code=found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """List the functions and classes that a piece of code defines, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _is_same_place(one: CodeType, other: CodeType) -> bool:
    return (one.co_qualname, one.co_firstlineno) == (other.co_qualname, other.co_firstlineno)


def _without_positions(code: CodeType) -> CodeType:
    """Forget in which lines and columns a code was written."""
    inner = (_without_positions(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=tuple(inner))


def copy_of(function: FunctionType, *, code: CodeType | None = None) -> FunctionType:
    """Copy a function, with another code if that is given."""
    made = FunctionType(
        code or function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def calling(function: Callable[..., Any]) -> FunctionType:
    """Make a function that any function can behave as, and that calls another one with its arguments.

    A code cannot carry a value, and runs with the global names of the function that it is given to. So the function
    to call is the default of a parameter.
    """
    made = FunctionType(_call.__code__, {}, _call.__name__)
    made.__kwdefaults__ = {"_function": function}
    return made


def _call(*args: Any, _function: Callable[..., Any], **kwargs: Any) -> Any:  # noqa: ANN401 - arguments of any function
    return _function(*args, **kwargs)


@contextlib.contextmanager
def replaced(functions: Mapping[FunctionType, FunctionType]) -> Iterator[None]:
    """Let functions behave like others for all callers, for the length of a ``with`` block."""
    kept = {function: copy_of(function) for function in functions}
    try:
        for function, other in functions.items():
            _behave_as(function, other)
        yield
    finally:
        for function, right in kept.items():
            _behave_as(function, right)


def _behave_as(function: FunctionType, other: FunctionType) -> None:
    function.__code__ = other.__code__
    function.__defaults__ = other.__defaults__
    function.__kwdefaults__ = other.__kwdefaults__


def changed_in_worker(changes: tuple[Change, ...], task: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Any]:
    """Make of a task for Spark's workers one that runs with some functions changed."""
    return functools.partial(_run_changed, changes, task)


def _run_changed(
    changes: tuple[Change, ...], task: Callable[[Any], Iterator[Any]], batches: Iterable[Any]
) -> Iterator[Any]:
    """Run a task in a worker, which has its own copy of every function."""
    with replaced(compile_changes(changes)):
        yield from task(batches)
