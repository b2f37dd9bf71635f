"""Automatic mutants: cosmic-ray's operators and a few for SQL texts.

The mutants come from cosmic-ray; they are not run by it, see ``tools.benchmarks.mutants.planted_mutants``. One mutant
per line is drawn, since in nearly all lines all mutants share one fate.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import itertools
import pkgutil
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from random import Random
    from types import ModuleType

    _Make: TypeAlias = Callable[[], "ChangedLine | None"]

# Lines whose mutants change only texts for a person, or change nothing (a zip that checks less).
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
class ChangedLine:
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
    """Import the modules of a package whose names begin with any of ``parts``, packages left out."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.startswith(tuple(parts)) and not found.ispkg:
            yield importlib.import_module(found.name)


def one_per_line(modules: Iterable[ModuleType], random: Random, sample: int | None = None) -> list[ChangedLine]:
    """Draw one mutant for every line that has any, or for so many of these lines."""
    lines: list[list[_Make]] = []
    for module in modules:
        source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
        by_line: dict[int, list[_Make]] = defaultdict(list)
        for line, make in (*_by_cosmic_ray(module, source), *_by_sql(module, source)):
            by_line[line].append(make)
        texts = source.split("\n")
        lines += [found for line, found in sorted(by_line.items()) if not _LEFT_OUT.search(texts[line - 1])]
    if sample is not None and sample < len(lines):
        lines = random.sample(lines, sample)
    drawn = (next(filter(None, (make() for make in random.sample(found, len(found)))), None) for found in lines)
    return [mutant for mutant in drawn if mutant is not None]


def _changes_code(source: str, changed: str) -> bool:
    """Return whether a change is Python, and more than another annotation, which is never evaluated."""
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
            node.args = _plain(node.args)
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _plain(given: ast.arguments) -> ast.arguments:
    """Make all parameters ordinary ones: the way they are given does not matter to a function's behaviour."""
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    defaults = [*given.defaults, *(default for default in given.kw_defaults if default is not None)]
    return ast.arguments([], names, given.vararg, [], [], given.kwarg, defaults)


def _by_cosmic_ray(module: ModuleType, source: str) -> Iterator[tuple[int, _Make]]:
    from cosmic_ray.ast import ast_nodes, get_ast  # noqa: PLC0415 - an extra of this one program
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415 - the same
    from cosmic_ray.plugins import get_operator, operator_names  # noqa: PLC0415 - the same

    def make(name: str, occurrence: int) -> ChangedLine | None:
        with contextlib.suppress(AttributeError):  # cosmic-ray cannot exchange "except module.Error"
            changed = mutate_code(source, get_operator(name)(), occurrence)
            return None if changed is None else _mutant(module, source, changed, name)
        return None

    nodes = list(ast_nodes(get_ast(source)))
    for name in operator_names():
        if "no-op" in name or "decorator" in name.lower() or "Variable" in name:
            continue
        places = itertools.chain.from_iterable(map(get_operator(name)().mutation_positions, nodes))
        for occurrence, ((line, _), _) in enumerate(places):
            yield line, functools.partial(make, name, occurrence)


def _by_sql(module: ModuleType, source: str) -> Iterator[tuple[int, _Make]]:
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if '"' not in line or line.strip().startswith('"""'):
            continue
        for old, new in _SQL_SWAPS:
            place = line.find(old, line.find('"'))
            if place >= 0:
                changed = [*lines[:number], line[:place] + new + line[place + len(old) :], *lines[number + 1 :]]
                yield number + 1, functools.partial(_mutant, module, source, "\n".join(changed), "sql")


def _mutant(module: ModuleType, source: str, changed: str, operator: str) -> ChangedLine | None:
    pairs = zip(source.split("\n"), changed.split("\n"), strict=False)
    differing = next(((i, a, b) for i, (a, b) in enumerate(pairs, start=1) if a != b), None)
    if differing is None or not _changes_code(source, changed):
        return None
    line, before, after = differing
    return ChangedLine(
        module=module.__name__,
        line=line,
        operator=operator.rsplit("/", 1)[-1],
        before=before,
        after=after.strip(),
        source=changed,
    )
