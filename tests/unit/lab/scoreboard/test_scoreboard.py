"""Stored runs put together: counts add up, releases stay apart, and each cell with a difference has a case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from parsed_html import check_page

from mergecheck.harness.cli.html.rendering import page_html
from mergecheck.harness.cli.html.scoreboard import scoreboard_page
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.lab.scoreboard.scoreboard import scoreboard, scoreboard_json, version_key
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.lab.scoreboard.stored_runs import read_runs
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.scoreboard.scoreboard import Scoreboard

CASE = {
    "format_version": 1,
    "id": "small",
    "target": {"schema": "id INT", "files": [[[1], [2]]]},
    "source": {"schema": "id INT", "rows": [[1]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
}
ROWS = {"check": "rows", "against": "reference", "kind": "missing_rows", "lines": ["1 row is missing", "- (2)"]}


def counts(**numbers: int) -> dict[str, int]:
    return {answer.value: numbers.get(answer.value, 0) for answer in Answer}


def column(version: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": f"lossy@{version}",
        "engine": "lossy",
        "version": version,
        "down": None,
        "totals": counts(agree=3, mismatch=1, unsupported=2),
        "features": {"matched delete": counts(agree=1, mismatch=1), "partitions": counts(unsupported=2)},
        "unsupported": {"partitions": 2},
        "not_checked": {},
        "differences": [
            {
                "what": "lossy: rows missing_rows against reference",
                "deviation": [],
                "num_cases": 1,
                "features": {"matched delete": 1},
                "mismatches": [ROWS],
                "case": "small",
                "case_file": CASE,
                "path": "findings/small.json",
                "majority_vote": {},
            }
        ],
        **changes,
    }


def matrix(seed: int, *columns: dict[str, Any]) -> dict[str, Any]:
    return {"seed": seed, "num_cases": 6, "seconds": 1.0, "interrupted": False, "engines": list(columns)}


def board_of(folder: Path, *documents: dict[str, Any]) -> Scoreboard:
    paths = [folder / f"{number}.json" for number, _ in enumerate(documents)]
    for path, document in zip(paths, documents, strict=True):
        path.write_text(json.dumps(document), encoding="utf-8")
    return scoreboard(run for path in paths for run in read_runs(path))


def test_runs_of_a_release_add_up_and_releases_stay_apart(tmp_path: Path) -> None:
    board = board_of(tmp_path, matrix(1, column("1.10.0"), column("1.9.0")), matrix(2, column("1.10.0")))
    (engine,) = board.engines
    assert [release.version for release in engine.releases] == ["1.9.0", "1.10.0"]
    assert engine.releases[1].totals == {Answer.AGREE: 6, Answer.MISMATCH: 2, Answer.UNSUPPORTED: 4} | {
        Answer.DEVIATES: 0,
        Answer.ERROR: 0,
    }
    assert engine.releases[1].cells["matched delete"][Answer.MISMATCH] == 2
    assert engine.releases[1].num_judged == 8
    (cause,) = engine.causes
    assert cause.cases == {"1.10.0": 2, "1.9.0": 1}


def test_the_smallest_case_of_all_releases_is_kept(tmp_path: Path) -> None:
    large = {**CASE, "id": "large", "source": {"schema": "id INT", "rows": [[1], [1], [1]]}}
    first = column("1.0")
    first["differences"] = [{**first["differences"][0], "case_file": large}]
    (engine,) = board_of(tmp_path, matrix(1, first, column("2.0"))).engines
    assert engine.causes[0].smallest.case is not None
    assert engine.causes[0].smallest.case.id == "small"


def test_a_known_deviation_stands_behind_what_is_unexplained(tmp_path: Path) -> None:
    both = column("1.0")
    known = {**both["differences"][0], "what": "known", "deviation": ["known"], "num_cases": 9}
    both["differences"] = [known, *both["differences"]]
    (engine,) = board_of(tmp_path, matrix(1, both)).engines
    assert [bool(cause.deviations) for cause in engine.causes] == [False, True]
    cause = engine.cause_of("1.0", "matched delete")
    assert cause is not None
    assert not cause.deviations
    assert engine.cause_of("1.0", "partitions") is None


def test_fuzz_and_run_count_in_the_totals(tmp_path: Path) -> None:
    fuzz = {
        "engine": "lossy@1.0",
        "engine_name": "lossy",
        "engine_version": "1.0",
        "seed": 5,
        "counts": {"agree": 4, "both_rejected": 2, "mismatch": 1, "unsupported": 3, "engine_error": 0},
        "deviating": 2,
        "deviations": {"known": 2},
        "unsupported": {"partitions": 3},
        "findings": [{"fingerprint": "lossy: rows", "num_cases": 1, "path": "p", "mismatches": [ROWS]}],
    }
    run = {"id": "one", "engine": "lossy", "engine_version": "1.0", "verdict": "agree", "mismatches": []}
    (engine,) = board_of(tmp_path, fuzz, run, {"engines": [{**run, "id": "two"}]}).engines
    (release,) = engine.releases
    assert release.totals[Answer.AGREE] == 8
    assert release.totals[Answer.DEVIATES] == 2
    assert [cause.what for cause in engine.causes] == ["lossy: rows", "known"]


def test_a_case_counts_once(tmp_path: Path) -> None:
    with pytest.raises(UserInputError, match=r"0\.json and .*1\.json hold the same cases on lossy 1\.0 \(matrix, seed"):
        board_of(tmp_path, matrix(1, column("1.0")), matrix(1, column("1.0")))


@pytest.mark.parametrize("document", [[], {}, {"engines": []}, {"engines": 1, "seed": 1}, {"verdict": "good"}])
def test_what_is_no_run_is_refused(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserInputError, match=r"other\.json is no run that a scoreboard can read"):
        read_runs(path)


def test_json_has_counts_and_a_cause_for_each_cell(tmp_path: Path) -> None:
    document = scoreboard_json(board_of(tmp_path, matrix(1, column("1.0"), column("2.0"))))
    (engine,) = document["engines"]
    (cause,) = engine["causes"]
    assert (cause["first"], cause["last"], cause["case_file"]["id"]) == ("1.0", "2.0", "small")
    cell = engine["releases"][0]["features"]["matched delete"]
    assert cell == {**counts(agree=1, mismatch=1), "cause": cause["what"]}
    assert engine["releases"][0]["features"]["partitions"]["cause"] is None


def test_page(tmp_path: Path) -> None:
    """Every cell with a difference leads to the case, and cases that were not judged are counted."""
    hostile = column("1.0", engine="<b>lossy", unsupported={"<script>": 2}, down="lost\x00")
    page = check_page(page_html(scoreboard_page(board_of(tmp_path, matrix(1, hostile)), deviations=Deviations())))
    links = {one.attributes["href"] for table in page.all("table") for one in table.all("a")}
    (body,) = (one for one in page.all("div") if one.attributes.get("id") == "shown-1")
    assert links == {"#shown-1"}
    assert "WHEN MATCHED THEN DELETE" in body.text
    doubts = next(one for one in page.all("section") if one.attributes.get("id") == "doubts").text
    assert "4 cases judged" in doubts
    assert "ended before the cases did" in doubts


def test_a_page_of_runs_without_differences(tmp_path: Path) -> None:
    plain = column("1.0", differences=[], features={})
    page = check_page(page_html(scoreboard_page(board_of(tmp_path, matrix(1, plain)), deviations=Deviations())))
    assert "No release differed from the reference." in page.text


def test_versions_are_sorted_by_their_numbers() -> None:
    assert sorted(["2.0", "1.10", "1.9", "3.3.2+spark3.5", "3.10"], key=version_key) == [
        "1.9",
        "1.10",
        "2.0",
        "3.3.2+spark3.5",
        "3.10",
    ]
