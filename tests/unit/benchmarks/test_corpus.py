"""The corpus for engines in other languages, and its readers in Java and Rust."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import MergeReference, evaluate
from tools.corpus.entries import VERSION, cases, entries, minimal_cases, reached_by, without_needless_rows

READERS = {"java": Path("tools/corpus/CorpusReader.java"), "rustc": Path("tools/corpus/corpus_reader.rs")}
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


def test_a_random_case_has_no_row_to_spare() -> None:
    """Without any of its rows, the case reaches something else."""
    reference = MergeReference()
    drawn = next(case for case, is_random in cases(seed=1) if is_random and len(case.target.rows) > 2)
    reached = reached_by(drawn, reference)
    assert reached is not None
    small = without_needless_rows(reached, reference)
    assert small.is_like(reached)
    assert len(small.case.target.rows) < len(drawn.target.rows)
    again = without_needless_rows(small, reference)
    assert again.case == small.case


def test_the_entries_do_not_depend_on_the_number_of_processes() -> None:
    """Each process evaluates cases; which of them stay is decided in one place."""
    assert list(entries(4, seed=1, jobs=2)) == list(entries(4, seed=1))


@pytest.mark.parametrize("program", READERS)
def test_a_reader_reads_and_judges(program: str, tmp_path: Path) -> None:
    """The derived answers agree, one without a row does not, and a file of another version is refused."""
    assert len(READERS[program].read_text().splitlines()) <= 200
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")  # the project itself needs no Rust
    succeeds = {
        "outcome": "succeeds",
        "rows": [[1, 'a\u00e9 \U0001f600 "x"\n'], [2, None], [2, None]],
        "metrics": {"numTargetRowsUpdated": [1, 1], "numTargetBytesAdded": [1, None]},
    }
    fails = {"outcome": "fails", "error_classes": ["A", "B"]}
    lines = [
        json.dumps(
            {"corpus_version": VERSION, "id": "x", "derived": derived, "rules": ["R-001"]}, ensure_ascii=is_ascii
        )
        for derived, is_ascii in ((succeeds, True), (succeeds, False), (fails, True))
    ]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = _compiled(program, tmp_path)
    ended = subprocess.run([*command, corpus], capture_output=True, text=True, check=True)  # noqa: S603 - the reader
    cases_line, *judged = ended.stdout.splitlines()
    assert cases_line.startswith("3 cases")
    assert cases_line.endswith("1 rules, 6 rows")
    assert judged == [
        "repeats: 3 agree, 0 differ, 0 unsupported",
        "loses a row: 1 agree, 2 differ, 0 unsupported",
    ]
    corpus.write_text(json.dumps({"corpus_version": 9}) + "\n")
    refused = subprocess.run([*command, corpus], capture_output=True, text=True, check=False)  # noqa: S603 - the same
    assert refused.returncode != 0
    assert "corpus_version 9 is unknown" in refused.stderr


def _compiled(program: str, folder: Path) -> list[str]:
    """Return the command of a reader; Java compiles as it starts."""
    if program == "java":
        return [program, str(READERS[program])]
    binary = folder / "reader"
    command = [program, "--edition", "2021", "-D", "warnings", READERS[program], "-o", binary]
    subprocess.run(command, check=True)  # noqa: S603 - by PATH
    return [str(binary)]
