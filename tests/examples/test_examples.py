"""Each example runs in a copy of its folder, as in its README, in a short form."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mergecheck.harness.lab.conformance.new_engine import write_new_engine

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "passed"),
    [
        ("ci", (), 2),
        ("dbt_merge", ("--hypothesis-profile", "quick"), 1),
        ("engine", ("--deselect", "test_sqlite_merge.py::test_no_case_of_the_fixed_suite_fails"), 4),
        ("optimised", (), 1),
    ],
)
def test_an_example_passes_its_tests(tmp_path: Path, name: str, options: tuple[str, ...], passed: int) -> None:
    folder = shutil.copytree(EXAMPLES / name, tmp_path / name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "MERGECHECK"))}
    done = subprocess.run(  # noqa: S603 - commands of this module
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(rf"\b{passed} passed", done.stdout), done.stdout


def test_the_engine_of_the_page_is_the_example(tmp_path: Path) -> None:
    """It is made of the template as it is, and of the code that the page shows."""
    write_new_engine("acme", tmp_path)
    example = EXAMPLES / "optimised"
    assert (example / "acme_engine.py").read_text(encoding="utf-8") == (tmp_path / "acme_engine.py").read_text(
        encoding="utf-8"
    )
    page = (EXAMPLES.parent / "docs" / "how-to" / "optimisation.md").read_text(encoding="utf-8")
    code = (example / "acme_optimised.py").read_text(encoding="utf-8")
    assert f'```python title="acme_optimised.py"\n{code}```\n' in page


def test_the_readme_lists_every_example() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\(\1\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
