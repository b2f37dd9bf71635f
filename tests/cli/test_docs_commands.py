"""The commands of the tutorial and of the how-to guides, run one after the other in an empty folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docs_shell import blocks_of, commands_of, in_process, missing_lines, run_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli_cases import Ended

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "tutorial.md", DOCS / "engines.md", DOCS / "ci.md", DOCS / "cluster.md", DOCS / "dialects.md"]
PAGES += sorted((DOCS / "how-to").glob("*.md"))
FROM_THE_WHEEL = {"executor.md", "optimisation.md", "my-tables.md", "ci.md"}  # tests/packaging/test_pages.py


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page.name not in FROM_THE_WHEEL and any(block.runs for block in blocks_of(page.read_text(encoding="utf-8")))
    ],
    ids=lambda page: page.stem,
)
def test_commands_run(
    page: Path, mergecheck: Callable[..., Ended], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end with the exit codes, and print the lines, of the page."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # an edit within a second would not be seen
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", list(sys.path))  # the engine's folder is put there
    known = set(sys.modules)
    try:
        assert run_page(page.read_text(encoding="utf-8"), in_process(mergecheck, folder)) > 0
    finally:
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]  # another page may write a module of this name


def test_blocks_that_do_not_run_say_why() -> None:
    """A block of commands has the language bash; no guide has commands in a block without one."""
    unmarked = [
        f"{page.name}: {text}"
        for page in PAGES
        for text in page.read_text(encoding="utf-8").split("\n```\n")
        if text.startswith(("mergecheck ", "pytest ", "$ "))
    ]
    assert unmarked == []


def test_a_page_is_read() -> None:
    page = 'x\n\n```bash\nmergecheck a \\\n  b    # exit code 3\n# no command\n```\n\n```bash title="slow"\nc\n```\n'
    first, second = blocks_of(page)
    assert list(commands_of(first)) == [("mergecheck a    b    # exit code 3", 3)]
    assert (first.runs, second.runs, second.title) == (True, False, "slow")


def test_lines_that_were_not_printed_are_seen() -> None:
    printed = "a\nb\nc\n==== 1 passed in 7.56s ====\n"
    assert missing_lines("a\n...\nc\n= 1 passed in TIME\n", printed) == []
    assert missing_lines("c\nb\n", printed) == ["b"]
