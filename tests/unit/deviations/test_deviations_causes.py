"""An error explains nothing by its text: each entry about an error demands its cause in the case.

The recorded answer to each entry's own case is given to every case of the conformance suite, and to near misses: cases
that have the trait of the entry's case but not the cause.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.lab.conformance import suite
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Mismatch, Verdict
from mergecheck.model.case_file import case_from_json, case_to_json
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference import MergeReference, evaluate
from tools.output_mutations.answers import load_answers

if TYPE_CHECKING:
    from mergecheck.harness.deviations.expected import ExpectedDifference
    from mergecheck.harness.lab.mutants import RecordedEngine
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

KNOWN = load_deviations()
ANSWERS = load_answers()
FAILURES = [
    *(
        Mismatch(check=Check.ERROR, against="", kind=kind, lines=())
        for kind in ("spurious_error", "error_class", "breakdown")
    ),
    Mismatch(check=Check.UNCHANGED, against="", kind="changed_after_error", lines=()),
]


def _is_about_errors(difference: ExpectedDifference) -> bool:
    return any(map(difference.names, FAILURES))


ABOUT_ERRORS = [entry for entry in KNOWN.entries if any(map(_is_about_errors, entry.difference))]
BY_TEXT = [entry for entry in ABOUT_ERRORS if entry.as_if is None]


WITH_THE_CAUSE = {
    "delta-spark-backtick-column": {"names/backtick, dot, keyword"},
    "delta-rs-backtick-column": {"names/backtick, dot, keyword"},
    "delta-rs-change-files-of-partitions": {"partitions/awkward values"},
    "duckdb-eager-values": {"casts/text to number"},
}
"""The cases of the suite in which the entry's engine may fail so."""


@cache
def _evaluated() -> tuple[tuple[Case, Reference], ...]:
    reference = MergeReference()
    found = [(case, reference.evaluate(case)) for case in suite()]
    return tuple((case, reference) for case, reference in found if not isinstance(reference.answer, Unsupported))


def _explained(case: Case, reference: Reference, engine: RecordedEngine, name: str) -> bool:
    report = check_case(case, engine, reference=lambda _: reference)
    assert report.verdict is Verdict.MISMATCH or not report.mismatches
    return bool(KNOWN.named([name]).explain(report, engine.capabilities))


def test_every_entry_that_goes_by_a_text_names_a_cause() -> None:
    """By ``cause`` or ``when``; and the error's class is fixed at the start of ``message``."""
    for entry in BY_TEXT:
        assert entry.message is not None, entry.id
        assert entry.cause is not None or entry.when.words, entry.id
        assert all(part.startswith("^") for part in entry.message.pattern.replace("(?s)", "").split("|^")[:1]), entry.id


@pytest.mark.parametrize("name", [entry.id for entry in BY_TEXT])
def test_a_made_up_error_on_another_case_is_a_mismatch(name: str) -> None:
    """The same text, word for word, on all cases of the suite."""
    engine = ANSWERS[name]
    found = {case.id for case, reference in _evaluated() if _explained(case, reference, engine, name)}
    assert found <= WITH_THE_CAUSE.get(name, set())


@pytest.mark.parametrize("name", [entry.id for entry in BY_TEXT])
def test_the_case_of_an_entry_is_still_explained(name: str) -> None:
    """By the answer that the engine gave to it."""
    (entry,) = KNOWN.named([name]).entries
    assert _explained(entry.case, evaluate(entry.case), ANSWERS[name], name)


NEAR_MISSES = {
    "delta-spark-dotted-partition-column": [
        {"sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"},
        {"conf": {"spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "false"}},
        {"other": ("`a`.`b`", "`a`.`c`")},
    ],
    "delta-spark-backtick-column": [
        {"sql": "MERGE INTO target t USING source s ON t.id = -s.id WHEN MATCHED THEN UPDATE SET *"},
        {"other": ("`a`b`", "`c`d`")},
    ],
    "delta-spark-case-sensitive-evolution": [
        {
            "sql": "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT (id, y) VALUES (s.id, 1)"
        },
    ],
    "delta-spark-strict-time-zone": [
        {"sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.id"},
        {"other": ("as timestamp)", "as bigint)")},
    ],
    "delta-spark-vector-columns": [
        {"source": {"schema": "id INT, v STRING", "rows": [[1, "b"]]},
         "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET filePath = s.v"},
        {"sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"},
        {"other": ("`filePath`", "`rowIndexCol`")},
    ],
    "delta-spark-arithmetic-taken-for-cast": [
        {"target": {"schema": "id INT, d DOUBLE", "files": [[[1, 1.0]]]}},
    ],
    "delta-spark-helper-columns": [
        {"sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"},
        {"other": ("`_row_id_`", "`_row_dropped_`")},
        {"other": ("`_row_id_`", "`id`")},
    ],
    "delta-spark-column-of-change-files": [
        {"target": {"schema": "id INT, `__is_cdc` INT", "files": [[[1, 5]]]}},
        {"sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"},
    ],
    "delta-spark-text-of-null-folder-not-null": [{"source": {"schema": "id INT, p STRING", "rows": [[2, "x"]]}}],
    "delta-rs-evolution-missing-column": [{"other": ("named v", "named w")}],
    "iceberg-store-assignment": [{"other": ('to "INT"', 'to "BIGINT"')}, {"other": ("`v`", "`w`")}],
    "iceberg-not-null-left-out": [{"other": ("for 'v'", "for 'w'")}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name, all_ in NEAR_MISSES.items() for i in range(len(all_))]
)
def test_an_error_without_its_cause_is_a_mismatch(name: str, number: int) -> None:
    """The trait of the case is there, the cause is not; or the error names something else."""
    (entry,) = KNOWN.named([name]).entries
    changes, engine = dict(NEAR_MISSES[name][number]), ANSWERS[name]
    if "other" in changes:
        old, new = changes.pop("other")
        assert isinstance(engine.answer, Rejection)
        assert old in engine.answer.message
        engine = replace(engine, answer=replace(engine.answer, message=engine.answer.message.replace(old, new)))
    case = case_from_json(json.loads(json.dumps(case_to_json(entry.case) | changes)), where=str(Path("near-miss")))
    reference = evaluate(case)
    assert not isinstance(reference.answer, Unsupported)
    assert not _explained(case, reference, engine, name)


def test_an_error_names_a_column_with_doubled_quotes() -> None:
    """The column is v"w; the error has it as SQL does."""
    name = "delta-rs-evolution-missing-column"
    (entry,) = KNOWN.named([name]).entries
    engine = ANSWERS[name]
    assert isinstance(engine.answer, Rejection)
    engine = replace(
        engine, answer=replace(engine.answer, message=engine.answer.message.replace("named v", 'named "v""w"'))
    )
    changes = {
        "target": {"schema": 'id BIGINT, `v"w` BIGINT', "files": [[[1, 7]]]},
        "sql": entry.case.sql.replace("(id, v)", '(id, `v"w`)'),
    }
    case = case_from_json(json.loads(json.dumps(case_to_json(entry.case) | changes)), where="quoted")
    assert _explained(case, evaluate(case), engine, name)
