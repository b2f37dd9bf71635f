"""What CI services get: annotations, summaries, JUnit files, workflows whose steps run, and two runs compared."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from cli_cases import FAULTY, write_case

from mergecheck.harness.report.ci.github import escape_data, escape_property
from mergecheck.harness.report.ci.workflows import JOBS, WORKFLOWS, workflow_text

if TYPE_CHECKING:
    from cli_cases import Mergecheck

ACTION = Path(__file__).parents[2] / "ci" / "github" / "action.yml"
HOSTILE = "a\n::error::x | <b> ``` % \x00\x1b[31m \ud800"


def replayed(*cases: tuple[str, str], **changes: Any) -> str:
    mismatch = {"check": "rows", "against": "reference", "kind": "missing_rows", "lines": ["- (NULL, 'n')"]} | changes
    return json.dumps(
        {
            "counts": {},
            "cases": [
                {"id": name, "verdict": verdict, "mismatches": [mismatch] if verdict == "mismatch" else []}
                for name, verdict in cases
            ],
        }
    )


def test_only_new_differences_fail(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "old.json").write_text(replayed(("a", "mismatch"), ("b", "agree"), ("c", "mismatch")))
    (folder / "new.json").write_text(replayed(("a", "mismatch"), ("b", "agree"), ("c", "agree")))
    ended = mergecheck("cases", "diff", "--runs", "old.json", "new.json")
    assert ended.code == 0
    assert ended.out.split("\n")[-2] == "0 new, 1 gone, 1 the same"
    ended = mergecheck("cases", "diff", "--runs", "new.json", "old.json", "--json")
    assert ended.code == 1
    assert ended.json["new"] == ["c: rows missing_rows against reference"]
    (folder / "down.json").write_text(replayed(("a", "engine_error"), ("b", "agree"), ("c", "agree")))
    assert mergecheck("cases", "diff", "--runs", "new.json", "down.json").code == 3


def test_another_kind_of_difference_is_new(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "old.json").write_text(replayed(("a", "mismatch")))
    (folder / "new.json").write_text(replayed(("a", "mismatch"), kind="extra_rows"))
    assert mergecheck("cases", "diff", "--runs", "old.json", "new.json").code == 1


def finding(engine: str, seed: int) -> str:
    one = {"id": "f", "path": "f.json", "fingerprint": f"{engine}: rows extra_rows against reference", "mismatches": []}
    return json.dumps({"engine": engine, "seed": seed, "counts": {"mismatch": 1}, "findings": [one], "exit_code": 1})


def test_findings_of_two_versions_are_compared_by_fingerprint(mergecheck: Mergecheck, folder: Path) -> None:
    """The engine's name does not count, the seed does."""
    (folder / "old.json").write_text(finding("engine", 1))
    (folder / "new.json").write_text(finding("engine-two", 1))
    (folder / "other.json").write_text(finding("engine", 2))
    assert mergecheck("cases", "diff", "--runs", "old.json", "new.json").code == 0
    ended = mergecheck("cases", "diff", "--runs", "old.json", "other.json")
    assert ended.code == 2
    assert "other seeds draw other cases" in ended.err.replace("\n", " ")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seed": 1}', "[" * 100_000, '{"cases": [{"id": 1}]}'])
def test_what_is_no_result_is_told(mergecheck: Mergecheck, folder: Path, text: str) -> None:
    (folder / "bad.json").write_text(text)
    ended = mergecheck("config", "ci", "report", "bad.json", "--github")
    assert ended.code == 2
    assert "is no result of mergecheck" in ended.err


def test_a_real_run_is_reported(mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(folder / "case.json", id="null-key")
    (folder / "r.json").write_text(mergecheck("replay", "case.json", "--engine", FAULTY, "--json").out)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    ended = mergecheck("config", "ci", "report", "r.json", "--github", "--junit", "j.xml")
    assert ended.code == 0
    (line,) = ended.out.splitlines()
    assert line.endswith(f"Again: mergecheck replay --engine {FAULTY} case.json")
    assert line.startswith(
        "::error file=case.json,title=mergecheck mismatch echo_engine%3ALosesNullKeys::case null-key: rows missing_rows"
    )
    suite = ET.parse(folder / "j.xml").getroot()[0]  # noqa: S314 - written by the command under test
    checks = len(json.loads((folder / "r.json").read_text())["cases"][0]["mismatches"])
    assert suite.get("failures") == suite.get("tests") == str(checks)
    summary = (folder / "summary.md").read_text()
    assert "| mismatch | 1 |" in summary
    assert "(NULL, 'n')" in summary


def test_known_deviations_of_a_run_are_counted_by_entry(
    mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose differences are all known has an empty list of findings, and notes that it left them out."""
    run = ("fuzz", "--engine", "duckdb", "--seed", "3", "--max-cases", "30", "--floor", "0", "--json")
    document = mergecheck(*run).json
    assert document["deviations"]
    (folder / "r.json").write_text(json.dumps(document))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    assert mergecheck("config", "ci", "report", "r.json", "--github").code == 0
    summary = (folder / "summary.md").read_text()
    assert f"| deviates | {document['deviating']} |" in summary
    rows = [f"| {name} | {number} |" for name, number in document["deviations"].items()]
    assert "\n".join(("| known deviation | cases |", "|---|---:|", *rows)) in summary
    (folder / "r.json").write_text(json.dumps(document | {"exit_code": 4, "inconclusive": ["too *many* known"]}))
    assert (
        "r.json: too *many* known" in mergecheck("config", "ci", "report", "r.json", "--github", "--junit", "j.xml").out
    )
    assert "**Inconclusive:** too \\*many\\* known.\n" in (folder / "summary.md").read_text()
    assert "inconclusive, too *many* known: " in (folder / "j.xml").read_text()


def test_hostile_texts_stay_texts(mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of a case begins a workflow command, ends a code block, or breaks XML."""
    (folder / "r.json").write_text(replayed((HOSTILE, "mismatch"), kind=HOSTILE, lines=[HOSTILE]))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    ended = mergecheck("config", "ci", "report", "r.json", "--github", "--junit", "j.xml")
    assert ended.code == 0
    (line,) = ended.out.splitlines()
    assert line.startswith("::error title=mergecheck mismatch::case a%0A::error::x | <b>")
    assert "````text\n" in (folder / "summary.md").read_text()
    assert ET.parse(folder / "j.xml").getroot()[0].get("failures") == "1"  # noqa: S314 - as above


def test_escapes_are_those_that_github_documents() -> None:
    assert escape_data("a%b\r\nc:d,e") == "a%25b%0D%0Ac:d,e"
    assert escape_property("a%b\r\nc:d,e") == "a%25b%0D%0Ac%3Ad%2Ce"


def test_workflows_are_written_once(mergecheck: Mergecheck, folder: Path) -> None:
    assert len(mergecheck("config", "ci", "github", "--json").json["files"]) == len(WORKFLOWS)
    assert "there already" in mergecheck("config", "ci", "github").out
    changed = folder / ".github" / "workflows" / WORKFLOWS[0]
    changed.write_text("mine")
    ended = mergecheck("config", "ci", "github")
    assert ended.code == 2
    assert WORKFLOWS[0] in ended.err.replace("\n", "")
    assert changed.read_text() == "mine"


def steps_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    jobs = document["jobs"].values() if "jobs" in document else [document["runs"]]
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("text", [*(workflow_text(name) for name in WORKFLOWS), ACTION.read_text(encoding="utf-8")])
def test_no_step_takes_an_input_as_code(text: str) -> None:
    """What somebody types into a form is a variable of the shell, never a part of the script."""
    for step in steps_of(yaml.safe_load(text)):
        assert "${{" not in step.get("run", "")
        assert "uses" in step or step["name"]


@pytest.mark.parametrize(
    ("text", "variables", "wanted"),
    [
        (workflow_text(WORKFLOWS[0]), {"MERGECHECK_PROFILE": "ci"}, "mergecheck-junit.xml"),
        (workflow_text(WORKFLOWS[1]), {"MERGECHECK_PROFILE": "ci"}, "mergecheck-report.html"),
        (
            workflow_text(WORKFLOWS[2]),
            {"MERGECHECK_PROFILE": "ci", "OLD_ENGINE": "duckdb", "NEW_ENGINE": "duckdb"},
            "mergecheck-new.json",
        ),
        (
            workflow_text(WORKFLOWS[3]),
            {"SEED": "1", "PART": "0", "MERGECHECK_PART_SIZE": "2"},
            "mergecheck-merged/junit.xml",
        ),
    ],
    ids=["pull-request", "nightly", "engine-bump", "ranges"],
)
def test_the_steps_run(tmp_path: Path, text: str, variables: dict[str, str], wanted: str) -> None:
    """Each step's script in bash, as GitHub calls it, but for the one that installs mergecheck.

    The engine is a class of the repository, on a machine that has never trusted it.
    """
    (tmp_path / "own.py").write_text("from mergecheck import DuckDbEngine\n")
    (tmp_path / "mergecheck.toml").write_text(
        'engine = "own:DuckDbEngine"\nfloor = 0\n[profiles.ci.fuzz]\nmax-cases = 2\n'
    )
    environment = {
        **os.environ,
        **variables,
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for step in steps_of(yaml.safe_load(text)):
        if "run" not in step or step["name"] == "Install":
            continue
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - the steps under test
        assert ended.returncode == 0, (step["name"], ended.stdout, ended.stderr)
    assert (tmp_path / wanted).stat().st_size > 0
    assert "mergecheck" in (tmp_path / "summary.md").read_text()


def test_the_pods_of_a_kubernetes_job_check_ranges_of_one_run(
    mergecheck: Mergecheck, folder: Path, tmp_path: Path
) -> None:
    """Each pod runs the container's command with its index; the results are put together."""
    (written,) = mergecheck("config", "ci", "kubernetes", "--json").json["files"]
    assert (folder / written).read_text() == workflow_text(JOBS[0])
    assert "there already" in mergecheck("config", "ci", "kubernetes").out
    job = yaml.safe_load((folder / written).read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert job["completionMode"] == "Indexed"
    given = {one["name"]: one["value"] for one in container["env"]}
    assert given.keys() == {"ENGINE", "SEED", "PART_SIZE", "RUNS"}
    given |= {"ENGINE": "duckdb", "PART_SIZE": "2", "RUNS": str(tmp_path / "runs")}
    path = {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    for index in range(2):
        environment = {**os.environ, **given, **path, "JOB_COMPLETION_INDEX": str(index)}
        command = [*container["command"], *container["args"]]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - the command under test
        assert ended.returncode == 0, (ended.stdout, ended.stderr)
    merged = mergecheck("lab", "merge-runs", *map(str, (tmp_path / "runs").iterdir()), "--into", "m", "--json").json
    assert (merged["range"], merged["complete"], merged["runs"]) == ([0, 4], True, 2)
