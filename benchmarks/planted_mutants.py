"""Automatic mutants as faults that can be switched on in this process.

A mutated function takes the place of the right one, as the faults of ``mergecheck selfcheck`` do.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck.fault import Area, Edit, Fault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from benchmarks.mutants import Mutant

# Functions that act, or whose answers are plans or iterators, are not called twice.
_ACTING = re.compile(r"MergeRun|PendingCommit|SparkSession|DataFrame|TableWriter|DuckDBPy|Iterator|Stopwatch|yield")


def planted(mutants: Sequence[Mutant]) -> tuple[list[Fault], Counter[str]]:
    """Make a fault of every mutant whose function can be replaced; count the others by reason."""
    faults: list[Fault] = []
    left_out: Counter[str] = Counter()
    for mutant in mutants:
        try:
            edits = _edits(mutant)
        except _CannotReplaceError as reason:
            left_out[str(reason)] += 1
            continue
        faults.append(
            Fault(
                name=f"{mutant.module}:{mutant.line} {mutant.operator}",
                area=Area.COMMIT,
                sentence=f"{mutant.before.strip()}  ->  {mutant.after}",
                rules=("automatic",),
                edits=edits,
                by_two_scans=False,  # tests that call the function see nothing else changed
            )
        )
    return faults, left_out


class _CannotReplaceError(Exception):
    """The mutated code is no function that can be replaced at run time."""


def _edits(mutant: Mutant) -> tuple[Edit, ...]:
    package = ".".join(mutant.module.split(".")[:2])
    module = sys.modules[mutant.module]
    node, class_name = _function_at(ast.parse(mutant.source), mutant.line)
    function = _compiled(node, module)
    text = ast.unparse(node)
    comparable = not _ACTING.search(text)
    if class_name is not None:
        owner = getattr(module, class_name)
        right = vars(owner).get(node.name)
        if right is None:
            raise _CannotReplaceError("made by a decorator of its class")
        return (Edit(owner, node.name, lambda _right: function, comparable=comparable),)
    right = getattr(module, node.name)
    if any(right in held for held in map(_held, vars(module).values())):
        raise _CannotReplaceError("held by a table of its module")
    owners = [
        (owner, name)
        for module_name, owner in list(sys.modules.items())
        if f"{module_name}.".startswith(f"{package}.")
        for name, value in list(vars(owner).items())
        if value is right
    ]
    return tuple(Edit(owner, name, lambda _right: function, comparable=comparable) for owner, name in owners)


def _held(value: object) -> list[object]:
    """List what a table of a module holds, two levels deep."""
    items = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, tuple | list) else []
    return [*items, *(inner for item in items if isinstance(item, tuple | list) for inner in item)]


def _function_at(tree: ast.Module, line: int) -> tuple[ast.FunctionDef, str | None]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _spans(node, line):
            return node, None
        if isinstance(node, ast.ClassDef) and _spans(node, line):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and _spans(inner, line):
                    return inner, node.name
    raise _CannotReplaceError("outside of functions")


def _spans(node: ast.FunctionDef | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _compiled(node: ast.FunctionDef, module: ModuleType) -> Any:  # noqa: ANN401 - a function, property or class method
    """Compile one function with the globals of its module, where it finds everything else as it is."""
    made: dict[str, Any] = {}
    text = "from __future__ import annotations\n" + textwrap.dedent(ast.unparse(node))
    try:
        exec(compile(text, f"<mutant of {module.__name__}>", "exec"), vars(module), made)  # noqa: S102 - our own source
    except Exception as error:  # a default or a decorator that the mutant broke, in whatever way
        raise _CannotReplaceError("its definition fails") from error
    return made[node.name]
