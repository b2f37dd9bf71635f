"""Automatic mutants: cosmic-ray's operators and a few for SQL texts, as faults that can be switched on in this process.

The mutants come from cosmic-ray; they are not run by it. A mutated function takes the place of the right one inside
this process, as the faults of ``mergecheck selfcheck`` do. One mutant per line is drawn, since in nearly all lines all
mutants share one fate (techniques 2.3).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import pkgutil
import re
import sys
import textwrap
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.selfcheck.fault import Area, Edit, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random
    from types import ModuleType

# Functions that act, or whose answers are plans or iterators, are not called twice.
_ACTING = re.compile(r"MergeRun|PendingCommit|SparkSession|DataFrame|TableWriter|DuckDBPy|Iterator|Stopwatch|yield")
# Lines whose mutants say something else to a person, or nothing to anybody (a zip that checks less).
_LEFT_OUT = re.compile(r"strict=|^\s*def |_logger\.|raise |Error\(|TYPE_CHECKING|\"\"\"|^\s*#|^\s*@|^\s*f?\"")
_SQL_SWAPS = (
    (" IS NULL", " IS NOT NULL"),
    (" IS NOT TRUE", " IS TRUE"),
    (" AND ", " OR "),
    (" OR ", " AND "),
    ("TRUE", "FALSE"),
    ("FALSE", "TRUE"),
    ("> 1", "> 2"),
    ("- 1", "- 0"),
    ("left_anti", "left_semi"),
    ("right_outer", "inner"),
    ("full_outer", "left_outer"),
    ("count_if", "count"),
    ("bool_or", "bool_and"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed line of one function.

    Attributes:
        operator: cosmic-ray's name of the change, or ``sql``.
        source: the whole module after the change.
    """

    module: str
    line: int
    operator: str
    before: str
    after: str
    source: str


def modules_of(package: ModuleType, parts: Sequence[str]) -> Iterator[ModuleType]:
    """Import the modules of a package whose names begin with one of ``parts``, packages left out."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.startswith(tuple(parts)) and not found.ispkg:
            yield importlib.import_module(found.name)


def one_per_line(module: ModuleType, random: Random) -> list[Mutant]:
    """Draw one mutant for every line that has any."""
    by_line: dict[int, list[Mutant]] = defaultdict(list)
    for mutant in (*_by_cosmic_ray(module), *_by_sql(module)):
        if not _LEFT_OUT.search(mutant.before):
            by_line[mutant.line].append(mutant)
    return [random.choice(found) for _, found in sorted(by_line.items())]


def _changes_code(source: str, changed: str) -> bool:
    """Tell whether a change is Python, and more than another annotation: those are never evaluated."""
    try:
        return _without_annotations(changed) != _without_annotations(source)
    except SyntaxError:
        return False


@functools.lru_cache(maxsize=2)
def _without_annotations(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
            node.args.posonlyargs, node.args.args = [], [*node.args.posonlyargs, *node.args.args]
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _by_cosmic_ray(module: ModuleType) -> Iterator[Mutant]:
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415 - an extra of this one program
    from cosmic_ray.plugins import get_operator, operator_names  # noqa: PLC0415 - the same

    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    for name in operator_names():
        if "no-op" in name or "decorator" in name.lower() or "Variable" in name:
            continue
        with contextlib.suppress(AttributeError):  # cosmic-ray cannot exchange "except module.Error"
            for occurrence in itertools.count():
                changed = mutate_code(source, get_operator(name)(), occurrence)
                if changed is None:
                    break
                if (mutant := _mutant(module, source, changed, name)) is not None:
                    yield mutant


def _by_sql(module: ModuleType) -> Iterator[Mutant]:
    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if '"' not in line or line.strip().startswith('"""'):
            continue
        for old, new in _SQL_SWAPS:
            place = line.find(old, line.find('"'))
            if place >= 0:
                changed = [*lines[:number], line[:place] + new + line[place + len(old) :], *lines[number + 1 :]]
                if (mutant := _mutant(module, source, "\n".join(changed), "sql")) is not None:
                    yield mutant


def _mutant(module: ModuleType, source: str, changed: str, operator: str) -> Mutant | None:
    pairs = zip(source.split("\n"), changed.split("\n"), strict=False)
    differing = next(((i, a, b) for i, (a, b) in enumerate(pairs, start=1) if a != b), None)
    if differing is None or not _changes_code(source, changed):
        return None
    line, before, after = differing
    return Mutant(
        module=module.__name__,
        line=line,
        operator=operator.rsplit("/", 1)[-1],
        before=before,
        after=after.strip(),
        source=changed,
    )


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
            )
        )
    return faults, left_out


def fails_tests(fault: Fault, tests: Sequence[str]) -> bool:
    """Run tests in this process, with the mutant in place, up to the first that fails.

    Raises:
        RuntimeError: pytest did not come to a verdict.
    """
    with fault.switched_on():
        return not _pass(tests)


def require_passing(tests: Sequence[str]) -> None:
    """Make sure that tests pass without a mutant, so that a failure says something about one.

    Raises:
        RuntimeError: they do not.
    """
    if not _pass(tests):
        raise RuntimeError(f"these tests fail without any mutant: {' '.join(tests)}")


def _pass(tests: Sequence[str]) -> bool:
    for name in [name for name in sys.modules if name.startswith(("tests.", "test_"))]:
        del sys.modules[name]  # they may hold the right function
    options = ("-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-W", "ignore")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = pytest.main([*options, *tests])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"pytest ended with {code}:\n{said.getvalue()}")
    return code == pytest.ExitCode.OK  # a mutant may also break what a test module does as it is imported


class _CannotReplaceError(Exception):
    """The mutated code is no function that can be replaced at run time."""


def _edits(mutant: Mutant) -> tuple[Edit, ...]:
    package = mutant.module.partition(".")[0]
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
        if module_name.partition(".")[0] == package
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
