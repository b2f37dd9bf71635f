"""An answer keeps its facts about a Delta table when its values become plain."""

from __future__ import annotations

from dataclasses import replace

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.oracles.plain_answer import plain_answer
from mergecheck.model.outcome import Rejection, Unsupported
from tools.output_mutations.answers import load_answers


def test_the_log_and_the_files_of_a_table_stay() -> None:
    """Without them no invariant of the log would be held against any engine."""
    recorded = [engine.answer for engine in load_answers().values() if isinstance(engine.answer, TableOutcome)]
    assert any(answer.record is not None for answer in recorded)
    for answer in recorded:
        faulty = replace(answer, file_faults=("a fault",))
        assert plain_answer(faulty) == faulty
        assert type(plain_answer(faulty)) is TableOutcome


def test_texts_of_any_length_are_cut() -> None:
    """A report repeats them, and breaks them into lines."""
    long = "x" * 20_000_000
    refused = plain_answer(Rejection(error_class=long, message=long))
    assert isinstance(refused, Rejection)
    assert refused.error_class == f"{'x' * 1_000}... (20,000,000 characters)"
    assert refused.message == f"{'x' * 100_000}... (20,000,000 characters)"
    assert plain_answer(Unsupported(long)) == Unsupported(refused.error_class)
