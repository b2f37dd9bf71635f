"""A run beside an earlier one: when it is much worse, and when that is noise; and how earlier runs are read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.report.baseline import Comparison, more_in_vain, read_baseline
from mergecheck.harness.report.fuzz_figures import RunFigures, read_figures, read_history
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.work_counts import WorkCounts

if TYPE_CHECKING:
    from pathlib import Path

PHASES = {"draw": 10.0, "reference": 20.0, "engine": 60.0, "compare": 10.0, "shrink": 0.0}
RUN = RunFigures(
    name="old.json",
    started="2026-01-02T03:04:05+00:00",
    engine="e",
    engine_version="1.0",
    num_cases=100,
    num_judged=100,
    num_verified=80,
    num_deviating=0,
    num_unsupported=15,
    num_repeated=0,
    num_findings=0,
    num_rules=40,
    num_pairs=300,
    seconds=100.0,
    phase_seconds=PHASES,
)
DOCUMENT = {
    "engine": "e",
    "started": "2026-01-02T03:04:05+00:00",
    "num_cases": 10,
    "deviating": 2,
    "verified": 6,
    "counts": {"unsupported": 1},
    "num_repeated": 3,
    "findings": [{}],
    "rules": {"R-301": 4},
    "pairs": {},
    "seconds": 20.0,
    "phase_seconds": {"shrink": 10.0},
}


def worse(**changes: object) -> tuple[str, ...]:
    return Comparison(baseline=RUN, now=replace(RUN, **changes)).worse()  # type: ignore[arg-type]


def test_a_run_like_the_baseline_is_not_worse() -> None:
    assert worse() == ()
    assert worse(seconds=20.0, num_verified=100) == ()


def test_noise_is_not_much_worse() -> None:
    """A busy machine, and other cases by chance: 72 of 100 instead of 80 is within three standard errors."""
    assert worse(seconds=190.0, num_verified=72) == ()


def test_half_the_speed_is_much_worse_and_the_phase_is_named() -> None:
    (told,) = worse(seconds=300.0, phase_seconds={**PHASES, "engine": 240.0})
    assert told == "much worse than the baseline: a case takes 3.0 times as long (engine 4.0 times)"


def test_the_time_of_shrinking_is_left_out() -> None:
    """A run with findings is slower for another reason."""
    assert worse(seconds=1100.0, phase_seconds={**PHASES, "shrink": 1000.0}) == ()


def test_a_smaller_verified_share_is_told_if_chance_does_not_explain_it() -> None:
    (told,) = worse(num_verified=50)
    assert told == "much worse than the baseline: 50% of the cases were verified, 80% before"
    many = {"num_cases": 100_000, "num_judged": 100_000, "seconds": 1000.0}
    assert Comparison(baseline=RUN, now=replace(RUN, **many, num_verified=78_000)).worse() == ()  # type: ignore[arg-type]


def test_a_small_run_is_not_judged() -> None:
    compared = Comparison(baseline=RUN, now=replace(RUN, num_cases=29, num_judged=29, num_verified=0))
    assert compared.worse() == ()
    assert compared.line().endswith("too few cases to tell which is better (under 30)")


def test_a_run_of_known_deviations_only_has_no_share() -> None:
    assert worse(num_judged=0, num_verified=0, num_deviating=100) == ()


WORK = WorkCounts(
    merges=50,
    files_rewritten=100,
    files_rewritten_in_vain=10,
    rows_copied=400,
    rows_copied_in_vain=40,
    merges_with_scans=50,
    files_scanned=200,
    files_scanned_in_vain=60,
)


def more(*, seed: int | None = 1, merges: int = 50, **work: int) -> tuple[str, ...]:
    """Hold a run of seed 1 beside one that does other work."""
    before = replace(RUN, seed=1, work=WORK)
    now = replace(RUN, seed=seed, work=replace(WORK, merges=merges, **work))  # type: ignore[arg-type]
    return Comparison(baseline=before, now=now).worse()


def test_of_the_same_cases_any_more_work_in_vain_is_worse() -> None:
    assert more() == ()
    assert more(files_rewritten_in_vain=9, rows_copied=500) == ()
    (told,) = more(files_scanned=201, files_scanned_in_vain=61)
    assert told == "much worse than the baseline: 61 of 201 files read in vain, 60 of 200 before"
    assert len(more(files_rewritten_in_vain=11, rows_copied_in_vain=44)) == 2


def test_of_other_cases_more_work_in_vain_is_worse_if_chance_does_not_explain_it() -> None:
    """Other cases are from another seed, or others that agree."""
    for other in ({"seed": 2}, {"seed": None}, {"merges": 49}):
        assert more(files_rewritten_in_vain=12, files_scanned_in_vain=70, **other) == ()
        (told,) = more(files_rewritten_in_vain=40, **other)
        assert told == "much worse than the baseline: 40 of 100 files rewritten in vain, 10 of 100 before"


def test_work_that_a_run_does_not_report_is_not_compared() -> None:
    now = replace(WORK, merges_with_scans=0, files_scanned=0, files_scanned_in_vain=0)
    assert more_in_vain(WORK, now, is_same=True) == more_in_vain(now, WORK, is_same=True) == []


def test_figures_are_read_from_json(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(DOCUMENT))
    found = read_baseline(path, engine="e")
    assert (found.name, found.cases_a_second, found.verified_share, found.num_findings) == ("run.json", 1.0, 0.75, 1)
    with pytest.raises(UserInputError, match="is a run of engine e, so it is no baseline for engine other"):
        read_baseline(path, engine="other")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "{}", '{"seed": 1}', json.dumps({**DOCUMENT, "rules": None})])
def test_what_is_no_result_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(UserInputError, match=r"run\.json is no result of fuzz\. Write one by: mergecheck fuzz"):
        read_figures(path)
    with pytest.raises(UserInputError, match="cannot be read: No such file"):
        read_figures(tmp_path / "nothing.json")


def test_a_history_is_in_the_order_of_time(tmp_path: Path) -> None:
    """Files and folders; other commands' results in a folder, and other engines' runs, are left out."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, changes in {
        "a": {"started": "2026-03-01"},
        "b": {"started": "2026-01-01"},
        "c": {"engine": "other"},
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(DOCUMENT | changes))
    (folder / "replay.json").write_text('{"cases": []}')
    single = tmp_path / "single.json"
    single.write_text(json.dumps(DOCUMENT | {"started": "2026-02-01"}))
    found = read_history([folder, single], engine="e")
    assert [one.name for one in found] == ["b.json", "single.json", "a.json"]
    with pytest.raises(UserInputError, match=r"replay\.json is no result of fuzz"):
        read_history([folder / "replay.json"], engine="e")
