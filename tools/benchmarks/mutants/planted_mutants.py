"""Automatic mutants as faults that can be switched on in this process, like the faults of ``tools.selfcheck``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

from tools.selfcheck.fault import Area, Fault, Mutant
from tools.selfcheck.mutation import Change, StaleChangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.benchmarks.mutants.changed_lines import ChangedLine

# Functions that act, or whose answers are plans or iterators, are not called twice.
_ACTING = re.compile(r"MergeRun|PendingCommit|SparkSession|DataFrame|TableWriter|DuckDBPy|Iterator|Stopwatch|yield")


def planted(lines: Sequence[ChangedLine]) -> tuple[list[Fault], Counter[str]]:
    """Make a fault of every changed line that is in the body of a function; count the others by reason."""
    faults: list[Fault] = []
    left_out: Counter[str] = Counter()
    for line in lines:
        changed = ast.parse(line.source)
        if (found := _function_at(changed, line.line)) is None:
            left_out["outside of functions"] += 1
            continue
        name, node = found
        fault = Fault(
            id=f"{line.module}:{line.line} {line.operator}",
            area=Area.COMMIT,
            summary=f"{line.before.strip()}  ->  {line.after}",
            rules=("automatic",),
            changes=(_change(line, name, node),),
            two_scans=False,  # tests that call the function see nothing else changed
            comparable=not _ACTING.search(ast.unparse(node)),
        )
        try:
            Mutant.of(fault)
        except StaleChangeError:
            left_out["a decorator or a default, or made by a decorator"] += 1
        else:
            faults.append(fault)
    return faults, left_out


def _change(line: ChangedLine, name: str, node: ast.FunctionDef) -> Change:
    source = inspect.getsource(sys.modules[line.module])
    before = _function_at(ast.parse(source), line.line)
    return Change(
        function=f"{line.module.partition('.')[2]}.{name}",
        replace="" if before is None else _text(source, before[1]),
        by=_text(line.source, node),
    )


def _text(source: str, node: ast.FunctionDef) -> str:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "".join(source.splitlines(keepends=True)[first - 1 : node.end_lineno])


def _function_at(tree: ast.Module | ast.ClassDef, line: int) -> tuple[str, ast.FunctionDef] | None:
    """Find the function or method that a line is in, and its qualified name."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.FunctionDef):
            return node.name, node
        if (inner := _function_at(node, line)) is not None:
            return f"{node.name}.{inner[0]}", inner[1]
    return None
