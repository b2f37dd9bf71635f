"""A stranger's clone with links and pipes where mergecheck writes or reads: nothing outside of the project changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.findings.store import FindingsDirectory, RunningCase
from mergecheck.harness.processes import output_files
from mergecheck.harness.processes.output_files import LinkInTheWayError
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import load_cases
from mergecheck.model.text_file import MOST_BYTES

MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
ENGINES = str(Path(__file__).parents[1] / "cli")
FAULTY = "echo_engine:LosesNullKeys"
ECHO = "echo_engine:Echo"
CASE = {
    "format_version": 1,
    "id": "loses",
    "target": {"schema": "id INT, v STRING", "rows": [[1, "a"]]},
    "source": {"schema": "id INT, v STRING", "rows": [[None, "x"], [2, "y"]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
}
FUZZ = ("fuzz", "--engine", FAULTY, "--max-cases", "3", "--seed", "1", "--floor", "0")


class Clone:
    """A repository of a stranger's, and a folder of the user's that its links lead to.

    Attributes:
        work: where commands run.
        theirs: the user's folder.
    """

    def __init__(self, root: Path) -> None:
        self.work, self.theirs = root / "clone", root / "theirs"
        (self.work / ".git").mkdir(parents=True)
        self.theirs.mkdir()
        (self.theirs / "keep.txt").write_text("precious")
        for folder in ("findings", "running", "flaky"):
            (self.theirs / folder).mkdir()
            (self.theirs / folder / "123456789.json").write_text(json.dumps(CASE))
        self.before = self.content()
        (self.work / "case.json").write_text(json.dumps(CASE))

    def content(self) -> dict[str, str]:
        return {str(path): path.read_text() for path in self.theirs.rglob("*") if path.is_file()}

    def run(self, *arguments: str, code: int) -> str:
        """Run a command in the clone; whatever its end, the user's folder is as it was."""
        with CliRunner().isolation() as (out, err, _):
            ended = main(arguments)
            shown, errors = out.getvalue().decode(), err.getvalue().decode()
        assert self.content() == self.before, arguments
        assert "Traceback" not in errors
        assert ended == code, (arguments, shown[-2_000:], errors[-2_000:])
        return shown + " ".join(errors.split())


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    made = Clone(tmp_path)
    monkeypatch.chdir(made.work)
    monkeypatch.setattr(sys, "path", [*sys.path, ENGINES])  # without the clone, which an engine's name adds
    return made


@pytest.mark.parametrize("link", [".mergecheck", ".mergecheck/findings", ".mergecheck/running"])
@pytest.mark.parametrize("is_relative", [False, True])
def test_a_folder_of_ours_that_is_a_link(clone: Clone, link: str, is_relative: bool) -> None:  # noqa: FBT001 - a parameter
    """Neither written to nor cleared of leftovers; the message names the link and where it leads."""
    place = clone.work / link
    place.parent.mkdir(exist_ok=True)
    whole = clone.theirs / link.removeprefix(".mergecheck").lstrip("/")
    place.symlink_to(os.path.relpath(whole, place.parent) if is_relative else whole)
    output = clone.run(*FUZZ, code=2)
    assert f"{link} is a link to {place.readlink()}" in output
    assert "Remove it, or name the place that it leads to" in output


def test_a_link_inside_of_the_project_is_not_followed_under_our_folder(clone: Clone) -> None:
    """There is nothing there that a user put."""
    (clone.work / "src").mkdir()
    (clone.work / ".mergecheck").mkdir()
    (clone.work / ".mergecheck" / "findings").symlink_to("../src")
    assert ".mergecheck/findings is a link to ../src" in clone.run(*FUZZ, code=2)
    assert not list((clone.work / "src").iterdir())


@pytest.mark.parametrize("target", ["{theirs}/keep.txt", "{theirs}/new.txt", "../theirs/keep.txt", ".git/hooks"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "case.json", "--engine", ECHO, "--html", "out.html"),
        ("cases", "shrink", "case.json", "--engine", FAULTY, "--output", "out.html"),
        (*FUZZ, "--events", "out.html"),
        (*FUZZ, "--observations", "out.html"),
        ("engine", "conform", ECHO, "--learned", "out.html"),
        ("engine", "conform", ECHO, "--certificate", "out.html"),
        ("cases", "export", "case.json", "--format", "duckdb", "--output", "out.html"),
        ("config", "ci", "report", "result.json", "--junit", "out.html"),
        ("lab", "matrix", "--engine", ECHO, "--max-cases", "1", "--seed", "1", "--markdown", "out.html"),
    ],
    ids=" ".join,
)
def test_an_option_that_names_a_link_of_the_clone(clone: Clone, arguments: tuple[str, ...], target: str) -> None:
    (clone.work / "out.html").symlink_to(target.format(theirs=clone.theirs))
    (clone.work / "result.json").write_text(clone.run("run", "case.json", "--engine", ECHO, "--json", code=0))
    output = clone.run(*arguments, code=2)
    assert "out.html" in output
    assert not (clone.theirs / "new.txt").exists()
    assert not (clone.work / ".git" / "hooks").exists()


def test_links_between_files_of_the_project_and_of_the_users_own(clone: Clone) -> None:
    """Links and pipes of a user in the project, and those that he names outside of it, work as in the system."""
    (clone.work / "pages").mkdir()
    (clone.work / "latest.html").symlink_to("pages/today.html")
    output_files.write_text(Path("latest.html"), "1")
    assert (clone.work / "pages" / "today.html").read_text() == "1"
    outside = clone.work.parent / "outside"
    outside.mkdir()
    (outside / "link").symlink_to(outside / "file")
    for name in (outside / "link", Path("../outside/link")):
        output_files.write_text(name, str(name))
        assert (outside / "file").read_text() == str(name)
    assert (outside / "link").is_symlink()


def test_a_loop_of_links_and_other_ways_out(clone: Clone) -> None:
    (clone.work / "a").symlink_to("b")
    (clone.work / "b").symlink_to("a")
    (clone.work / "self").symlink_to(".")
    (clone.work / "up").symlink_to("..")
    (clone.work / "chain").symlink_to("up")
    alias = clone.work.parent / "alias"
    alias.symlink_to(clone.work)
    (clone.work / ".mergecheck").symlink_to(clone.theirs)
    for name in ("a", "a/x", "up/theirs/keep.txt", "chain/theirs/keep.txt", "self/up/theirs/keep.txt"):
        with pytest.raises(OSError, match=r"link|Too many levels|symbolic"):
            output_files.write_text(Path(name), "x", parents=True)
    for name in (
        clone.work / ".mergecheck/keep.txt",
        alias / ".mergecheck/keep.txt",
        Path("x/../.mergecheck/keep.txt"),
    ):
        with pytest.raises(LinkInTheWayError):
            output_files.write_text(name, "x")
        with pytest.raises(LinkInTheWayError):
            output_files.remove(name)
    output_files.write_text(Path("self/self/fine.txt"), "x")
    assert (clone.work / "fine.txt").read_text() == "x"
    assert clone.content() == clone.before


def test_a_file_is_replaced_and_not_overwritten(clone: Clone) -> None:
    """A hard link is no way out either; who may read the file stays."""
    os.link(clone.theirs / "keep.txt", clone.work / "hard.json")
    (clone.work / "hard.json").chmod(0o600)
    output_files.write_text(Path("hard.json"), "x")
    assert (clone.work / "hard.json").stat().st_mode & 0o777 == 0o600
    os.link(clone.theirs / "keep.txt", clone.work / "hard.jsonl")
    with output_files.open_stream(Path("hard.jsonl")) as file:
        file.write("1\n")
        assert (clone.work / "hard.jsonl").read_text() == "1\n"  # others follow it
    assert clone.content() == clone.before
    assert not list(clone.work.glob(".mergecheck-*"))


@pytest.mark.parametrize("name", [".mergecheck/running/1.json", ".mergecheck/findings/x.json", "page.html"])
def test_a_pipe_that_nobody_reads(clone: Clone, name: str) -> None:
    (clone.work / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(clone.work / name)
    for write in (output_files.write_text, output_files.append):
        with pytest.raises(OSError, match="nobody reads"):
            write(Path(name), "x")
    with pytest.raises(OSError, match="nobody reads"):
        output_files.open_stream(Path(name))
    with pytest.raises(FileExistsError):
        output_files.create(Path(name), "x")
    fifo = clone.work / "link"
    fifo.symlink_to(name)
    with pytest.raises(OSError, match=r"nobody reads|is a link to"):
        output_files.write_text(fifo, "x")


def test_commands_do_not_wait_for_a_pipe(clone: Clone) -> None:
    os.mkfifo(clone.work / "out.html")
    for arguments in (
        ("run", "case.json", "--engine", ECHO, "--html", "out.html"),
        (*FUZZ, "--events", "out.html"),
        ("engine", "conform", ECHO, "--learned", "out.html"),
    ):
        assert "nobody reads" in clone.run(*arguments, code=2)


def test_a_pipe_that_is_read(clone: Clone) -> None:
    """A user may follow a run, or send its report on."""
    os.mkfifo(clone.work / "events")
    with subprocess.Popen(["/bin/cat", "events"], cwd=clone.work, stdout=subprocess.PIPE, text=True) as reader:
        while True:
            try:
                file = output_files.open_stream(Path("events"))
            except OSError:  # the reader has not opened it yet
                continue
            break
        with file:
            file.write("1\n")
        assert reader.communicate(timeout=30)[0] == "1\n"


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
def test_descriptors_stay_allowed(clone: Clone, name: str) -> None:
    ended = subprocess.run(  # noqa: S603 - our own command
        [MERGECHECK, "run", "case.json", "--engine", "duckdb", "--html", name],
        cwd=clone.work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "<!doctype html>" in ended.stdout.lower()


def test_devices_stay_allowed(clone: Clone) -> None:
    clone.run("run", "case.json", "--engine", ECHO, "--html", "/dev/null", code=0)
    clone.run(*FUZZ, "--events", "/dev/null", code=1)


def test_prune_removes_nothing_behind_a_link(clone: Clone) -> None:
    (clone.work / ".mergecheck").mkdir()
    (clone.work / ".mergecheck" / "findings").symlink_to(clone.theirs)
    output = clone.run("cases", "prune", "--set-aside", "--yes", code=2)
    assert ".mergecheck/findings is a link to" in output


def test_leftovers_behind_a_link_are_not_removed(clone: Clone) -> None:
    """A run that finds the cases of lost processes moves them to the findings."""
    (clone.work / ".mergecheck").mkdir()
    (clone.work / ".mergecheck" / "running").symlink_to(clone.theirs / "running")
    assert "cannot remove" in clone.run(*FUZZ, code=2)


def test_a_folder_that_is_swapped_for_a_link_meanwhile(clone: Clone) -> None:
    running, findings = RunningCase(), FindingsDirectory()
    (case,) = load_cases(clone.work / "case.json")
    running.write(case)
    findings.save(case, "report")
    for name in ("running", "findings"):
        (clone.work / ".mergecheck" / name).rename(clone.work / f"old-{name}")
        (clone.work / ".mergecheck" / name).symlink_to(clone.theirs / name)
    for call in (lambda: running.write(case), running.clear, lambda: findings.save(case, "report")):
        with pytest.raises(UserInputError, match="is a link to"):
            call()
    assert clone.content() == clone.before


READERS = [
    ("run", "{name}", "--engine", ECHO),
    ("replay", "{name}", "--engine", ECHO),
    (*FUZZ, "--baseline", "{name}"),
    (*FUZZ, "--html", "page.html", "--history", "{name}"),
    (*FUZZ, "--deviations", "{name}"),
    (*FUZZ, "--capabilities", "{name}"),
    ("engine", "conform", ECHO, "--check-learned", "{name}"),
    ("lab", "sequences", "--engine", ECHO, "--totals", "{name}"),
    ("lab", "sequences", "{name}", "--engine", ECHO),
    ("lab", "scoreboard", "{name}"),
    ("lab", "scale", "{name}"),
    ("config", "ci", "report", "{name}", "--github"),
    ("config", "show", "--config", "{name}"),
]


@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
def test_what_is_read_is_an_ordinary_file_of_a_usual_size(clone: Clone, arguments: tuple[str, ...]) -> None:
    """A message and exit code 2 for a pipe, a link to one, a device that never ends, and a file of many gigabytes."""
    os.mkfifo(clone.work / "pipe.json")
    (clone.work / "link.json").symlink_to("pipe.json")
    (clone.work / "zero.json").symlink_to("/dev/zero")
    with (clone.work / "large.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for name in ("pipe.json", "link.json", "zero.json", "large.json"):
        output = clone.run(*(argument.format(name=name) for argument in arguments), code=2)
        assert name in output
