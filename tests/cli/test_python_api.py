"""The front door for Python: its names, its page, and the examples on the page."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mergecheck

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python(?: title=\"[^\"]*\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USERS = [
    *(
        page
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        if "```python" in page.read_text("utf-8")
    ),
    *sorted((ROOT / "examples").rglob("*.py")),
    *sorted((ROOT / "harness" / "lab" / "conformance" / "templates").glob("*.py.txt")),
]
FUNCTIONS = [name for name in mergecheck.__all__ if inspect.isfunction(getattr(mergecheck, name))]


def test_every_name_is_the_object_that_type_checkers_see() -> None:
    """The imports under ``TYPE_CHECKING`` and the lazy ones are the same."""
    tree = ast.parse(Path(mergecheck.__file__).read_text(encoding="utf-8"))
    (seen,) = (node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.name: __import__(node.module, fromlist=[alias.name]).__dict__[alias.name]
        for node in seen.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(declared) == sorted(mergecheck.__all__)
    assert all(getattr(mergecheck, name) is value for name, value in declared.items())
    assert set(mergecheck.__all__) <= set(dir(mergecheck))


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'mergecheck' has no attribute 'nothing'"):
        _ = mergecheck.nothing


def test_the_page_names_every_name_and_no_other() -> None:
    shown = re.findall(r"^::: mergecheck\.(\S+)$", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(mergecheck.__all__)


@pytest.mark.parametrize("name", mergecheck.__all__)
def test_every_name_has_a_docstring_of_its_own(name: str) -> None:
    value = getattr(mergecheck, name)
    text = value.__doc__ or ""
    assert len(text) > 15
    assert not text.startswith(f"{name}(")  # what @dataclass writes if there is none
    assert issubclass(value, enum.Enum) or text != enum.Enum.__doc__ if isinstance(value, type) else True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_described(name: str) -> None:
    function = getattr(mergecheck, name)
    arguments = (function.__doc__ or "").partition("Args:\n")[2]
    described = re.findall(r"^\s+(\w+): ", arguments, re.MULTILINE)
    assert set(inspect.signature(function).parameters) <= set(described)


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    blocks = [block for block in BLOCK.findall(PAGE) if "@given" not in block]  # see test_pytest_plugin
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "docs/python-api.md", "exec"), namespace)  # noqa: S102 - a page of this repository


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_import_from_mergecheck_only(path: Path) -> None:
    """What users copy: only public names; the merge in PySpark is a package of its own."""
    text = path.read_text(encoding="utf-8")
    code = "\n".join(BLOCK.findall(text)) if path.suffix == ".md" else text
    imported = re.findall(r"^\s*(?:from|import) (mergecheck\S*) import (.*)$", code, re.MULTILINE)
    assert [module for module, _ in imported if module not in ("mergecheck", "mergecheck.merge")] == []
    names = {name.strip() for module, names in imported if module == "mergecheck" for name in names.split(",")}
    assert names - {"(", ""} <= set(mergecheck.__all__)


def test_the_import_loads_nothing() -> None:
    code = "import sys, mergecheck; print([m for m in sys.modules if m.startswith('mergecheck.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert done.stdout.strip() == "[]"
