"""README, docs and their neighbours: links lead to files, commands and options exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.command_line import cli
from mergecheck.merge.conf import SETTING_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE_CODE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^(?:\$ |.*&& )?(?:\S*/)?mergecheck ([a-z][a-z-]*)((?:\\\n|[^\n#])*)", re.MULTILINE)
MAKE_FUZZ = re.compile(r"FUZZ=\"([^\"]*)\"")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
DOTTED_NAME = re.compile(r"mergecheck(?:\.\w+)+")
ROOM_PATH = re.compile(r"(?:harness|merge|reference|strategies|model|tools|tests|docs)/[\w./-]*")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def test_links_lead_to_files() -> None:
    """Every relative link of a page resolves to a file or folder of the repository."""
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        if "://" not in link and not link.startswith("#") and not (page.parent / link.partition("#")[0]).exists()
    ]
    assert broken == []


def test_links_lead_to_headings() -> None:
    """A link with an anchor leads to a heading of its page, by the anchors that forges make of headings."""
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        if "://" not in link and "#" in link and not has_heading(page, *link.split("#"))
    ]
    assert broken == []


def has_heading(page: Path, path: str, anchor: str) -> bool:
    target = page.parent / path if path else page
    headings = HEADING.findall(FENCE.sub("", target.read_text(encoding="utf-8")))
    return anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_commands_exist() -> None:
    """Every verb and option of ``mergecheck`` in the code of a page exists; the change log names old ones, too."""
    unknown = [
        f"{page.relative_to(ROOT)}: {problem}"
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for verb, rest in commands(page.read_text(encoding="utf-8"))
        for problem in problems(verb, rest)
    ]
    assert unknown == []


def test_names_in_code_exist() -> None:
    """Every dotted name and every path of the repository in the inline code of a page exists."""
    unknown = [
        f"{page.relative_to(ROOT)}: {code}"
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for code in INLINE_CODE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        if (DOTTED_NAME.fullmatch(code) and not is_setting(code) and not exists(code))
        or (ROOM_PATH.fullmatch(code) and not (ROOT / code).exists())
    ]
    assert unknown == []


def test_names_whose_docstrings_are_shown_exist() -> None:
    """The directives of mkdocstrings; a name that is gone would be seen only when the site is built."""
    text = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    assert len(names) > 15
    assert [name for name in names if not exists(name)] == []


def test_options_of_pytest_exist(pytestconfig: pytest.Config) -> None:
    """The options of the pytest plugin, wherever a page names one."""
    named = {
        option
        for page in PAGES
        for option in re.findall(r"--mergecheck-[a-z]+(?:-[a-z]+)*", page.read_text(encoding="utf-8"))
    }
    known = vars(pytestconfig.option)
    assert named
    assert sorted(option for option in named if option[2:].replace("-", "_") not in known) == []


def test_what_is_wrong_is_seen() -> None:
    text = (
        "```\nmergecheck fuzz --max-cases 5 \\\n  --nosuch\nmergecheck nosuch\n```\n"
        'and `replay --jobs 2`, `make fuzz FUZZ="--x"`'
    )
    assert [problem for verb, rest in commands(text) for problem in problems(verb, rest)] == [
        "fuzz --nosuch",
        "nosuch",
        "replay --jobs",
        "fuzz --x",
    ]


def is_setting(name: str) -> bool:
    """Distinguish settings of the merge and of cases, the group of entry points, and files from names in Python."""
    others = {
        "mergecheck.engines",
        "mergecheck.iceberg.format",
        "mergecheck.iceberg.mode",
        "mergecheck.source",
        "mergecheck.variant",
        "mergecheck.toml",
        "mergecheck.schema.json",
    }
    return name in others or name in SETTING_NAMES


def exists(name: str) -> bool:
    """Import a module, or the longest part of a name that is one, and look up the rest."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Find the commands in a page's code: the verb, and what follows it."""
    for block in FENCE.findall(text):
        yield from COMMAND.findall(block)
        yield from (("fuzz", options) for options in MAKE_FUZZ.findall(block))
    for code in INLINE_CODE.findall(FENCE.sub("", text)):
        verb, _, rest = code.partition(" ")
        if verb in cli.list_commands(click.Context(cli)):
            yield verb, rest
        else:
            yield from COMMAND.findall(code)
            yield from (("fuzz", options) for options in MAKE_FUZZ.findall(code))


def problems(verb: str, rest: str) -> Iterator[str]:
    """List the words of a command that the command line does not know."""
    command = cli.get_command(click.Context(cli), verb)
    if command is None:
        yield verb
        return
    while isinstance(command, click.Group) and rest.strip():
        name, _, rest = rest.strip().partition(" ")
        command = command.get_command(click.Context(command), name)
        if command is None:
            yield f"{verb} {name}".rstrip()
            return
    known = {"--help", *(option for parameter in command.params for option in parameter.opts)}
    yield from (f"{verb} {option}" for option in OPTION.findall(QUOTED.sub("", rest)) if option not in known)
