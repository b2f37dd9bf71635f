"""Which tests hold which rule: those whose source cites its number, and the run of its minimal case."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from mergecheck.harness.specification.citations import cited_with_ranges
from mergecheck.harness.specification.rules import data_file, load_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN_OF_CASES = "tests/regress/test_saved_cases.py::test_saved_case"
"""The test that runs every minimal case on the merge."""

_EXAMPLES_ONLY = frozenset(
    {
        "tests/cli/test_cli_rules.py",
        "tests/spec/test_specification.py",
        "tests/unit/coverage/test_rule_counts.py",
        "tests/unit/search/test_search.py",
        "tests/unit/selfcheck/test_selfcheck_faults.py",
    }
)
"""Tests of how rules are counted, printed and cited: their numbers are examples."""


def tests_by_rule(repository: Path) -> dict[str, list[str]]:
    """Find the tests that hold each rule, as ``FILE::FUNCTION``, in the order of files and rules.

    Args:
        repository: the folder that holds ``tests/``.
    """
    rules = load_rules()
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((repository / "tests").rglob("test_*.py")):
        file = path.relative_to(repository).as_posix()
        if file in _EXAMPLES_ONLY:
            continue
        for name, source in _test_functions(path.read_text(encoding="utf-8")):
            for number in cited_with_ranges(source, rules):
                found[number].add(f"{file}::{name}")
    for number in rules:
        if data_file(f"cases/{number}.json").is_file():
            found[number].add(f"{RUN_OF_CASES}[{number}]")
    return {number: sorted(found[number]) for number in rules if number in found}


def _test_functions(text: str) -> Iterator[tuple[str, str]]:
    """Go through a module's test functions with their source, decorators included."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, "\n".join(lines[first - 1 : node.end_lineno])
