"""The table of Delta's methods in the specification (``methods.md``) is complete, and the names in it exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from mergecheck.harness.specification.rules import read_text

ROOT = Path(__file__).parents[2]
PAGE = read_text("methods")

# The specification's names of DeltaMergeInto, the two executors and the output generation.
METHODS = {
    "DeltaMergeInto.apply",
    "resolveReferencesAndSchema",
    "resolveClause",
    "filterSchema",
    "findTouchedFiles",
    "writeAllChanges",
    "writeOnlyInserts",
    "generateInsertsOnlyOutputDF",
    "generateInsertsOnlyOutputCols",
    "generatePrecomputedConditionsAndDF",
    "rewriteCondition",
    "generateWriteAllChangesOutputCols",
    "generateAllActionExprs",
    "generateClauseOutputExprs",
    "generateCdcAndOutputRows",
    "packAndExplodeCDCOutput",
    "deduplicateCDFDeletes",
}


def table(heading: str) -> list[list[str]]:
    """Read the cells of the table under a heading, without its header."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def snake_case(name: str) -> str:
    """Write a Scala name as Python does: ``deduplicateCDFDeletes`` is ``deduplicate_cdf_deletes``."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return "_".join(word.lower() for word in words)


ROWS = {quoted(row[0])[0]: (quoted(row[1])[0], quoted(row[3])[0]) for row in table("Methods")}


def test_every_method_of_the_specification_has_a_row() -> None:
    assert set(ROWS) == METHODS
    assert len(table("Methods")) == len(METHODS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_our_function_has_the_same_name_and_a_docstring(method: str) -> None:
    """The name gives the method; the docstring cites a rule."""
    function, _ = ROWS[method]
    *owner, last = method.split(".")
    assert function.endswith(".".join(["", *owner, snake_case(last)]))
    found = resolve(function)
    assert callable(found)
    assert re.search(r"R-[0-9A]\d\d", inspect.getdoc(found) or ""), f"{function} cites no rule"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_our_function_has_spec_tests_of_its_name(method: str) -> None:
    """They are found by name, describe the step in a sentence, and use the function."""
    function, file = ROWS[method]
    name = snake_case(method.replace(".", "_")) if "." in method else function.rpartition(".")[2]
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    tests = [test for test in tests if name in test.name]
    assert tests, f"No test in {file} has {name} in its name."
    assert all(ast.get_docstring(test) for test in tests)
    used = {getattr(node, "id", getattr(node, "attr", None)) for test in tests for node in ast.walk(test)}
    assert function.rpartition(".")[2] in used


def test_components_are_modules_that_name_them() -> None:
    for component, modules in ((row[0], quoted(row[1])) for row in table("Components")):
        for module in modules:
            assert quoted(component)[0] in (ROOT / module).read_text(encoding="utf-8"), f"{module}: {component}"


def resolve(dotted: str) -> object:
    """Import the longest part of a name that is a module, and look the rest up in it."""
    parts = dotted.split(".")
    depth = next(i for i in range(len(parts), 0, -1) if ROOT.joinpath("src", *parts[:i]).with_suffix(".py").is_file())
    found: object = importlib.import_module(".".join(parts[:depth]))
    for part in parts[depth:]:
        found = getattr(found, part)
    return found
