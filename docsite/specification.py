"""The pages of the specification: one per rule, the chapters, and an index by part.

They are written when the site is built. Their source is ``harness/specification/``.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from docsite.links import to_site
from docsite.tests_by_rule import find_tests
from mergecheck.harness.lab.rule_pages.markdown import page_markdown
from mergecheck.harness.lab.rule_pages.page import load_pages
from mergecheck.harness.specification.rules import CHAPTERS, load_parts, load_rules, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.lab.rule_pages.page import RulePage
    from mergecheck.harness.specification.rules import Part

FOLDER = "specification"
SOURCE = "harness/specification/text"

_CODE = re.compile(r"(```.*?```|`[^`\n]*`|\[[^\]]*\]\([^)]*\)|^# .*?$)", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\b(?:R-(?:\d{3}|A\d{2})|P-\d{1,2})\b")

_INTRODUCTION = """# The specification

What `MERGE INTO` of Delta Lake does, rule by rule: the development head of August 2026 (4.4.0-SNAPSHOT) on Apache Spark
4.2.0 with its defaults. Code, tests and messages cite the rules by number, and `mergecheck lab rules R-320` prints a
page in the terminal. `R-pnn` is rule *nn* of part *p*, `P-n` a property that holds for every merge, `R-Ann` a note on
Delta's internals. Each page has the rule's text, a minimal case, the tests of the rule, and how many random cases
reach it.

Some pages end with "Our reading": what the rule leaves open and what the reference decides, with its evidence.
"Source" names the files of Delta Lake 4.4.0 that decide a rule. "Evidence" gives the origin of a rule: read in Delta's
source code, asserted by Delta's own tests, or observed by running Delta. `python -m tools.benchmarks.rules_on_delta`
tries on Delta what no case can express.

`make docs` writes these pages from `harness/specification/`.
"""


def specification_pages(repository: Path) -> dict[str, str]:
    """Write all pages.

    Args:
        repository: the folder that holds ``tests/``.

    Returns:
        The Markdown of each page, by its path in the folder of the site's pages.
    """
    tests = find_tests(repository)
    pages = load_pages()
    files = {"README.md": _index(pages, tests)}
    files |= {f"{chapter}.md": _linked(read_text(chapter), chapter) for chapter in CHAPTERS}
    files |= {f"{page.rule.number}.md": _rule(page, tests.get(page.rule.number, ())) for page in pages}
    return {f"{FOLDER}/{name}": text for name, text in files.items()}


def _rule(page: RulePage, tests: Sequence[str]) -> str:
    return _linked(page_markdown(page), page.rule.number) + "\n".join(["", "## Tests", "", *_tests(tests), ""])


def _index(pages: Sequence[RulePage], tests: Mapping[str, Sequence[str]]) -> str:
    by_number = {page.rule.number: page for page in pages}
    lines = [_INTRODUCTION]
    for chapter in CHAPTERS:
        title = read_text(chapter).partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({chapter}.md)")
    for part in load_parts():
        lines += ["", f"## {part.title}", "", _linked(part.introduction, "README")]
        lines += ["", *_index_table(part, by_number, tests)]
    return "\n".join(lines) + "\n"


def _index_table(part: Part, pages: Mapping[str, RulePage], tests: Mapping[str, Sequence[str]]) -> list[str]:
    num_cases = next(iter(pages.values())).reach.num_cases
    lines = [f"| Rule | | Cases of {num_cases} | Tests |", "|---|---|---:|---:|"]
    for rule in part.rules:
        cases = pages[rule.number].num_cases
        reached = "" if cases is None else str(cases)
        lines.append(
            f"| [{rule.number}]({rule.number}.md) | {rule.title} | {reached} | {len(tests.get(rule.number, ()))} |"
        )
    return lines


def _tests(tests: Sequence[str]) -> list[str]:
    return [
        f"- `{file}`: " + ", ".join(f"`{name.rpartition('::')[2]}`" for name in names)
        for file, names in groupby(tests, key=lambda test: test.partition("::")[0])
    ]


def _linked(text: str, page: str) -> str:
    """Link every cited rule to its page, and lead the text's own links to the site; code stays as it is."""
    rules = load_rules()
    pieces = _CODE.split(to_site(text, source=f"{SOURCE}/{page}.md", page=f"{FOLDER}/{page}.md"))
    for i in range(0, len(pieces), 2):
        pieces[i] = _NUMBER.sub(lambda m: f"[{m[0]}]({m[0]}.md)" if m[0] in rules else m[0], pieces[i])
    return "".join(pieces)
