"""Verbs about saved cases: adopt, shrink, and cases list, show, diff and prune."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, FAULTY, SQL, case_document, write_case

from mergecheck.model.case_file import load_cases

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

ORIGIN = {
    "found_by": "fuzz",
    "mergecheck": "0.1.0",
    "engine": FAULTY,
    "engine_version": "1.0",
    "seed": 7,
    "number": 3,
    "fingerprint": {
        "engine": "loses-null-keys",
        "check": "rows",
        "against": "reference",
        "kind": "missing_rows",
        "detail": "",
    },
    "difference": [
        {"check": "rows", "against": "reference", "kind": "missing_rows", "lines": ["missing in engine  (NULL, 'n')"]}
    ],
}


@pytest.fixture
def finding(folder: Path) -> str:
    """The id of a saved finding."""
    store = folder / ".mergecheck" / "findings"
    store.mkdir(parents=True)
    write_case(store / "a1b2c3.json", id="a1b2c3", origin=ORIGIN)
    (store / "a1b2c3.report.txt").write_text("MISMATCH\n")
    return "a1b2c3"


@pytest.fixture(params=["80", "120"])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:  # noqa: ARG001 - sets COLUMNS too
    monkeypatch.setenv("COLUMNS", request.param)
    return str(request.param)


@pytest.mark.usefixtures("width")
def test_a_finding_is_adopted(mergecheck: Mergecheck, finding: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    """A case file with the rows that must come out and the origin, a test module, and the command that runs it."""
    ended = mergecheck("cases", "adopt", finding)
    assert ended.code == 0
    assert ended.out == snapshot
    path = folder / "tests" / "cases" / "rows-missing-rows-a1b2c3.json"
    assert path.read_text() == snapshot
    (case,) = load_cases(path)
    assert case.expect is not None
    assert (None, "n") in (case.expect.rows or ())


def test_adopting_again_changes_nothing(mergecheck: Mergecheck, finding: str, folder: Path) -> None:
    """The same files; what differs is never overwritten, but for a test module that its owner has changed."""
    mergecheck("cases", "adopt", finding, "--name", "null-key")
    module = folder / "tests" / "test_merge_cases.py"
    module.write_text(module.read_text() + "\n# mine\n")
    again = mergecheck("cases", "adopt", finding, "--name", "null-key", "--json")
    assert (again.code, again.json["written"]) == (0, [])
    assert module.read_text().endswith("# mine\n")

    case = folder / "tests" / "cases" / "null-key.json"
    case.write_text(case.read_text().replace("fuzz", "me"))
    other = mergecheck("cases", "adopt", finding, "--name", "null-key")
    assert (other.code, other.out) == (2, "")
    assert "null-key.json is there with other content" in other.err

    module.write_text("def test_mine(): pass\n")
    foreign = mergecheck("cases", "adopt", finding, "--name", "another")
    assert foreign.code == 2
    assert "does not use the fixture mergecheck_check" in foreign.err
    assert not (folder / "tests" / "cases" / "another.json").exists()


@pytest.mark.parametrize("into", ["tests", "my tests", "té\"st's"])
def test_a_patch_for_git(mergecheck: Mergecheck, finding: str, folder: Path, into: str) -> None:
    """--diff writes nothing; git apply makes of it the files that adopt writes."""
    git = shutil.which("git")
    assert git is not None
    ended = mergecheck("cases", "adopt", finding, "--into", into, "--diff")
    assert ended.code == 0
    assert not (folder / into).exists()
    subprocess.run([git, "init", "-q", "."], check=True)  # noqa: S603 - git, found above
    subprocess.run([git, "apply", "-"], input=ended.out, text=True, check=True)  # noqa: S603 - the same
    assert mergecheck("cases", "adopt", finding, "--into", into, "--json").json["written"] == []


@pytest.mark.parametrize("name", ["../up", "a b", "", "-x", "a\nb", "x" * 200])
def test_names_that_are_none(mergecheck: Mergecheck, finding: str, folder: Path, name: str) -> None:
    """One message, exit code 2, and nothing is written."""
    ended = mergecheck("cases", "adopt", finding, f"--name={name}")
    assert (ended.code, ended.out) == (2, "")
    assert "cannot be the name of a case" in ended.err
    assert not (folder / "tests").exists()


def test_a_hostile_id_makes_no_path(mergecheck: Mergecheck, folder: Path) -> None:
    """The name is made of the content then."""
    name = write_case(folder / "odd.json", id="../../etc/\x1b[31m")
    ended = mergecheck("cases", "adopt", name, "--json")
    assert ended.code == 0
    assert ended.json["case"].startswith("tests/cases/case-")
    harmful = write_case(folder / "harm.json", sql=SQL.replace("source s", "parquet.`/etc/passwd` s"))
    assert mergecheck("cases", "adopt", harmful).code == 2


@pytest.mark.usefixtures("width")
def test_a_case_is_shrunk(mergecheck: Mergecheck, finding: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    """The smaller case shows the same difference, is written to the given place, and names its origin."""
    ended = mergecheck("cases", "shrink", finding, "--engine", FAULTY, "-o", "small.json", "--quiet")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out == snapshot
    (case,) = load_cases(folder / "small.json")
    assert case.source is not None
    assert len(case.target.rows) + len(case.source.rows) == 1
    assert json.loads((folder / "small.json").read_text())["origin"]["seed"] == 7
    again = mergecheck("cases", "shrink", "small.json", "--engine", FAULTY, "--json")
    assert (again.code, again.json["rows"]) == (1, again.json["rows_before"])


def test_what_cannot_be_shrunk(mergecheck: Mergecheck, finding: str, folder: Path) -> None:
    """A case that agrees, a file that is there, a file that is none."""
    ended = mergecheck("cases", "shrink", finding, "--engine", ECHO)
    assert ended.code == 0
    assert "nothing to shrink" in ended.out
    (folder / "there.json").write_text("mine")
    there = mergecheck("cases", "shrink", finding, "--engine", FAULTY, "-o", "there.json")
    assert (there.code, there.out) == (2, "")
    assert (folder / "there.json").read_text() == "mine"
    assert mergecheck("cases", "shrink", "nothing.json", "--engine", FAULTY).code == 2


@pytest.mark.usefixtures("width", "finding")
def test_cases_are_listed(mergecheck: Mergecheck, folder: Path, snapshot: SnapshotAssertion) -> None:
    """The findings, or the given cases; with their origin."""
    write_case(folder / "own.json", id="my\x1b[2Jown")
    ended = mergecheck("cases", "list", ".mergecheck/findings", "own.json")
    assert ended.code == 0
    assert ended.out == snapshot
    document = mergecheck("cases", "list", "--json").json
    assert document["cases"][0]["origin"] == ORIGIN
    assert mergecheck("cases", "list", "--findings", "nowhere").out == "no cases in nowhere\n"


def test_a_case_is_shown_with_its_origin(mergecheck: Mergecheck, finding: str) -> None:
    """As text and as its file."""
    assert (
        "found by fuzz of mergecheck VERSION on echo_engine:LosesNullKeys 1.0"
        in mergecheck("cases", "show", finding).out
    )
    assert mergecheck("cases", "show", finding, "--json").json["origin"] == ORIGIN


@pytest.mark.usefixtures("width")
def test_cases_are_compared(mergecheck: Mergecheck, finding: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    """What differs, key by key; id and origin do not count."""
    same = write_case(folder / "same.json", id="same")
    other = write_case(folder / "other.json", conf={"spark.sql.ansi.enabled": "false"}, sql=SQL.replace("t.id", "t.v"))
    assert mergecheck("cases", "diff", finding, same).code == 0
    ended = mergecheck("cases", "diff", finding, other)
    assert ended.code == 1
    assert ended.out == snapshot
    assert mergecheck("cases", "diff", finding, other, "--json").json["different"] == ["conf", "sql"]


def test_findings_are_pruned(mergecheck: Mergecheck, finding: str, folder: Path) -> None:
    """Only listed without --yes; then duplicates, cases set aside, and fixed ones go, with their reports."""
    store = folder / ".mergecheck" / "findings"
    larger = case_document()["target"] | {"files": [[[1, "a"], [None, "n"], [7, "x"]], [[3, "c"]]]}
    write_case(store / "d4e5f6.json", id="d4e5f6", target=larger, origin=ORIGIN)
    (store / "flaky").mkdir()
    write_case(store / "flaky" / "0a0a0a.json", id="0a0a0a")
    options = ("cases", "prune", "--duplicates", "--set-aside")
    listed = mergecheck(*options)
    assert (listed.code, listed.out.count("would remove")) == (0, 2)
    assert len(list(store.rglob("*.json"))) == 3
    removed = mergecheck(*options, "--yes", "--json").json["removed"]
    assert [entry["reason"] for entry in removed] == ["flaky", f"a duplicate of {finding}"]
    assert [path.stem for path in store.rglob("*.json")] == [finding]
    assert mergecheck("cases", "prune", "--fixed", FAULTY, "--yes").out == "nothing to remove\n"
    mergecheck("cases", "prune", "--fixed", ECHO, "--yes")
    assert list(store.rglob("*")) == [store / "flaky"]
    assert mergecheck("cases", "prune").code == 2
