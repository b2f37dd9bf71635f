"""The corpus for engines in other languages, and its reader in Java."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import evaluate
from tools.corpus.entries import VERSION, entries, minimal_cases

READER = Path("tools/corpus/CorpusReader.java")
CASE_KEYS = ("format_version", "id", "target", "source", "tables", "sql", "conf")


def test_an_entry_has_what_the_reference_derives() -> None:
    for one in itertools.islice(entries(12, seed=1), 12):
        case = case_from_json({key: one[key] for key in CASE_KEYS if key in one}, where=one["id"])
        answer, derived = evaluate(case).answer, one["derived"]
        assert one["corpus_version"] == VERSION
        assert one["rules"] or derived["outcome"] == "fails"
        if isinstance(answer, Prediction):
            assert len(derived["rows"]) == len(answer.rows)
            assert derived["metrics"].keys() == answer.metrics.keys()
        else:
            assert isinstance(answer, Rejection)
            assert answer.error_class in derived["error_classes"]


def test_every_minimal_case_of_a_rule_is_a_candidate() -> None:
    """One a rule; the specification has more than 150 of them."""
    ids = [case.id for case in minimal_cases()]
    assert len(ids) == len(set(ids)) > 150


def test_the_reader_in_java_reads_and_judges(tmp_path: Path) -> None:
    """Compiled and run by one command: the derived answers agree, and one without a row does not."""
    assert len(READER.read_text().splitlines()) <= 200
    succeeds = {
        "outcome": "succeeds",
        "rows": [[1, 'a\\u00e9 "x"'], [2, None], [2, None]],
        "metrics": {"numTargetRowsUpdated": [1, 1], "numTargetBytesAdded": [1, None]},
    }
    fails = {"outcome": "fails", "error_classes": ["A", "B"]}
    (tmp_path / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"corpus_version": VERSION, "id": "x", "derived": derived, "rules": ["R-001"]}) + "\n"
            for derived in (succeeds, fails)
        )
    )
    told = _run(tmp_path / "corpus.jsonl")
    assert told.stdout.splitlines() == [
        "2 cases {fails=1, succeeds=1}, 1 rules, 3 rows",
        "repeats: 2 agree, 0 differ, 0 unsupported",
        "loses a row: 1 agree, 1 differ, 0 unsupported",
    ]
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"corpus_version": 9}) + "\n")
    assert "corpus_version 9 is unknown" in _run(tmp_path / "corpus.jsonl").stderr


def _run(corpus: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["java", READER, corpus], capture_output=True, text=True, check=False)  # noqa: S603, S607 - by PATH
