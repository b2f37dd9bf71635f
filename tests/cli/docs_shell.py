"""Runs the commands of a documentation page: the blocks marked as ``bash``, in the order of the page.

A block whose fence has a title, for example ``title="needs a cluster"``, is not run; the title is the reason. A python,
toml or json block whose title is the name of a file becomes that file. A text block without a title must be the
block before it printed: each of its lines in this order, with anything for ``...`` and after a line's beginning. A
comment ``# exit code N`` gives the code of a command.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cli_cases import Ended

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"# exit code (\d+)$")
_TIME = re.compile(r"\b\d+(\.\d+)?( s|s)\b")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    text: str

    @property
    def runs(self) -> bool:
        return self.language == "bash" and not self.title


def blocks_of(page: str) -> list[Block]:
    return [Block(*found.groups("")) for found in _BLOCK.finditer(page)]


def commands_of(block: Block) -> Iterator[tuple[str, int]]:
    """Give each command with the exit code that its comment names."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            code = _EXIT_CODE.search(line)
            yield line, int(code[1]) if code else 0


def run_page(page: str, run: Callable[[str], tuple[int, str]]) -> int:
    """Run a page's commands in the working folder and compare its texts with their output.

    Args:
        page: the text of the page.
        run: runs a command, and returns its exit code and its output.

    Returns:
        How many commands ran.
    """
    printed, count = "", 0
    for block in blocks_of(page):
        if block.language == "text" and not block.title:
            assert missing_lines(block.text, printed) == [], printed
        elif block.runs:
            printed = ""
            for command, wanted in commands_of(block):
                code, out = _changed_folder(command) if command.startswith("cd ") else run(command)
                assert (command, code) == (command, wanted), out
                printed, count = printed + out, count + 1
        elif "." in block.title and block.language != "bash":
            Path(block.title).write_text(block.text, encoding="utf-8")
    return count


def missing_lines(wanted: str, printed: str) -> list[str]:
    """Return the first line of a text block that is not among those that were printed, in their order; or none."""
    left = [_steady(line) for line in printed.splitlines()]
    for line in wanted.splitlines():
        if line.strip() in {"", "..."}:
            continue
        while left and not left[0].startswith(_steady(line.removesuffix(" ..."))):
            left.pop(0)
        if not left:
            return [line]
        left.pop(0)
    return []


def _steady(line: str) -> str:
    return _TIME.sub("TIME", re.sub(r"^=+ ", "= ", line.rstrip()))


def _changed_folder(command: str) -> tuple[int, str]:
    os.chdir(shlex.split(command, comments=True)[1])
    return 0, ""


def in_process(mergecheck: Callable[..., Ended], folder: Path) -> Callable[[str], tuple[int, str]]:
    """Run ``mergecheck`` in this process, and everything else in a shell."""

    def run(command: str) -> tuple[int, str]:
        words = shlex.split(command, comments=True)
        if words[0] == "mergecheck":
            into = Path(words.pop()) if words[-2:-1] == [">"] else None
            if into is not None:
                words.pop()
            ended = mergecheck(*(path for word in words[1:] for path in _expanded(word)))
            _forget_modules_in(folder)
            if into is None:
                return ended.code, ended.out + ended.err
            into.write_text(ended.out, encoding="utf-8")
            return ended.code, ended.err
        return in_a_shell(re.sub(r"^(python|pytest) ", lambda name: _PROGRAMS[name[1]], command), dict(os.environ))

    return run


def in_a_shell(command: str, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command as a reader of the page does."""
    done = subprocess.run(  # noqa: S602 - commands of our own pages
        command, shell=True, check=False, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


_PROGRAMS = {"python": f"{sys.executable} ", "pytest": f"{sys.executable} -m pytest "}


def _expanded(word: str) -> list[str]:
    return (sorted(glob.glob(word)) or [word]) if re.fullmatch(r"[\w./-]*\*[\w./-]*", word) else [word]  # noqa: PTH207


def _forget_modules_in(folder: Path) -> None:
    """A command of its own would read an edited engine anew."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
