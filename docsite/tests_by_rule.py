"""The tests of each rule: those that cite its number, and the runs of its minimal case and of its relations."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.relations.oracle import RELATIONS
from mergecheck.harness.specification.citations import cited, cited_with_ranges
from mergecheck.harness.specification.rules import data_file, load_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN_OF_CASES = "tests/regress/test_saved_cases.py::test_saved_case"
"""The test that runs every minimal case on the merge."""

RUN_OF_RELATIONS = "tests/meta/test_reference_relations.py::test_relations_hold"
"""The test that checks every relation of ``--oracle metamorphic`` on the reference."""

_EXAMPLES_ONLY = frozenset(
    {
        "tests/cli/test_cli_rules.py",
        "tests/spec/test_specification.py",
        "tests/unit/properties/test_rule_counts.py",
        "tests/unit/specification/test_citations.py",
        "tests/unit/search/test_search_counts.py",
        "tests/unit/selfcheck/test_selfcheck_faults.py",
    }
)
"""Tests of how rules are counted, printed and cited: their numbers are examples."""


def find_tests(repository: Path) -> dict[str, list[str]]:
    """Find the tests of each rule, as ``FILE::FUNCTION``, in the order of files and rules.

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
    for relation in RELATIONS:
        for number in cited(relation.name):
            found[number].add(f"{RUN_OF_RELATIONS}[{relation.name}]")
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
