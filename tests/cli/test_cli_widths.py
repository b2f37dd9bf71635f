"""What every verb prints, at 80 and at 120 columns: the commands of a user, one after the other in one folder.

Left out are ``doctor``, whose lines depend on this machine, and ``import``, ``learn`` and ``scale``, whose own tests
show them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, FAULTY, write_case

from mergecheck.harness.cli.verb_group import SECTIONS, Group

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

ADAPTIVE = "echo_engine:LosesARowWhenAdaptive"
COMMANDS = (
    ("fuzz --engine echo_engine:KnowsNothing --seed 1 --max-cases 2", 4),
    (f"cases shrink case.json --engine {FAULTY} --quiet", 1),
    (f"run case.json --engine {ECHO} --engine {FAULTY}", 1),
    (f"explain case.json --engine {FAULTY} --pairs", 1),
    (f"replay FINDING case.json --engine {FAULTY}", 1),
    (f"replay FINDING --engine {ECHO}", 0),
    (f"variants case.json --engine {ADAPTIVE} --variant aqe=on --findings variants", 1),
    (f"lab bisect VARIANT --engine {ADAPTIVE}", 1),
    (f"lab matrix --engine {ECHO} --engine echo_engine:KnowsNothing --max-cases 3 --seed 1", 4),
    ("lab scoreboard one.json matrix.json", 0),
    ("engine conform echo_engine:KnowsNothing", 4),
    ("engine mutants echo_engine:KnowsNothing --seed 1 --max-cases 2", 4),
    ("engine new my-engine", 0),
    ("cases adopt FINDING", 0),
    ("cases export case.json --format sqllogictest", 0),
    ("cases list case.json .mergecheck/findings", 0),
    ("cases show case.json", 0),
    ("cases diff case.json FINDING", 1),
    ("cases prune --duplicates", 0),
    ("lab rules R-320", 0),
    ("engine list", 0),
    (f"lab sequences --engine {ECHO} --max-sequences 1 --seed 1", 4),
    ("lab concurrency --list", 0),
    ("config show replay --profile ci", 0),
    ("lab merge-runs part.json --into merged", 4),
    ("config ci github", 0),
    ("config ci kubernetes", 0),
    ("config ci report old.json --github", 0),
    ("cases diff --runs old.json new.json", 1),
)
_CASES = {"agree": 8, "deviates": 0, "unsupported": 1, "mismatch": 0, "error": 0}
_RELEASE = {"engine": "some-engine", "features": {}, "unsupported": {"a reason": 1}, "differences": [], "down": None}
STORED = {"seed": 1, "engines": [{**_RELEASE, "version": version, "totals": _CASES} for version in ("1.10.0", "1.9.0")]}
DRAWING = ("fuzz ", "lab matrix ", "lab merge-runs ", "lab sequences ")
"""Their draws, and so their counts, change with the generator; numbers are left out."""
SHOWN_ELSEWHERE = {"doctor", "cases import", "config schema", "config trust", "lab scale", "exhaust"}


@pytest.mark.parametrize("columns", ["80", "120"])
def test_output_of_every_verb(
    mergecheck: Mergecheck, folder: Path, columns: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    write_case(folder / "case.json")
    (folder / "old.json").write_text(mergecheck("replay", "case.json", "--engine", ECHO, "--json").out)
    (folder / "new.json").write_text(mergecheck("replay", "case.json", "--engine", FAULTY, "--json").out)
    (folder / "one.json").write_text(mergecheck("run", "case.json", "--engine", FAULTY, "--json").out)
    part = ("fuzz", "--engine", "echo_engine:KnowsNothing", "--seed", "1", "--range", "0:2", "--json")
    (folder / "part.json").write_text(mergecheck(*part).out)
    (folder / "matrix.json").write_text(json.dumps(STORED))
    for command, code in COMMANDS:
        words = [_place(word, folder) for word in command.split()]
        ended = mergecheck(*words)
        assert (command, ended.code) == (command, code), ended.err
        shown = _steady(f"{ended.out}--- stderr\n{ended.err}")
        if command.startswith(DRAWING):
            cells = re.sub(r"(?m)(\s{2,}(\.|u?\d+))+[^\S\n]*$", "  CELLS", shown)
            shown = re.sub(r"(?m)( N)+ u\d+ *$", "  CELLS", re.sub(r" *\b\d+", " N", cells))
        assert shown == snapshot(name=f"{columns} {command}")


def test_every_verb_is_shown() -> None:
    known = {
        f"{verb} {below}" if isinstance(found, Group) else verb
        for section in SECTIONS.values()
        for verb, found in section.items()
        for below in (found.verbs if isinstance(found, Group) else (verb,))
    }
    shown = {name for name in known if any(f"{command} ".startswith(f"{name} ") for command, _ in COMMANDS)}
    assert known == shown | SHOWN_ELSEWHERE


def _place(word: str, folder: Path) -> str:
    """Find the file that an earlier command has saved."""
    stores = {"FINDING": ".mergecheck/findings", "VARIANT": "variants"}
    return str(next((folder / stores[word]).glob("*.json")).relative_to(folder)) if word in stores else word


def _steady(text: str) -> str:
    """Leave out what changes with the machine and with the generator: times, and how many cases reach a rule."""
    timeless = re.sub(r"\b\d+(\.\d+)?( s|/s)\b", r"TIME\2", text)
    return re.sub(r"\b\d+ of \d+ random cases\b", "N of N random cases", timeless)
