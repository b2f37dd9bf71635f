"""What became of a finding, and the origin that its file carries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mergecheck.harness.findings.corpus import saved_case
from mergecheck.harness.findings.finding_status import CheckStatus, FindingStatus, compare
from mergecheck.harness.findings.origin import Origin, case_text, json_text, origin_of
from mergecheck.harness.verdict import CaseReport, Check, Compared, Mismatch, Rerun, Verdict
from mergecheck.model.case import Case, Target
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

SCHEMA = parse_schema("id BIGINT")
CASE = Case(id="mine", target=Target(schema=SCHEMA, files=(((1,),),)), source=None, sql="MERGE")
ROWS = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=("missing (1)",))
FEED = Mismatch(check=Check.CDF, against="reference", kind="missing_rows", lines=("missing insert (1)",))
FILES = Mismatch(check=Check.FILES, against="itself", kind="P-11", lines=("512 bytes",))
ERROR = Mismatch(check=Check.ERROR, against="reference", kind="spurious_error", lines=("X",))
RELATION = Mismatch(check=Check.ROWS, against="P-16-files", kind="extra_rows", lines=("extra (1)",))
COPIED = Mismatch(
    check=Check.METRICS, against="reference", kind="numTargetRowsCopied", lines=("reference 1, engine 2",)
)
COUNTS = Mismatch(
    check=Check.METRICS,
    against="itself",
    kind="P-6",
    lines=("numOutputRows 3, but it is the sum of", "numTargetRowsX 1"),
)
NO_ERROR = Mismatch(check=Check.ERROR, against="reference", kind="no_error", lines=("X",))
EVERYTHING = tuple(Compared(check=check, against=against) for check in Check for against in ("reference", "itself"))
REFUSAL = Rejection(error_class="X", message="x", unchanged=True)
REFUSED = (Compared(check=Check.ERROR, against="reference"),)


def report(*mismatches: Mismatch, verdict: Verdict | None = None) -> CaseReport:
    return CaseReport(
        case=CASE,
        engine="e",
        engine_version="1",
        verdict=verdict or (Verdict.MISMATCH if mismatches else Verdict.AGREE),
        reference=Reference(answer=Unsupported("not looked at")),
        result=Outcome(schema=SCHEMA, rows=()),
        mismatches=mismatches,
        compared=EVERYTHING,
    )


COUNTED = {"numOutputRows": 1, "numTargetRowsX": 1, "numTargetRowsUpdated": 0}


def without(check: Check, *, but: str = "", found: tuple[Mismatch, ...] = ()) -> CaseReport:
    """Make a report in which an observable was not compared, or only one kind of it."""
    compared = tuple(made for made in EVERYTHING if made.check is not check)
    if but:
        compared = (*compared, Compared(check=check, against="reference", kinds=frozenset({but})))
    return replace(report(*found), compared=compared)


def refused() -> CaseReport:
    """Both sides refuse the merge."""
    return replace(report(verdict=Verdict.BOTH_REJECTED), result=REFUSAL, compared=REFUSED)


def origin(*mismatches: Mismatch) -> Origin:
    return origin_of(report(*mismatches), found_by="fuzz", engine="m:E", seed=7, number=3)


def test_the_origin_names_the_release_that_was_started() -> None:
    """The same class runs every release: ``--engine`` as it was given leads back to the one that differed."""
    checked = replace(report(ROWS), rerun=Rerun(engine="delta-rs@0.25.5"))
    assert origin_of(checked, found_by="fuzz", engine="delta-rs").engine == "delta-rs@0.25.5"


@pytest.mark.parametrize(
    ("then", "now", "status"),
    [
        ((ROWS,), report(), FindingStatus.FIXED),
        ((ERROR,), report(verdict=Verdict.BOTH_REJECTED), FindingStatus.FIXED),
        ((ROWS, FEED), report(FEED, ROWS), FindingStatus.STILL_FAILS),
        ((FILES,), report(replace(FILES, lines=("513 bytes",))), FindingStatus.STILL_FAILS),
        ((ROWS,), report(replace(ROWS, lines=("missing (2)",))), FindingStatus.CHANGED),
        ((ROWS, FEED), report(FEED), FindingStatus.CHANGED),
        ((ROWS,), report(ROWS, FEED), FindingStatus.CHANGED),
        ((ROWS,), report(ERROR), FindingStatus.NOW_ERRORS),
        ((ERROR,), report(ERROR), FindingStatus.STILL_FAILS),
        ((ROWS,), report(verdict=Verdict.ENGINE_ERROR), FindingStatus.NOW_ERRORS),
        ((ROWS,), report(verdict=Verdict.UNSUPPORTED), FindingStatus.NOT_CHECKED),
        ((FEED,), without(Check.CDF), FindingStatus.NOT_CHECKED),
        ((COPIED,), without(Check.METRICS), FindingStatus.NOT_CHECKED),
        ((COPIED,), without(Check.METRICS, but="numTargetRowsCopied"), FindingStatus.FIXED),
        ((COPIED,), without(Check.METRICS, but="numTargetRowsUpdated"), FindingStatus.NOT_CHECKED),
        ((COUNTS,), report(), FindingStatus.NOT_CHECKED),
        ((COUNTS,), replace(report(), result=Outcome(schema=SCHEMA, rows=(), metrics=COUNTED)), FindingStatus.FIXED),
        ((ROWS, COPIED), without(Check.METRICS), FindingStatus.NOT_CHECKED),
        ((ROWS, COPIED), without(Check.METRICS, found=(ROWS,)), FindingStatus.STILL_FAILS),
        ((ROWS,), refused(), FindingStatus.NOT_CHECKED),
        ((NO_ERROR, COUNTS), refused(), FindingStatus.FIXED),
        ((replace(ROWS, against="expect"),), report(), FindingStatus.NOT_CHECKED),
        ((replace(ROWS, against="base"),), report(), FindingStatus.NOT_CHECKED),
        ((ROWS,), report(ROWS, replace(ROWS, against="expect")), FindingStatus.STILL_FAILS),
    ],
)
def test_status(then: tuple[Mismatch, ...], now: CaseReport, status: FindingStatus) -> None:
    """Fixed, the same, changed or in error; sizes and times in a text do not count, nor does an added expectation."""
    assert compare(now, origin(*then)).status is status


def test_a_partial_fix_is_told_check_by_check() -> None:
    """Mismatches that are gone, left and new."""
    compared = compare(report(FEED, FILES), origin(ROWS, FEED))
    assert compared.checks == {
        Check.ROWS: CheckStatus.FIXED,
        Check.CDF: CheckStatus.STILL,
        Check.FILES: CheckStatus.NEW,
    }


def test_what_no_oracle_of_the_run_tries_is_not_fixed() -> None:
    """A relation that was not tried proves nothing."""
    found = origin(RELATION)
    tried = (*EVERYTHING, Compared(check=Check.ROWS, against="P-16-files"))
    assert compare(replace(report(), compared=tried), found).status is FindingStatus.FIXED
    not_tried = compare(report(), found)
    assert not_tried.status is FindingStatus.NOT_CHECKED
    assert "--oracle metamorphic" in not_tried.reasons[Check.ROWS]


def test_the_origin_is_read_as_it_was_written() -> None:
    """Both ways, with the case itself; a key that a newer version adds is passed over."""
    found = origin(ROWS, FEED)
    text = case_text(CASE, found)
    saved = saved_case(text, path=Path("f.json"), where="f.json")
    assert (saved.case, saved.origin) == (CASE, found)
    document = json.loads(text)
    document["origin"]["newer"] = [1]
    assert saved_case(json.dumps(document), path=Path("f.json"), where="f.json").origin == found
    del document["origin"]
    assert saved_case(json.dumps(document), path=Path("f.json"), where="f.json").origin is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("found_by", 7),
        ("engine", []),
        ("seed", "7"),
        ("number", True),
        ("fingerprint", {"check": "nothing"}),
        ("fingerprint", 1),
        ("difference", {}),
        ("difference", [{"check": "rows", "against": "", "kind": "k"}]),
        ("difference", [{"check": "rows", "against": "a", "kind": "k", "lines": [1]}]),
    ],
)
def test_a_bad_origin_is_refused(key: str, value: object) -> None:
    """With a message that names file and key."""
    document = json.loads(case_text(CASE, origin(ROWS)))
    document["origin"][key] = value
    with pytest.raises(CaseFormatError, match=f"f.json, origin, {key}"):
        saved_case(json.dumps(document), path=Path("f.json"), where="f.json")


def test_json_is_broken_where_it_does_not_fit() -> None:
    """It stays the same document."""
    document = {"a": {"rows": [["x" * 60, i] for i in range(3)]}, "empty": [], "b": {}, "c": "y" * 200}
    text = json_text(document)
    assert json.loads(text) == document
    assert '      ["' + "x" * 60 + '", 1],\n' in text
