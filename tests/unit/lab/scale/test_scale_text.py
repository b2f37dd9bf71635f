"""The text and the JSON of a scale case."""

from __future__ import annotations

import json
from pathlib import Path

from mergecheck.harness.lab.scale.judge import Judgement
from mergecheck.harness.lab.scale.judge_process import Judged
from mergecheck.harness.lab.scale.reduce import Reduction
from mergecheck.harness.lab.scale.scale_run import ScaleReport
from mergecheck.harness.lab.scale.scale_text import report_json, report_lines, summary_line
from mergecheck.harness.lab.scale.tables.generate import Tables
from mergecheck.harness.lab.scale.tables.spec import make_spec
from mergecheck.harness.verdict import Check, Mismatch, Verdict

COUNTS = {
    "source": 44,
    "inserted": 6,
    "matched_updated": 30,
    "by_source_updated": 1,
    "matched_deleted": 2,
    "by_source_deleted": 0,
    "touched_files": 2,
    "touched_rows": 1250,
}


def report(judgement: Judgement, *, reduction: Reduction | None = None) -> ScaleReport:
    return ScaleReport(
        spec=make_spec(shape="insert-only", rows=10_000, files=16, seed=1),
        engine="pyspark",
        engine_version="0.1.0",
        tables=Tables(target=Path("t"), source=Path("s"), target_rows=10_000, source_rows=44, num_bytes=2_500_000_000),
        judged=Judged(judgement=judgement, seconds={"rows compared": 1.25}, peak_bytes=3 * 2**29),
        seconds={"generate": 0.5, "merge": 12.0, "rows compared": 1.25},
        disk_bytes=3_000_000_000,
        memory_bytes=8 * 2**30,
        spec_path=None if reduction is None else Path("findings/scale/insert-only-10000-1.json"),
        reduction=reduction,
    )


AGREED = Judgement(
    verdict=Verdict.AGREE,
    checked={"rows": 10_006, "cdf": 70, "metrics": 22},
    counts=COUNTS,
    path="D",
    reported={"numSourceRows": 44},
    unchecked={"path": "the engine does not report which path a merge took"},
)
DIFFERENCE = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=("1 row", "- (1)"))


def test_an_agreement_says_what_was_compared_and_what_it_took() -> None:
    assert report_lines(report(AGREED)) == [
        "AGREE  insert-only  10,000 + 44 rows in 16 files   engine pyspark 0.1.0   reference duckdb",
        "  MERGE INTO target t USING source s ON t.k = s.k",
        "    WHEN NOT MATCHED THEN INSERT *",
        "  compared   rows 10,006, changes 70, metrics 22, and the invariants",
        "  merge      path D; inserted 6, updated 31, deleted 2; touched 2 files with 1,250 rows",
        "  not checked: path (the engine does not report which path a merge took)",
        "  seconds    generate 0.5  merge 12.0  rows compared 1.2",
        (
            "  memory     1.50 GiB at most in reference and comparison, of 8.0; "
            "on disk 2.50 GB before the merge, 3.00 GB after it"
        ),
    ]


def test_a_mismatch_says_how_to_see_it_again() -> None:
    """The first rows that differ, the spec, and the parts that are not reduced."""
    found = Judgement(verdict=Verdict.MISMATCH, mismatches=(DIFFERENCE,), keys=(1,))
    lines = report_lines(report(found, reduction=Reduction(path=None, report=None, from_rows=(0, 0), num_tried=4)))
    assert lines[3:7] == [
        "  rows       1 row",
        "             - (1)",
        "  run again  mergecheck lab scale findings/scale/insert-only-10000-1.json",
        "  no small case shows a mismatch (4 tried)",
    ]


def test_a_reason_is_never_silent() -> None:
    lines = report_lines(report(Judgement(verdict=Verdict.UNSUPPORTED, reason="reference: a subquery")))
    assert "  not judged: reference: a subquery" in lines
    assert lines[0].startswith("UNSUPPORTED  insert-only")


def test_json_says_all_of_it() -> None:
    document = json.loads(json.dumps(report_json(report(AGREED))))
    assert document["verdict"] == "agree"
    assert document["spec"]["rows"] == 10_000
    assert document["compared"] == {"rows": 10_006, "cdf": 70, "metrics": 22}
    assert document["not_checked"].keys() == {"path"}
    assert document["metrics"] == {"numSourceRows": 44}
    assert (document["peak_bytes"], document["disk_bytes"]["after"]) == (3 * 2**29, 3_000_000_000)
    assert document["finding"] is None


def test_verdicts_are_counted() -> None:
    assert summary_line([Verdict.AGREE, Verdict.MISMATCH, Verdict.AGREE]) == "agree 2  mismatch 1"
