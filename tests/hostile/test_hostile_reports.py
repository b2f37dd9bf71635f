"""Reports of a hostile case, read by what reads them: a browser's parser, an XML parser and a Markdown parser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from mergecheck.harness.cli.command_line import main

sys.path.append(str(Path(__file__).parents[1] / "unit"))  # import mode importlib adds no folder

from parsed_html import check_page

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINES = str(Path(__file__).parents[1] / "cli")
TEXTS = {
    "plain": "plain",
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "end of a section": "]]>--><!-- </failure><testcase/>&lt;&#0;",
    "controls": "a\x00\x1b[2J\x07\x08\x7f\x85\u2028\u202e\ufffe\r\nb",
    "surrogates": "\ud800 \udfff \udc80",
    "markdown": "a | b `c` ``d`` ```\n# e\n| f |\n|---|\n![g](http://h) [i](javascript:j) **k** <b>l</b> ~~~\n> m",
    "commands": "\n::stop-commands::x\n::add-mask::y\n::error file=a::z\r##[command]w %0A::x",
    "templates": "{{ 7 * 7 }} {% include 'x' %} ${{ secrets.X }} <%= 1 %>",
}
KINDS = [pytest.param(text, id=name) for name, text in TEXTS.items()]


def case_with(text: str) -> dict[str, Any]:
    """Give a case with a text in its id, its columns' names, values, a literal and a comment."""
    column = "".join(c for c in text if c.isprintable() and c != "`") or "x"
    line, literal = " ".join(column.split()), json.dumps(column)[1:-1].replace("'", "\\'").replace('\\"', '"')
    schema = f"id INT, `{column}` STRING"
    value = text.encode("utf-8", "ignore").decode()  # a table holds no lone surrogate, and a name can
    return {
        "format_version": 1,
        "id": f"case {text}",
        "target": {"schema": schema, "rows": [[1, value], [None, value]]},
        "source": {"schema": schema, "rows": [[1, value], [None, f"{value}2"]]},
        "sql": f"MERGE INTO target t USING source s ON t.id = s.id AND '{literal}' <> 'y' -- {line}\n"
        f"WHEN MATCHED THEN UPDATE SET `{column}` = s.`{column}` WHEN NOT MATCHED THEN INSERT *",
    }


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ENGINES])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))


def run(*arguments: str, codes: tuple[int, ...]) -> str:
    with CliRunner().isolation() as (out, err, _):
        code = main(arguments)
        shown, errors = out.getvalue().decode(), err.getvalue().decode()
    assert code in codes, (shown[-2_000:], errors[-2_000:])
    assert "Traceback" not in errors
    return shown


def reports_of(text: str, path: Path) -> str:
    """Run the case on an engine that loses rows; give what CI is shown."""
    (path / "case.json").write_text(json.dumps(case_with(text)))
    arguments = ("replay", "case.json", "--engine", "echo_engine:LosesNullKeys", "--html", "page.html", "--json")
    (path / "result.json").write_text(run(*arguments, codes=(1,)))
    for name in ("summary.md", "junit.xml"):
        (path / name).unlink(missing_ok=True)
    return run("config", "ci", "report", "result.json", "--github", "--junit", "junit.xml", codes=(0,))


@pytest.mark.parametrize("text", KINDS)
def test_every_report_has_the_shape_of_that_of_a_plain_case(text: str, tmp_path: Path) -> None:
    """No text of a case adds an element, an attribute, a row, a link or a command, nor does it take one away."""
    plain_lines = reports_of("plain", tmp_path).splitlines()
    plain = shapes(tmp_path)
    lines = reports_of(text, tmp_path).splitlines()
    assert shapes(tmp_path) == plain
    commands = [line for line in lines if line.lstrip().startswith(("::", "##"))]
    assert [line.partition(" ")[0] for line in commands] == [line.partition(" ")[0] for line in plain_lines]
    assert len(lines) == len(plain_lines)


def shapes(path: Path) -> list[object]:
    """Take the reports apart: the elements of each, and what their attributes are called."""
    page = check_page((path / "page.html").read_text(encoding="utf-8"))
    xml = ET.parse(path / "junit.xml").getroot()  # noqa: S314 - our own file
    return [
        [
            (one.tag, sorted(one.attributes))
            for one in page.all()
            if one.tag not in {"tr", "td", "th", "br", "span", "code"}
        ],
        [(one.tag, sorted(one.attrib)) for one in xml.iter()],
        list(tokens((path / "summary.md").read_text(encoding="utf-8"))),
    ]


def tokens(text: str) -> Iterator[str]:
    """Give the blocks and marks of a Markdown text, with raw HTML as a reader would see it."""
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text):
        yield token.type
        for inner in token.children or ():
            assert inner.type not in {"html_inline", "image", "link_open"}, text
            if inner.type not in {"text", "softbreak"}:
                yield inner.type
        assert token.type != "html_block", text
