"""One run on several machines: ranges, and ``mergecheck lab merge-runs``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cli_cases import TINY
from echo_engine import LosesNullKeys
from hypothesis import Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from mergecheck import Case, Verdict, cases, check

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

FUZZ = ("fuzz", "--engine", "echo_engine:LosesNullKeys", "--seed", "3", "--floor", "0", "--batch", "2", "--json")
COUNTS = ("num_cases", "verified", "counts", "table_pairs", "batched", "rules", "pairs", "clauses_fired", "paths")


def fuzz(mergecheck: Mergecheck, folder: Path, numbers: str, name: str) -> dict[str, Any]:
    ended = mergecheck(*FUZZ, "--range", numbers, "--findings", str(folder / name / "findings"))
    document: dict[str, Any] = json.loads(ended.out)
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "fuzz.json").write_text(ended.out)
    assert document["exit_code"] == ended.code
    return document


def test_the_runs_of_two_machines_are_one(mergecheck: Mergecheck, folder: Path) -> None:
    """Counts add up, and a finding of both machines is there once, with the case of the lower number."""
    whole = fuzz(mergecheck, folder, "0:12", "whole")
    parts = [fuzz(mergecheck, folder, "0:6", "a"), fuzz(mergecheck, folder, "6:12", "b")]
    assert [part["stop"] for part in parts] == ["end of the range"] * 2
    assert all(part["findings"] for part in parts)

    ended = mergecheck("lab", "merge-runs", "b", "a", "--into", "merged", "--floor", "0", "--json")
    merged = json.loads(ended.out)
    assert ended.code == merged["exit_code"] == 1
    assert merged == json.loads((folder / "merged" / "fuzz.json").read_text())
    assert merged["range"] == [0, 12]
    assert merged["complete"]
    assert {name: merged[name] for name in COUNTS} == {name: whole[name] for name in COUNTS}
    assert (merged["verified_share"], merged["pairs_missing"]) == (whole["verified_share"], whole["pairs_missing"])

    kinds = [tuple(one["hypotheses"][:1]) or one["fingerprint"] for one in merged["findings"]]
    assert len(kinds) == len(set(kinds))
    first = merged["findings"][0]
    assert (first["id"], first["number"]) == (whole["findings"][0]["id"], whole["findings"][0]["number"])
    assert sum(one["num_cases"] for one in merged["findings"]) == sum(
        one["num_cases"] for part in parts for one in part["findings"]
    )
    assert mergecheck("replay", first["path"], "--engine", "echo_engine:LosesNullKeys").code == 1

    ended = mergecheck("lab", "merge-runs", "a", "b", "--into", "again", "--floor", "0", "--json")
    again = json.loads(ended.out.replace("again/", "merged/"))
    assert again == merged  # whatever the order
    ended = mergecheck("config", "ci", "report", "merged/fuzz.json", "--junit", "j.xml")
    assert ended.code == 0


def test_what_is_missing_is_named(mergecheck: Mergecheck, folder: Path) -> None:
    fuzz(mergecheck, folder, "0:4", "a")
    fuzz(mergecheck, folder, "6:8", "b")
    ended = mergecheck("lab", "merge-runs", "a", "b", "--into", "m", "--floor", "0", "--json")
    document = json.loads(ended.out)
    assert (document["complete"], document["missing"]) == (False, [[4, 6]])
    assert "the numbers 4 to 5 are in no run that came to its end" in document["inconclusive"]

    cut = json.loads((folder / "a" / "fuzz.json").read_text()) | {"stop": "interrupted", "findings": []}
    (folder / "a" / "fuzz.json").write_text(json.dumps(cut))
    (folder / "b" / "fuzz.json").write_text(
        json.dumps(json.loads((folder / "b" / "fuzz.json").read_text()) | {"findings": []})
    )
    ended = mergecheck("lab", "merge-runs", "a", "b", "--into", "n", "--floor", "0")
    assert ended.code == 4
    assert "the numbers 0 to 3 are in no run" in ended.out


def test_a_journal_keeps_its_findings_and_ranges_are_put_together(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "tiny.toml").write_text(TINY)
    run = ("exhaust", "--engine", "echo_engine:LosesNullKeys", "--scope", "tiny.toml", "--json")
    whole = json.loads(mergecheck(*run, "--journal", "whole.jsonl").out)
    for numbers, name in (("1:2", "b"), ("0:1", "a")):
        (folder / name).mkdir()
        mergecheck(*run, "--range", numbers, "--journal", f"{name}/exhaust.jsonl")
    merging = ("lab", "merge-runs", "b", "a", "--scope", "tiny.toml", "--into", "m", "--json")
    ended = mergecheck(*merging)
    merged = json.loads(ended.out)
    assert ended.code == merged["exit_code"] == whole["exit_code"] == 1
    alike = ("merges", "findings", "statements_done", "statements_left", "lists_of_rows", "paths", "summary")
    assert {name: merged[name] for name in alike} == {name: whole[name] for name in alike}
    assert [one["id"] for one in merged["found"]] == [one["id"] for one in whole["found"]]
    assert (folder / "m" / "findings" / f"{merged['found'][0]['id']}.json").is_file()
    assert json.loads(mergecheck(*run, "--journal", "m/exhaust.jsonl").out)["new_merges"] == 0

    refused = mergecheck(*merging)
    assert refused.code == 2
    assert "is there already, and not overwritten" in refused.err.replace("\n", " ")
    (folder / "tiny.toml").write_text(TINY.replace("target_rows = 1", "target_rows = 2"))
    ended = mergecheck("lab", "merge-runs", "a", "--scope", "tiny.toml", "--into", "o")
    assert ended.code == 2
    assert "of another scope" in ended.err.replace("\n", " ")
    ended = mergecheck("lab", "merge-runs", "a", "--into", "o")
    assert ended.code == 2
    assert "'tiny', which does not come with mergecheck. Give its file with --scope FILE" in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("{}",), "is no result of a range"),
        (("[" * 100_000,), "is no result of a range"),
        (('{"range": [0, 1], "findings": [{}]}',), "is no result of a range"),
        ((), "has no fuzz.json and no exhaust.jsonl"),
    ],
)
def test_what_is_no_run_is_refused(mergecheck: Mergecheck, folder: Path, texts: tuple[str, ...], message: str) -> None:
    (folder / "runs").mkdir()
    for text in texts:
        (folder / "runs" / "fuzz.json").write_text(text)
    ended = mergecheck("lab", "merge-runs", "runs", "--into", "m")
    assert ended.code == 2
    assert message in ended.err.replace("\n", " ")
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"paths": {"D": "x"}},
        {"paths": -1},
        {"pairs": []},
        {"counts": {"unsupported": 1}},
        {"seconds": float("inf")},
        {"verified_share": "all"},
        {"work": {"unknown": {"no reason": None}}},
        {"work": {"unknown": 4}},
        {"pairs_missing": [5]},
        {"cells": 10**400},
        {"num_cases": float("inf")},
        {"started": 5},
        {"range": [2, 1]},
        {"merges": None},
    ],
)
def test_a_run_with_values_of_other_kinds_is_refused(
    mergecheck: Mergecheck, folder: Path, change: dict[str, Any]
) -> None:
    """A file of another machine may be damaged; the message names the value, and nothing is written."""
    document = fuzz(mergecheck, folder, "0:1", "a")
    (folder / "a" / "fuzz.json").write_text(json.dumps(document | change))
    ended = mergecheck("lab", "merge-runs", "a", "--into", "m")
    assert ended.code == 2, ended
    assert "is no result of a range: " in ended.err.replace("\n", " ")
    assert not (folder / "m").exists()


def test_runs_that_do_not_fit_are_refused(mergecheck: Mergecheck, folder: Path) -> None:
    document = fuzz(mergecheck, folder, "0:2", "a")
    (folder / "b").mkdir()
    for change, message in (
        ({"seed": 4}, "one has seed 3, another 4"),
        ({"range": [1, 3]}, "the ranges 0:2 and 1:3 overlap"),
        ({"range": [2, 3], "engine_version": "0"}, "engine_version"),
    ):
        (folder / "b" / "fuzz.json").write_text(json.dumps(document | {"range": [2, 4]} | change))
        ended = mergecheck("lab", "merge-runs", "a", "b", "--into", "m")
        assert ended.code == 2
        assert message in ended.err.replace("\n", " ")
    (folder / "b" / "exhaust.jsonl").write_text("")
    assert "results of one of the two verbs" in mergecheck("lab", "merge-runs", "b", "--into", "m").err.replace(
        "\n", " "
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--range", "3:3", "--seed", "1"), "cases have the numbers from 0; give two numbers such as 0:100"),
        (("--range", "3:", "--seed", "1"), "give two numbers such as 0:100"),
        (("--range", "0:3"), "--range needs --seed N"),
        (("--range", "0:3", "--seed", "1", "--steer"), "no --steer"),
        (("--on-spark", "local[2]", "--seed", "1"), "--on-spark needs --range A:B"),
        (("--on-spark", "local[2]", "--seed", "1", "--range", "0:3", "--html", "x.html"), "--on-spark needs --range"),
    ],
)
def test_options_that_do_not_fit_are_refused(mergecheck: Mergecheck, arguments: tuple[str, ...], message: str) -> None:
    ended = mergecheck("fuzz", "--engine", "echo_engine:Echo", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())


def test_an_engine_on_spark_does_not_run_on_workers(mergecheck: Mergecheck) -> None:
    for verb in (("fuzz", "--seed", "1"), ("exhaust",)):
        ended = mergecheck(*verb, "--engine", "pyspark", "--range", "0:3", "--on-spark", "local[2]")
        assert ended.code == 2
        assert "engine 'pyspark' starts Spark itself" in ended.err.replace("\n", " ")


def test_a_shared_database_gives_a_failing_example_to_other_machines(folder: Path) -> None:
    """A machine first tries the cases that another one has found by ``@given(cases(engine))``."""
    engine, tried = LosesNullKeys(), []

    def run(*phases: Phase) -> None:
        """Run one property, as a test file would on each machine."""
        shared = DirectoryBasedExampleDatabase(folder / "shared-examples")

        @settings(database=shared, derandomize=False, max_examples=400, deadline=None, phases=phases)
        @given(cases(engine))
        def every_merge_is_right(case: Case) -> None:
            tried.append(case)
            assert check(case, engine).verdict is not Verdict.MISMATCH

        with pytest.raises(AssertionError):
            every_merge_is_right()

    run(Phase.generate)
    found = tried[-1]
    tried.clear()
    run(Phase.reuse)
    assert tried[0] == found


@pytest.mark.spark
def test_parts_run_on_the_workers_of_spark(mergecheck: Mergecheck, folder: Path) -> None:
    """Two parts of a range, each by a task of its own, give the same as one run of the range."""
    on_spark = ("--on-spark", "local[2]")
    run = ("fuzz", "--engine", "duckdb", "--seed", "1", "--range", "48:52", "--batch", "4", "--floor", "0", "--json")
    alone, spread = (json.loads(mergecheck(*run, *more).out) for more in ((), on_spark))
    assert spread["runs"] == 2
    assert {name: spread[name] for name in COUNTS} == {name: alone[name] for name in COUNTS}

    run = ("exhaust", "--engine", "duckdb", "--range", "9:11", "--json")
    alone, spread = (json.loads(mergecheck(*run, *more).out) for more in ((), (*on_spark, "--journal", "j.jsonl")))
    assert {name: spread[name] for name in ("merges", "statements_done", "paths", "lists_of_rows")} == {
        name: alone[name] for name in ("merges", "statements_done", "paths", "lists_of_rows")
    }
    assert json.loads(mergecheck(*run, *on_spark, "--journal", "j.jsonl").out)["new_merges"] == 0

    (folder / "none.toml").write_text("x = 1")
    ended = mergecheck("fuzz", "--engine", "duckdb@0.0.1", "--seed", "1", "--range", "0:1", *on_spark)
    assert ended.code == 3
    assert "the part 0:1 ended on its worker with exit code" in ended.err.replace("\n", " ")
