"""No text of a case, a table or an engine moves a cursor, or commands a service that shows the output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mergecheck.harness.cli.output.terminal import LentStream, without_commands

MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
COMMAND = re.compile(r"^\s*::|##(\[|vso\[|teamcity\[)")
EVIL = "::set-output name=a::\x1b[2J\u202e\u200b"
CASE = {
    "format_version": 1,
    "id": "::stop-commands::x",
    "target": {
        "schema": "id BIGINT, `::add-mask::x` STRING",
        "rows": [[1, f"\n{EVIL}"], [2, "\r##vso[task.setvariable]x"], [None, "\u2028::error::x"]],
    },
    "source": {"schema": "id BIGINT, `::add-mask::x` STRING", "rows": [[2, "##[command]x"], [3, "##teamcity[x]"]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id -- \n::error::x\n".replace("\n::error::x", " ::error::x")
    + "WHEN MATCHED THEN UPDATE SET `::add-mask::x` = '\n  ::error::x\n' WHEN NOT MATCHED THEN INSERT *",
}
ENGINE = """
import warnings
from echo_engine import Echo, LosesNullKeys

EVIL = {evil!r}


class Prints(LosesNullKeys):
    def run(self, case):
        print(EVIL)
        print(":", end="")
        print(":error::x")
        warnings.warn("\\n" + EVIL)
        return super().run(case)


class Raises(Echo):
    def run(self, case):
        raise ValueError("\\n" + EVIL + "\\n##vso[x]y")


class RaisesAtClose(Echo):
    def close(self):
        raise ValueError("\\n" + EVIL)


class Refuses(Echo):
    def run(self, case):
        from mergecheck.model.outcome import Unsupported
        return Unsupported("\\n" + EVIL)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            (verb, "case.json", "--engine", f"evil:{name}")
            for verb in ("run", "replay")
            for name in ("Prints", "Raises")
        ),
        ("run", "case.json", "--engine", "evil:RaisesAtClose"),
        ("run", "case.json", "--engine", "evil:Refuses"),
        ("explain", "case.json", "--engine", "evil:Prints"),
        ("fuzz", "--max-cases", "3", "--seed", "5", "--engine", "evil:Raises"),
        ("cases", "show", "case.json"),
        ("cases", "show", "--sql", "case.json"),
        ("cases", "list", "case.json"),
        ("run", "case.json", "--engine", "evil:Prints", "--json"),
    ],
    ids=" ".join,
)
def test_no_line_is_a_command_or_has_control_characters(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever the verb, on stdout and on stderr."""
    (tmp_path / "case.json").write_text(json.dumps(CASE))
    (tmp_path / "evil.py").write_text(ENGINE.format(evil=EVIL))
    engines = str(Path(__file__).parents[1] / "cli")
    ended = subprocess.run(  # noqa: S603 - our own command
        [MERGECHECK, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": engines},
        capture_output=True,
        text=True,
        check=False,
    )
    out = "" if "--json" in arguments else ended.stdout
    lines = re.split(r"[\r\n]", out + "\n" + ended.stderr)
    assert len(lines) > 2, ended
    assert [line for line in lines if COMMAND.search(line) or not line.isprintable()] == []
    if "--json" in arguments:
        assert json.loads(ended.stdout)["id"] == CASE["id"]


def test_a_command_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    """A service sees lines, whatever the calls by which they were written."""
    stream = LentStream(sys.stdout)
    for piece in ("a", "::b\n", ":", ":c\n", " ", "::d\n", "e\n::f", "\n", "\x1b[0m::g\n"):
        stream.write(piece)
    stream.close()
    shown = capsys.readouterr().out
    assert shown == "a::b\n:\\u003A:c\n \\u003A:d\ne\n\\u003A:f\n\\u001B[0m::g\n".replace(":\\u003A:c", ":\\u003Ac")
    assert not any(COMMAND.search(line) for line in shown.split("\n"))


@pytest.mark.parametrize("text", ["\x1b[1m::x", "  ::x", "a\n::x", "a ##[x]", "##vso[x]", "##TeamCity[x]"])
def test_commands_are_broken(text: str) -> None:
    assert not COMMAND.search(re.sub(r"\x1b\[1m", "", without_commands(text)).rpartition("\n")[2])


@pytest.mark.parametrize("text", ["a::b", "a # b", "## title", "CAST(x AS INT) :: y"])
def test_other_text_stays(text: str) -> None:
    assert without_commands(text) == text
