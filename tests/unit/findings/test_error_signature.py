"""The part of an error in a fingerprint: its class, or the words that stay when the case is another."""

from __future__ import annotations

import pytest

from mergecheck.harness.findings.error_signature import MAX_LENGTH, error_text, message_skeleton
from mergecheck.model.outcome import Rejection


def text(error_class: str, message: str = "") -> str:
    return error_text(Rejection(error_class=error_class, message=message))


def test_a_class_of_its_own_says_all() -> None:
    assert text("DELTA_MERGE_UNRESOLVED_EXPRESSION", "Cannot resolve x") == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No field named target.a. Valid fields are b, c.", "No field named s.other. Valid fields are x."),
        ("Cannot cast Int64 to value of Utf8 type", "Cannot cast Decimal128(10, 2) to value of LargeUtf8 type"),
        ('column "a" is bad', 'column "it""s" is bad'),
        ("Failed to open /tmp/x/part-1.parquet now", "Failed to open /var/y/part-2.parquet now"),
    ],
)
def test_names_numbers_types_and_paths_tell_nothing(one: str, other: str) -> None:
    assert message_skeleton(one) == message_skeleton(other) != ""


def test_other_words_are_another_error() -> None:
    assert text("DeltaError: x", "No field named a") != text("DeltaError: x", "Invalid comparison operation: a")
    assert text("INTERNAL_ERROR", "no such index") != text("INTERNAL_ERROR", "no such column")


def test_a_long_message_keeps_its_end() -> None:
    """Engines chain the errors of their layers; the cause stands last."""
    chained = " ".join(["wrapped by"] * 60) + " the cause"
    skeleton = message_skeleton(chained)
    assert len(skeleton) <= MAX_LENGTH
    assert skeleton.endswith("the cause")


def test_a_message_of_nothing_but_names_leaves_the_class() -> None:
    assert text("ValueError: 'x'", "'x'") == "ValueError: 'x'"
