"""Automatic mutants of the merge: cosmic-ray's operators and a few for the SQL texts, against random cases.

    uv sync --group dev --group mutants
    python -m benchmarks.auto_mutants --seed 1 --max-cases 200 [--sample 300]

The mutants come from cosmic-ray; they are not run by it. A mutated function takes the place of the right one inside
this process, as the faults of ``mergecheck selfcheck`` do, so one Spark session serves all, and a mutant is run only on
cases on which its function gave another answer. One mutant per line is drawn, since in nearly all lines all mutants
share one fate (techniques 2.3).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import sys
import textwrap
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import merge
from harness.engines.pyspark import PySparkEngine
from harness.selfcheck.fault import Area, Edit, Fault
from harness.selfcheck.trial import run_seed
from harness.session import WARM_UP
from strategies import samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from harness.selfcheck.trial import SeedResult

PARTS = ("merge.executors.", "merge.resolution.", "merge.metrics")
_EXECUTOR_TESTS = tuple(
    f"tests/spec/test_spec_{name}.py"
    for name in ("classic_executor", "insert_only_executor", "output_generation", "executors", "small_merges")
)
TESTS = {
    "merge.executors": _EXECUTOR_TESTS,
    "merge.metrics": _EXECUTOR_TESTS,
    "merge.resolution": (
        "tests/unit/test_merge_resolution.py",
        "tests/unit/test_merge_subqueries.py",
        "tests/spec/test_spec_resolution.py",
        "tests/spec/test_spec_delta_merge_into.py",
        "tests/spec/test_spec_evolving_merges.py",
    ),
}
# Functions that act, or whose answers are plans or iterators, are not called twice.
_ACTING = re.compile(r"MergeRun|PendingCommit|SparkSession|DataFrame|TableWriter|Iterator|Stopwatch|yield")
# Lines whose mutants say something else to a person, or nothing to anybody.
_LEFT_OUT = re.compile(r"_logger\.|raise |Error\(|TYPE_CHECKING|\"\"\"|^\s*#|^\s*@|^\s*f?\"")
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


def main() -> None:
    """Draw the mutants, run them, and say which survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the cases, and of the choice of mutants")
    parser.add_argument("--max-cases", type=int, default=200)
    parser.add_argument("--sample", type=int, help="so many mutants, drawn from all")
    parser.add_argument("--tests", action="store_true", help="hold survivors against the tests of their part too")
    parser.add_argument("--only", default="", help="modules whose name contains this text")
    options = parser.parse_args()
    engine = PySparkEngine()
    engine.run(WARM_UP)
    random = Random(options.seed)  # noqa: S311 - a choice of mutants, no secret
    mutants = [one for module in _modules() if options.only in module.__name__ for one in _one_per_line(module, random)]
    if options.sample is not None and options.sample < len(mutants):
        mutants = random.sample(mutants, options.sample)
    faults, left_out = _planted(mutants)
    cases = (drawn.case for drawn in samples(options.seed))
    result = run_seed(faults, engine, cases, seed=options.seed, max_cases=options.max_cases, listener=_progress)
    by_part: dict[str, Counter[bool]] = defaultdict(Counter)
    for fault in faults:
        by_tests = options.tests and fault.name not in result.kills and _fails_tests(fault)
        by_part[_part(fault)][fault.name in result.kills or by_tests] += 1
        if fault.name not in result.kills:
            print(f"{'killed by tests' if by_tests else 'survived'}  {fault.name}\n    {fault.sentence}", flush=True)
    for part, counts in by_part.items():
        print(f"{part}: {counts[True]} of {counts.total()} killed ({counts[True] / counts.total():.0%})")
    engine.close()
    print(f"left out: {dict(left_out)}")
    print(f"{result.num_cases} cases, {result.num_runs} runs of a mutant, {result.seconds:.0f} s")


def _part(fault: Fault) -> str:
    return ".".join(fault.name.split(":")[0].split(".")[:2])


def _fails_tests(fault: Fault) -> bool:
    """Run the tests of a part in this process, with the mutant in place."""
    for name in [name for name in sys.modules if name.startswith(("tests.", "test_"))]:
        del sys.modules[name]  # they may hold the right function
    with fault.switched_on(), contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *TESTS[_part(fault)]])
    return code == pytest.ExitCode.TESTS_FAILED


def _progress(result: SeedResult) -> None:
    if result.num_cases % 10 == 0:
        print(f"{result.num_cases} cases: {len(result.kills)} killed, {result.num_runs} runs", file=sys.stderr)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(merge.__path__, "merge."):
        if found.name.startswith(PARTS) and not found.ispkg:
            yield importlib.import_module(found.name)


def _one_per_line(module: ModuleType, random: Random) -> list[Mutant]:
    by_line: dict[int, list[Mutant]] = defaultdict(list)
    for mutant in (*_by_cosmic_ray(module), *_by_sql(module)):
        if not _LEFT_OUT.search(mutant.before):
            by_line[mutant.line].append(mutant)
    return [random.choice(found) for _, found in sorted(by_line.items())]


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _by_cosmic_ray(module: ModuleType) -> Iterator[Mutant]:
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415 - an extra of this one program
    from cosmic_ray.plugins import get_operator, operator_names  # noqa: PLC0415 - the same

    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    for name in operator_names():
        if "no-op" in name or "decorator" in name.lower() or "Variable" in name:
            continue
        occurrence = 0
        while (changed := mutate_code(source, get_operator(name)(), occurrence)) is not None:
            occurrence += 1
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
    if differing is None or not _is_python(changed):
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


def _planted(mutants: Sequence[Mutant]) -> tuple[list[Fault], Counter[str]]:
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


class _CannotReplaceError(Exception):
    """The mutated code is no function that can be replaced at run time."""


def _edits(mutant: Mutant) -> tuple[Edit, ...]:
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
        if module_name.startswith("merge")
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


if __name__ == "__main__":
    main()
