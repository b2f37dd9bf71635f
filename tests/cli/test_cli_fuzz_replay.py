"""``mergecheck fuzz`` and ``mergecheck replay``: output, JSON and exit codes, from the finding to its replay."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click
import pytest
from cli_cases import DOWN, ECHO, FAULTY, case_document, write_case

from mergecheck.harness.findings.store import RunningCase
from mergecheck.model.case_file import case_from_json, load_cases

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion


def test_an_agreeing_run(mergecheck: Mergecheck) -> None:
    """The denominator, once, and the line to repeat the run; coverage is for --verbose; exit code 0."""
    ended = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "20", "--seed", "3", "--floor", "0.5")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("20 cases in TIME: verified ")
    assert lines[0].endswith("mismatch 0  flaky 0  engine down 0")
    assert lines[1].startswith("not checked in some: ")
    assert lines[-1] == f"seed 3  same cases again: mergecheck fuzz --engine {ECHO} --floor 0.5 --seed 3 --max-cases 20"
    assert "seed 3" in ended.err
    verbose = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "2", "--seed", "3", "--floor", "0", "--verbose")
    assert verbose.out.splitlines()[0].split() == ["clause", "present", "fired"]


def test_the_summary_is_as_wide_as_the_terminal(mergecheck: Mergecheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the command that repeats the run, which is of use as a whole only."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the output for a terminal
    arguments = ("fuzz", "--engine", ECHO, "--max-cases", "2", "--seed", "1", "--floor", "0")
    out = click.unstyle(mergecheck(*arguments).out).replace("in TIME", "in 1 s")
    assert max(len(line) for line in out.splitlines() if not line.startswith("seed ")) <= 80
    assert "down 0\nnot checked in some: " in out


def test_the_metamorphic_oracle_needs_no_reference(mergecheck: Mergecheck) -> None:
    """Where files begin and end decides nothing (P-16): an engine for which it does is found out by its own answers."""
    engine = "echo_engine:SeesTheFirstFileOnly"
    ended = mergecheck("fuzz", "--engine", engine, "--oracle", "metamorphic", "--max-findings", "1", "--seed", "1")
    assert ended.code == 1
    assert "relation P-16-" in ended.out
    again, finding = ended.out.splitlines()[-2:]
    assert again.startswith(
        f"seed 1  same cases again: mergecheck fuzz --engine {engine} --oracle metamorphic --seed 1"
    )
    assert finding.startswith("finding ")


def test_json_of_an_agreeing_run(mergecheck: Mergecheck) -> None:
    """The counts of the denominator line, and all cases among them."""
    document = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "20", "--seed", "3", "--floor", "0", "--json").json
    assert (document["seed"], document["num_cases"], document["stop"]) == (3, 20, "budget spent")
    assert sum(document["counts"].values()) + document["flaky"] == 20
    assert document["findings"] == []


def test_a_finding_goes_all_the_way(mergecheck: Mergecheck, folder: Path) -> None:
    """A fault is found, shrunk, kept, reported, and replayed by its id, by its file and by its folder."""
    ended = mergecheck("fuzz", "--engine", FAULTY, "--max-cases", "60", "--seed", "1", "--max-findings", "1")
    assert ended.code == 1
    assert ended.out.startswith("MISMATCH  acts as if ")
    (path,) = (folder / ".mergecheck" / "findings").glob("*.json")
    (line,) = (line for line in ended.out.splitlines() if "Reproduce:" in line)
    assert line.endswith(f"mergecheck replay --engine {FAULTY} .mergecheck/findings/{path.name}")
    again = mergecheck(*shlex.split(line.partition("mergecheck ")[2]))
    assert (again.code, again.out.splitlines()[0]) == (1, f"STILL FAILS  {path.stem}  .mergecheck/findings/{path.name}")
    case = load_cases(path)[0]
    assert case.source is not None
    assert len(case.target.rows) + len(case.source.rows) == 1
    for name in (path.stem, str(path), str(path.parent)):
        again = mergecheck("replay", name, "--engine", FAULTY, "--json")
        assert (again.code, again.json["counts"]["mismatch"]) == (1, 1)
    assert mergecheck("replay", path.stem, "--engine", ECHO).code == 0


def test_json_of_a_finding(mergecheck: Mergecheck, folder: Path) -> None:
    """Findings are listed with their files; progress stays off stdout."""
    ended = mergecheck("fuzz", "--engine", FAULTY, "--max-findings", "1", "--seed", "1", "--findings", "kept", "--json")
    (finding,) = ended.json["findings"]
    assert (ended.code, ended.json["exit_code"]) == (1, 1)
    assert (folder / finding["path"]).is_file()
    assert finding["mismatches"]


def test_too_little_verified_is_inconclusive(mergecheck: Mergecheck) -> None:
    """A run under its floor is not green: exit code 4, and the floor is named."""
    ended = mergecheck("fuzz", "--engine", "echo_engine:KnowsNothing", "--max-cases", "5", "--seed", "3")
    assert ended.code == 4
    assert "inconclusive: 0% of the cases were verified, below --floor 60%" in ended.out
    assert "unsupported 5  mismatch 0" in ended.out


KNOWN = """
[[deviation]]
id = "loses-null-keys"
engine = "loses-null-keys"
versions = ">=1.0"
difference = ["* *"]
reason = "it loses rows without a key"
link = "https://example.org/1"
review = 2999-01-01
case = "case.json"
"""


def test_too_many_known_deviations_are_inconclusive(mergecheck: Mergecheck, folder: Path) -> None:
    """They are no findings and do not lower the floor, so that they have a limit of their own."""
    write_case(folder / "case.json")
    (folder / "known.toml").write_text(KNOWN)
    limits = ("--floor", "0", "--max-deviating", "0.01", "--deviations", "known.toml")
    ended = mergecheck("fuzz", "--engine", FAULTY, "--seed", "1", "--max-cases", "14", "--json", *limits)
    share = ended.json["deviating_share"]
    assert ended.code == ended.json["exit_code"] == 4
    assert share == round(ended.json["deviating"] / 14, 4) > 0.01
    (sentence,) = ended.json["inconclusive"]
    assert sentence.endswith("of the cases show known deviations, above --max-deviating 1%")


def test_a_run_that_is_much_worse_than_its_baseline(mergecheck: Mergecheck, folder: Path) -> None:
    """It is reported, and with --fail-if-worse the run is inconclusive."""
    run = ("fuzz", "--engine", ECHO, "--seed", "3", "--max-cases", "30", "--floor", "0", "--json")
    first = mergecheck(*run[:6], "1", *run[7:]).json
    better = {"num_cases": 3000, "verified": 3000, "deviating": 0, "seconds": 3.0, "phase_seconds": {}}
    (folder / "better.json").write_text(json.dumps(first | better))
    ended = mergecheck(*run, "--baseline", "better.json", "--fail-if-worse")
    assert ended.code == ended.json["exit_code"] == 4
    slower, less = ended.json["worse"]
    assert slower.startswith("much worse than the baseline: a case takes ")
    assert less.endswith(" of the cases were verified, 100% before")
    assert ended.json["inconclusive"] == [slower, less]


WORKER = "echo_engine:RewritesAll"


def test_a_run_shows_the_work_in_vain_and_fails_if_it_is_more(mergecheck: Mergecheck, folder: Path) -> None:
    """No clock is involved: of the same cases one file more is enough."""
    run = ("fuzz", "--engine", WORKER, "--seed", "3", "--max-cases", "30", "--floor", "0")
    first = mergecheck(*run, "--json").json
    work = first["work"]
    assert work["files_rewritten"] == work["files_scanned"] > work["files_rewritten_in_vain"] > 0
    assert work["unknown"] == {}
    less = work | {"files_rewritten_in_vain": work["files_rewritten_in_vain"] - 1}
    (folder / "less.json").write_text(json.dumps(first | {"work": less, "seconds": 1e6}))
    ended = mergecheck(*run, "--baseline", "less.json", "--fail-if-worse")
    assert ended.code == 4
    assert f"work: {work['files_rewritten_in_vain']} of {work['files_rewritten']} files rewritten in vain" in ended.out
    assert "inconclusive: much worse than the baseline: " in ended.out


def test_replay_fails_if_more_work_is_in_vain_than_in_its_baseline(mergecheck: Mergecheck, folder: Path) -> None:
    write_case(folder / "case.json")
    replay = ("replay", "case.json", "--engine", WORKER)
    first = mergecheck(*replay, "--json").json
    (case,) = first["cases"]
    assert case["work"]["files_rewritten"] == 2
    for rewritten_in_vain, code in ((case["work"]["files_rewritten_in_vain"], 0), (-1, 4)):
        before = case | {"work": case["work"] | {"files_rewritten_in_vain": rewritten_in_vain}}
        (folder / "before.json").write_text(json.dumps(first | {"cases": [before]}))
        ended = mergecheck(*replay, "--baseline", "before.json")
        assert (ended.code, f"more than in before.json: case {case['id']}: " in ended.out) == (code, code == 4)
        assert bool(mergecheck(*replay, "--baseline", "before.json", "--json").json["worse"]) == (code == 4)
    other = mergecheck(*replay[:3], ECHO, "--baseline", "before.json")
    assert (other.code, "before.json is a run of engine echo_engine:RewritesAll" in other.err) == (2, True)
    (folder / "before.json").write_text("[]")
    assert "before.json is no result of replay" in mergecheck(*replay, "--baseline", "before.json").err


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"work": {"merges": float("inf")}}], "is no result of replay"),
        ([{"quarantined": 0}], "quarantined must be true, false or the reason, given 0"),
        ([{"fingerprint": None}], "fingerprint must be a text, given None"),
        ([{"fingerprint": "a"}, {}], "stands there twice"),
    ],
)
def test_a_baseline_that_decides_nothing_is_refused(
    mergecheck: Mergecheck, folder: Path, entries: list[dict[str, Any]], message: str
) -> None:
    """A known failure that is written wrong, or in two ways, would be a regression or be forgotten."""
    write_case(folder / "case.json")
    cases = [{"id": "case"} | entry for entry in entries]
    (folder / "known.json").write_text(json.dumps({"engine": WORKER, "cases": cases}))
    ended = mergecheck("replay", "case.json", "--engine", WORKER, "--baseline", "known.json")
    assert ended.code == 2, ended
    assert message in ended.err.replace("\n", " ")


def test_a_baseline_with_numbers_that_are_none_is_refused(mergecheck: Mergecheck, folder: Path) -> None:
    run = ("fuzz", "--engine", ECHO, "--max-cases", "1", "--seed", "1", "--floor", "0")
    first = mergecheck(*run, "--json").json
    (folder / "before.json").write_text(json.dumps(first | {"num_cases": float("inf")}))
    ended = mergecheck(*run, "--baseline", "before.json", "--fail-if-worse")
    assert ended.code == 2, ended


def test_replay_has_four_words_beside_a_baseline(mergecheck: Mergecheck, folder: Path) -> None:
    """A known failure is expected by its fingerprint; one that is new, or that passes now, fails the run."""
    fine = {"schema": "id BIGINT, v STRING", "rows": [[1, "a"]]}
    write_case(folder / "lost.json", id="lost")
    write_case(folder / "fine.json", id="fine", target=fine)
    replay = ("replay", "lost.json", "fine.json", "--engine", FAULTY)
    first = mergecheck(*replay, "--json")
    assert first.code == 1
    lost, agrees = first.json["cases"]
    assert ("fingerprint" in lost, "fingerprint" in agrees) == (True, False)
    quarantined = {"id": "lost", "quarantined": "flaky"}
    for cases, code, words in (
        ([lost, agrees], 0, {"lost": "expected"}),
        ([agrees], 1, {"lost": "regression"}),
        ([lost | {"fingerprint": "faulty: cdf extra_rows against reference"}], 1, {"lost": "regression"}),
        ([lost, {"id": "fine", "fingerprint": lost["fingerprint"]}], 1, {"lost": "expected", "fine": "now passing"}),
        ([quarantined], 0, {"lost": "quarantined"}),
    ):
        (folder / "known.json").write_text(json.dumps({"engine": FAULTY, "cases": cases}))
        ended = mergecheck(*replay, "--baseline", "known.json", "--json")
        assert {case["id"]: case["baseline"] for case in ended.json["cases"] if "baseline" in case} == words
        assert ended.code == code, words
    (folder / "known.json").write_text(
        json.dumps({"engine": FAULTY, "cases": [{"id": "fine", "fingerprint": "x: error y"}]})
    )
    told = mergecheck(*replay, "--baseline", "known.json").out
    assert "baseline known.json: regression 1, expected 0, now passing 1, quarantined 0" in told
    assert "now passing  fine  take its entry out of known.json" in told
    (folder / "replay.json").write_text(json.dumps(ended.json))
    assert mergecheck("config", "ci", "report", "replay.json", "--junit", "junit.xml").code == 0
    assert '<skipped message="quarantined"' in (folder / "junit.xml").read_text()


def test_a_baseline_that_is_none_stops_the_run_before_it_begins(mergecheck: Mergecheck, folder: Path) -> None:
    write_case(folder / "case.json")
    for options, told in (
        (("--baseline", "case.json"), "case.json is no result of fuzz."),
        (("--fail-if-worse",), "--fail-if-worse needs --baseline FILE"),
        (("--history", "case.json"), "give --html FILE, too"),
    ):
        ended = mergecheck("fuzz", "--engine", DOWN, *options)
        assert (ended.code, told in ended.err) == (2, True)


def test_an_engine_that_is_down_before_the_run(mergecheck: Mergecheck) -> None:
    """An engine that does not take its first case ends with 3 and its own words."""
    ended = mergecheck("fuzz", "--engine", DOWN, "--max-cases", "5")
    assert (ended.code, ended.out) == (3, "")
    assert "the cluster does not answer" in ended.err


def test_an_engine_that_is_lost_in_the_run(mergecheck: Mergecheck, folder: Path) -> None:
    """An engine lost on the way stops the run, keeps the case and ends with 3."""
    ended = mergecheck("fuzz", "--engine", "echo_engine:DiesAfterTheFirst", "--max-cases", "50", "--seed", "1")
    assert ended.code == 3
    assert "stopped: engine down" in ended.out
    assert len(list((folder / ".mergecheck/findings/engine_error").glob("*.json"))) == 1


def test_an_interrupted_run_tells_what_it_did(mergecheck: Mergecheck) -> None:
    """Ctrl+C ends with 130, and the summary is printed all the same."""
    ended = mergecheck("fuzz", "--engine", "echo_engine:InterruptsAtTen", "--max-cases", "50", "--seed", "1")
    assert ended.code == 130
    assert "stopped: interrupted" in ended.out
    assert "verified" in ended.out


def test_a_crashed_case_is_told_at_the_next_start(
    mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case of a lost process becomes a finding."""
    monkeypatch.setattr("os.getpid", lambda: 999_999_999)
    RunningCase(folder / ".mergecheck").write(case_from_json(case_document(), where="test"))
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    ended = mergecheck("fuzz", "--engine", "echo_engine:Echo", "--max-cases", "1", "--seed", "1", "--floor", "0")
    assert "crashed: the process was lost while this case ran" in ended.err
    (path,) = (folder / ".mergecheck" / "findings").glob("*.json")
    assert load_cases(path)[0].sql == case_document()["sql"]
    assert not list(RunningCase(folder / ".mergecheck").leftovers())


def test_replay_of_a_folder(mergecheck: Mergecheck, folder: Path, snapshot: SnapshotAssertion) -> None:
    """Counts of verdicts, every mismatch in short, every unsupported case by its reason."""
    _corpus(folder)
    ended = mergecheck("replay", "corpus", "--engine", FAULTY)
    assert ended.code == 1
    assert ended.out == snapshot


def test_json_of_a_replay(mergecheck: Mergecheck, folder: Path) -> None:
    """One entry a case, in the order of the files, and the count of every verdict."""
    _corpus(folder)
    document = mergecheck("replay", "corpus", "--engine", FAULTY, "--json").json
    assert document["counts"] == {
        "agree": 1,
        "mismatch": 1,
        "both_rejected": 1,
        "judged_in_part": 0,
        "unsupported": 0,
        "engine_error": 0,
    }
    assert (document["unsupported"], document["rejected"]) == ({}, {"DELTA_MERGE_UNRESOLVED_EXPRESSION": 1})
    assert [(case["id"], case["verdict"]) for case in document["cases"]] == [
        ("no-null-key", "agree"),
        ("rejected", "both_rejected"),
        ("null-key", "mismatch"),
    ]


def test_a_case_of_another_version_is_named_and_the_others_run(mergecheck: Mergecheck, folder: Path) -> None:
    """A line that cannot be read never ends green, and never keeps the others from running."""
    _corpus(folder)
    lines = [json.dumps(case_document(format_version=99)), json.dumps(case_document(id="fine"))]
    (folder / "corpus" / "b.jsonl").write_text("\n".join(lines))
    ended = mergecheck("replay", "corpus", "--engine", ECHO, "--json")
    assert ended.code == 2
    assert ended.json["counts"]["agree"] == 3
    assert "format_version 99 is not known" in ended.err
    assert "corpus/b.jsonl, line 1" in ended.json["unreadable"][0]


def test_replay_against_expect(mergecheck: Mergecheck, folder: Path) -> None:
    """The expectations of a case's author count, also if the engine agrees with the reference."""
    name = write_case(folder / "expect.json", expect={"rows": []})
    ended = mergecheck("replay", name, "--engine", ECHO)
    assert ended.code == 1
    assert "(against the case's expect)" in ended.out


def test_replay_of_unsupported_cases_is_inconclusive(mergecheck: Mergecheck, case_file: str) -> None:
    """Where nothing was verified, nothing is green."""
    assert mergecheck("replay", case_file, "--engine", "echo_engine:KnowsNothing").code == 4


def test_colour_is_never_alone(mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With colour forced on, the same words stand there; without, no escape code."""
    plain = mergecheck("run", case_file, "--engine", FAULTY).out
    assert "\x1b" not in plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = mergecheck("run", case_file, "--engine", FAULTY).out
    assert "\x1b" in coloured
    assert "MISMATCH" in coloured


def _corpus(folder: Path) -> None:
    (folder / "corpus" / "deep").mkdir(parents=True)
    fine = case_document(id="no-null-key", target={"schema": "id BIGINT, v STRING", "rows": [[1, "a"]]})
    rejected = case_document(id="rejected", sql=case_document()["sql"].replace("s.id", "s.nothing"))
    (folder / "corpus" / "a.jsonl").write_text(f"{json.dumps(fine)}\n\n{json.dumps(rejected)}\n")
    write_case(folder / "corpus" / "deep" / "c.json", id="null-key")
    (folder / "corpus" / "notes.txt").write_text("no case")


def test_replay_says_what_became_of_a_finding(mergecheck: Mergecheck, folder: Path) -> None:
    """Fixed, the same or changed, by the difference that the finding's file carries; each partial fix by its check."""
    mergecheck("fuzz", "--engine", FAULTY, "--max-cases", "60", "--seed", "1", "--max-findings", "1")
    (path,) = (folder / ".mergecheck" / "findings").glob("*.json")
    origin = json.loads(path.read_text())["origin"]
    assert (origin["found_by"], origin["engine"], origin["engine_version"], origin["seed"]) == (
        "fuzz",
        FAULTY,
        "1.0",
        1,
    )
    assert origin["fingerprint"]["check"] == origin["difference"][0]["check"] == "rows"

    still = mergecheck("replay", path.stem, "--engine", FAULTY)
    assert (still.code, still.out.split("  ")[0]) == (1, "STILL FAILS")
    fixed = mergecheck("replay", path.stem, "--engine", ECHO)
    assert (fixed.code, fixed.out.split("  ")[0]) == (0, "FIXED")
    document = mergecheck("replay", path.stem, "--engine", ECHO, "--json").json
    assert document["findings"] == {"fixed": 1}
    assert document["cases"][0]["finding"]["checks"]["rows"] == "fixed"
    assert mergecheck("replay", path.stem, "--engine", DOWN).out.startswith("NOW ERRORS")

    case = json.loads(path.read_text())
    case["origin"]["difference"].append({"check": "cdf", "against": "reference", "kind": "missing_rows", "lines": []})
    path.write_text(json.dumps(case))
    changed = mergecheck("replay", path.stem, "--engine", FAULTY)
    assert changed.code == 1
    assert changed.out.startswith("CHANGED")
    assert "  changes    fixed\n" in changed.out
    assert "findings: changed 1" in changed.out


COPIED = {"check": "metrics", "against": "reference", "kind": "numTargetRowsCopied", "lines": ["reference 1, engine 2"]}


@pytest.mark.parametrize(
    ("engine", "options", "told"),
    [
        (ECHO, ("--check", "rows"), "not checked: left out by --check or by the configuration: add --check metrics"),
        ("echo_engine:ReportsInsertsOnly", (), "not checked: inserts-only does not show it: numTargetRowsCopied"),
        ("echo_engine:ReportsInsertsOnly", ("--check", "rows"), "not checked: left out by --check"),
        ("echo_engine:KnowsNothing", (), "not checked: knows-nothing: anything"),
        (ECHO, ("--oracle", "metamorphic"), "not checked: reference: the reference was not asked"),
    ],
)
def test_what_was_not_compared_again_is_not_fixed(
    mergecheck: Mergecheck, folder: Path, engine: str, options: tuple[str, ...], told: str
) -> None:
    """A finding in metrics, of which this run compares something else: not checked, why, and exit code 4."""
    origin = {"found_by": "fuzz", "mergecheck": "0.1.0", "engine": FAULTY, "difference": [COPIED]}
    name = write_case(folder / "finding.json", origin=origin)
    write_case(folder / "other.json")
    ended = mergecheck("replay", name, "other.json", "--engine", engine, *options)
    assert (ended.code, ended.out.split("  ")[0]) == (4, "NOT CHECKED")
    assert f"  metrics    {told}" in " ".join(ended.out.split()).replace("metrics not", "  metrics    not")
    assert "findings: not checked 1" in ended.out
    document = mergecheck("replay", name, "--engine", engine, *options, "--json").json
    assert document["cases"][0]["finding"]["status"] == "not_checked"
    assert document["cases"][0]["finding"]["reasons"]["metrics"]
    assert mergecheck("replay", name, "--engine", ECHO).out.startswith("FIXED")


def test_a_narrower_check_in_the_configuration_does_not_fix_a_finding(mergecheck: Mergecheck, folder: Path) -> None:
    """The same where the configuration leaves the check out; ``cases prune`` and JUnit go by the same status."""
    origin = {"found_by": "fuzz", "mergecheck": "0.1.0", "engine": FAULTY, "difference": [COPIED]}
    name = write_case(folder / "finding.json", origin=origin)
    (folder / "mergecheck.toml").write_text('check = ["rows"]\n')
    assert mergecheck("replay", name, "--engine", ECHO).code == 4
    (folder / "result.json").write_text(mergecheck("replay", name, "--engine", ECHO, "--json").out)
    mergecheck("config", "ci", "report", "result.json", "--junit", "j.xml")
    assert '<skipped message="metrics not checked: left out by --check' in (folder / "j.xml").read_text()
    assert mergecheck("replay", name, "--engine", ECHO, "--check", "metrics").out.startswith("FIXED")


def test_nothing_that_was_asked_for_could_be_compared(mergecheck: Mergecheck, folder: Path) -> None:
    """An engine that shows no path does not agree about the path; nor with an expectation that it does not show."""
    name = write_case(folder / "case.json")
    for engine, code in ((ECHO, 0), ("echo_engine:ShowsNoPath", 4)):
        assert mergecheck("run", name, "--engine", engine, "--check", "path").code == code
    ended = mergecheck("run", name, "--engine", "echo_engine:ShowsNoPath", "--check", "path")
    assert "shows-no-path shows nothing of what --check asks for: path" in ended.out
    assert (
        mergecheck("run", name, "--engine", "echo_engine:ShowsNoPath", "--check", "path", "--check", "rows").code == 0
    )
