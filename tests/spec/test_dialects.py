"""Dialects of several matches: each rule by cases, and a case on which every two rules differ."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docsite.dialects import PAGE, with_tables
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import evaluate
from mergecheck.reference.dialects import DELTA, DIALECTS, MULTI_MATCH, Counted, Dialect, known_dialect
from mergecheck.reference.evaluation.several_matches import ANY_MAY_WIN

if TYPE_CHECKING:
    from mergecheck.model.case import Case

CASES = {path.stem: load_cases(path)[0] for path in sorted(Path("docs/dialects").glob("*.json"))}
FAILS, ANY = "fails", "any"
BEFORE = ((1, 0), (2, 0))
ENDS: dict[str, dict[str, object]] = {
    "two-updates": dict.fromkeys(DIALECTS, FAILS) | {"duckdb-2.0.1": ANY},
    "one-of-two-acts": dict.fromkeys(DIALECTS, ((1, 3), (2, 0))) | dict.fromkeys(["delta", "spark", "sail"], FAILS),
    "condition-on-the-target": dict.fromkeys(DIALECTS, BEFORE) | dict.fromkeys(["delta", "spark", "sail"], FAILS),
    "no-clause-for-matches": dict.fromkeys(DIALECTS, ((1, 0),)) | {"delta": FAILS},
    "lone-delete": dict.fromkeys(DIALECTS, ((2, 0),)) | {"postgres": FAILS, "duckdb-2.0.0": FAILS, "duckdb-2.0.1": ANY},
    "delete-after-another-clause": dict.fromkeys(DIALECTS, FAILS) | {"delta-rs": ((2, 0),), "duckdb-2.0.1": ANY},
}


def end(case: Case, dialect: Dialect) -> object:
    """How the reference predicts the case under a dialect."""
    answer = evaluate(case, dialect=dialect).answer
    if isinstance(answer, Prediction):
        return tuple(sorted(answer.rows))
    if isinstance(answer, Rejection):
        return FAILS if answer.error_class == MULTI_MATCH else answer.error_class
    return ANY if answer.reason == ANY_MAY_WIN else answer.reason


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_case_under_every_dialect(name: str) -> None:
    """Each was run on the engine, but for Databricks, whose documentation has the rule."""
    assert {known: end(CASES[name], dialect) for known, dialect in DIALECTS.items()} == ENDS[name]


def test_only_delta_may_miss_a_match_whose_file_is_left_out() -> None:
    """R-322: by the layout of files, the merge fails or does nothing."""
    case = CASES["condition-on-the-target"]
    with_other_answer = [name for name, one in DIALECTS.items() if evaluate(case, dialect=one).alternative is not None]
    assert with_other_answer == ["delta"]


def test_every_two_rules_are_told_apart_by_a_case() -> None:
    """Dialects are equal if no rule of theirs differs; then they must agree on every case."""
    for one, other in itertools.combinations(DIALECTS.values(), 2):
        apart = [name for name in CASES if ENDS[name][one.name] != ENDS[name][other.name]]
        assert bool(apart) is (one != other), (one.name, other.name)


def test_the_page_has_the_tables_of_today() -> None:
    """``python -m docsite.dialects`` writes them."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text)


def test_a_dialect_is_found_by_its_name() -> None:
    assert known_dialect("delta") == DELTA
    with pytest.raises(LookupError, match="no dialect is named 'oracle'; known: delta, "):
        known_dialect("oracle")


def test_a_stranger_makes_a_dialect_of_their_own() -> None:
    """It is a value: an engine that lets lone deletes repeat, and looks for matches that act."""
    own = Dialect(name="own", engines="mine", known_by="me", counts=Counted.ACTS, refuses=False)
    assert own not in DIALECTS.values()
    assert end(CASES["lone-delete"], own) == ((2, 0),)
    assert end(CASES["two-updates"], own) == ANY
    assert end(CASES["two-updates"], DELTA) == FAILS
