"""The pytest front, run in a pytest of its own; it has a process of its own if the process is tested."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, FAULTY, case_document

import mergecheck
from mergecheck.harness.cli import main

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

pytest_plugins = ["pytester"]
HERE = Path(__file__).parent


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    monkeypatch.setenv("COLUMNS", "100")
    (pytester.path / "cases.jsonl").write_text(
        "\n".join(
            json.dumps(document)
            for document in (
                case_document(id="null-key"),
                case_document(id="fine", target={"schema": "id BIGINT, v STRING", "rows": [[1, "a"]]}),
            )
        )
    )
    return pytester


@pytest.fixture(scope="module", autouse=True)
def everything_imported() -> None:
    """Import the modules of a run: pytester forgets new modules after each run, and compiled ones load only once."""
    for module in pkgutil.walk_packages(mergecheck.__path__, "mergecheck."):
        if ".engines." not in module.name or ".duckdb." in module.name:
            importlib.import_module(module.name)


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", *options)


def run_in_a_process(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_every_saved_case_is_an_item(project: pytest.Pytester) -> None:
    """Cases of a file become items by file and id, next to the project's own tests."""
    project.makepyfile("def test_mine(): pass")
    result = run(
        project, "--mergecheck-case", "cases.jsonl", "--mergecheck-engine", ECHO, "-v", "--mergecheck-seed", "7"
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            f"mergecheck: engine {ECHO}, seed 7",
            "*test_mine PASSED*",
            "mergecheck::cases.jsonl::null-key PASSED*",
            "mergecheck::cases.jsonl::fine PASSED*",
        ]
    )


def test_a_mismatch_shows_the_failure_report(project: pytest.Pytester, snapshot: SnapshotAssertion) -> None:
    """A failing case shows the same report as the command line, without a traceback."""
    result = run(project, "--mergecheck-case", "cases.jsonl", "--mergecheck-engine", FAULTY)
    result.assert_outcomes(passed=1, failed=1)
    lines = result.outlines
    first = next(i for i, line in enumerate(lines) if line.startswith("MISMATCH"))
    last = next(i for i, line in enumerate(lines) if "Reproduce:" in line)
    assert "\n".join(lines[first : last + 1]) == snapshot
    assert not any("Traceback" in line for line in lines)


def test_a_failure_leaves_nothing_on_stderr(project: pytest.Pytester) -> None:
    """Engine and reference are closed when pytest ends, although the failure's traceback still knows them."""
    expected = {"rows": [[1, "another"]]}
    (project.path / "case.json").write_text(json.dumps(case_document(expect=expected)))
    project.makepyfile(
        """
        from pathlib import Path

        def test_case(mergecheck_check, mergecheck_engine):
            mergecheck_check(Path("case.json"))
        """
    )
    result = run_in_a_process(project, "--mergecheck-case", "case.json", "--mergecheck-engine", "duckdb")
    result.assert_outcomes(failed=2)
    assert result.errlines == []


def test_items_can_be_selected(project: pytest.Pytester) -> None:
    """``-k`` sees the items."""
    result = run(project, "--mergecheck-case", "cases.jsonl", "--mergecheck-engine", FAULTY, "-k", "fine")
    result.assert_outcomes(passed=1, deselected=1)


def test_an_unsupported_case_is_skipped(project: pytest.Pytester) -> None:
    """A case that was not verified never passes; its reason is shown."""
    result = run(project, "--mergecheck-case", "cases.jsonl", "--mergecheck-engine", "echo_engine:KnowsNothing", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*knows-nothing: anything*"])


def test_random_cases_are_one_item(project: pytest.Pytester) -> None:
    """The seed stands in the item's name, the denominator line in the summary."""
    options = ("--mergecheck-fuzz", "15", "--mergecheck-seed", "8", "--mergecheck-engine", ECHO, "-v")
    files = ("--mergecheck-events", "run.ndjson", "--mergecheck-observations", "seen.jsonl")
    result = run(project, *options, *files)
    result.assert_outcomes(passed=1)
    events = [json.loads(line)["event"] for line in (project.path / "run.ndjson").read_text().splitlines()]
    assert events == ["started", *["case"] * 15, "ended"]
    seen = [json.loads(line) for line in (project.path / "seen.jsonl").read_text().splitlines()]
    assert {one["property"] for one in seen} == {f"mergecheck fuzz --engine {ECHO}"}
    assert len(seen) == 16
    result.stdout.fnmatch_lines(["mergecheck::fuzz::15-cases-seed-8 PASSED*", "mergecheck: verified 1* seed 8"])


def test_a_finding_fails_and_is_kept(project: pytest.Pytester) -> None:
    """Random cases under a faulty engine fail with the report of a minimal case that is on disk."""
    result = run(project, "--mergecheck-fuzz", "40", "--mergecheck-seed", "1", "--mergecheck-engine", FAULTY)
    result.assert_outcomes(failed=1)
    wanted = f"*Reproduce:   mergecheck replay --engine {FAULTY} .mergecheck/findings/*.json"
    result.stdout.fnmatch_lines(["MISMATCH  acts as if *", wanted])
    assert list((project.path / ".mergecheck" / "findings").glob("*.json"))


def test_a_drawn_case_fails_with_a_report_and_is_kept(project: pytest.Pytester) -> None:
    """Hypothesis draws the cases; the one that fails is kept by the name of the test. Shrinking takes minutes."""
    project.makepyfile(
        test_drawn="""
        from hypothesis import HealthCheck, Phase, given, settings
        from mergecheck.strategies import Profile, cases

        @settings(phases=[Phase.generate], deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=cases(profile=Profile(max_rows=4, max_files=1, max_clauses=1)))
        def test_merge(mergecheck_check_case, case):
            mergecheck_check_case(case)
        """
    )
    result = run(project, "--mergecheck-engine", FAULTY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "MISMATCH  acts as if *",
            f"*Reproduce:   mergecheck replay --engine {FAULTY} .mergecheck/findings/test_merge.json",
        ]
    )
    (project.path / "test_drawn.py").unlink()
    # pytest repeats the whole message in its summary if the environment has CI set.
    (line,) = {line for line in result.outlines if "In pytest:" in line}
    again = run(project, *shlex.split(line.partition(": ")[2])[1:])
    again.assert_outcomes(failed=1)


def test_the_engine_is_a_fixture(project: pytest.Pytester) -> None:
    """Own tests may use the engine; it is closed at the end."""
    project.makepyfile(
        own_engine="""
        from pathlib import Path
        from echo_engine import Echo

        class Own(Echo):
            def close(self):
                Path("closed").write_text("yes")
        """,
        test_own="""
        def test_engine(mergecheck_engine):
            assert mergecheck_engine.name == "echo"
        """,
    )
    run(project, "--mergecheck-engine", "own_engine:Own").assert_outcomes(passed=1)
    assert (project.path / "closed").read_text() == "yes"


@pytest.mark.parametrize("name", ["nothing.json", "bad.json"])
def test_a_bad_file_is_a_usage_error(project: pytest.Pytester, name: str) -> None:
    """A file that cannot be read ends pytest with its usage error, not with an internal one."""
    (project.path / "bad.json").write_text("{")
    result = run(project, "--mergecheck-case", name, "--mergecheck-engine", ECHO)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert name in result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_an_engine_that_cannot_be_had_is_told_in_a_sentence(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown name, and a table root that is no directory: the message, without a traceback.

    A process of its own, because the place of tables is chosen once in a process.
    """
    monkeypatch.setenv("MERGECHECK_TABLE_ROOT", "/no/such/directory")
    for engine, said in (("nosuch", "*nosuch*"), ("pyspark", "*/no/such/directory*is no directory*")):
        result = run_in_a_process(project, "--mergecheck-fuzz", "1", "--mergecheck-engine", engine)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([said])
        result.stdout.no_fnmatch_line("*Traceback*")
        result.stdout.no_fnmatch_line("*.py:*")


def test_an_idle_plugin_imports_nothing(project: pytest.Pytester) -> None:
    """A project that only has mergecheck installed pays nothing for it."""
    project.makepyfile(
        """
        import sys

        def test_imports():
            assert not {"pyspark", "duckdb", "sqlglot", "pyarrow"} & set(sys.modules)
        """
    )
    result = run_in_a_process(project, "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("mergecheck:*")


def test_a_case_without_an_answer_fails_its_test(project: pytest.Pytester) -> None:
    """The others run."""
    options = ("--mergecheck-engine", "echo_engine:HangsOnce", "--mergecheck-case-timeout", "5")
    result = run_in_a_process(
        project, "--mergecheck-case", "cases.jsonl", "--mergecheck-fuzz", "4", "--mergecheck-seed", "5", *options
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*the engine failed on 1 case,*"])


def test_an_adopted_case_runs(project: pytest.Pytester) -> None:
    """The module that adopt writes runs the case files beside it and fails with the report; so does an exported one."""
    (project.path / "case.json").write_text(json.dumps(case_document(id="null-key")))
    assert main(("cases", "adopt", "case.json")) == 0
    result = run(project, "tests", "--mergecheck-engine", FAULTY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["MISMATCH  acts as if *"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert main(("cases", "export", "case.json", "--format", "pytest", "-o", "tests/test_exported.py")) == 0
    run(project, "tests", "--mergecheck-engine", ECHO).assert_outcomes(passed=2)
    (project.path / "tests" / "cases" / "bad.json").write_text("{")
    run(project, "tests", "--mergecheck-engine", ECHO).assert_outcomes(passed=2, failed=1)


def test_it_reads_the_configuration(project: pytest.Pytester) -> None:
    """Cases, engine, floor and features of the file; the profile wins, and an option over both."""
    (project.path / "mergecheck.toml").write_text(
        f"""
        engine = "{FAULTY}"
        [pytest]
        case = "cases.jsonl"
        [profiles.ci]
        engine = "echo_engine:KnowsNothing"
        [profiles.ci.pytest]
        fuzz = 2
        seed = 3
        floor = 0
        features-off = ["settings", "self-merge"]
        """
    )
    assert run(project).parseoutcomes() == {"passed": 1, "failed": 1}
    result = run(project, "--mergecheck-profile", "ci")
    result.assert_outcomes(skipped=2, passed=1)
    result.stdout.fnmatch_lines(
        [f"mergecheck: engine echo_engine:KnowsNothing, seed 3, configuration {project.path}*ci"]
    )
    assert run(project, "--mergecheck-engine", ECHO).parseoutcomes() == {"passed": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--mergecheck-fuzz", "1", "--mergecheck-events", "no/folder"),
            "Choose another file with --mergecheck-events FILE.",
        ),
        (("--mergecheck-floor", "2"), "--mergecheck-floor = 2.0. Allowed: a number, at least 0, at most 1."),
        (("--mergecheck-profile", "nosuch"), "unknown profile 'nosuch'"),
        (("--mergecheck-case-timeout", "0"), "--mergecheck-case-timeout = 0.0. Allowed: a number, more than 0."),
        (("--mergecheck-features-off", "selfmerge", "--mergecheck-fuzz", "1"), "Did you mean 'self-merge'?"),
    ],
)
def test_a_bad_option_is_told(project: pytest.Pytester, options: tuple[str, ...], message: str) -> None:
    result = run(project, "--mergecheck-engine", ECHO, *options)
    assert message in " ".join((result.stdout.str() + result.stderr.str()).split())
    assert "Traceback" not in result.stdout.str()


def test_saved_cases_beside_a_baseline(project: pytest.Pytester) -> None:
    """A known failure is expected by its fingerprint, and one that passes now fails."""
    known = "null-key-loser: rows missing_rows against reference"
    cases = [{"id": "fine", "fingerprint": known}, {"id": "null-key", "quarantined": "looked at"}]
    (project.path / "known.json").write_text(json.dumps({"engine": FAULTY, "cases": cases}))
    ended = run(
        project,
        "--mergecheck-case",
        "cases.jsonl",
        "--mergecheck-engine",
        FAULTY,
        "--mergecheck-baseline",
        "known.json",
    )
    ended.assert_outcomes(failed=1, skipped=1)
    ended.stdout.fnmatch_lines(["*now passing: take the entry of case fine out of known.json*"])
