"""The class of an error of Spark, also where its exception in Python has none."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from mergecheck.harness.engines.spark_values.error_classes import error_class_of


class ConcurrentAppendException(PySparkException):
    """As ``delta.exceptions`` makes it: with a text, and without a condition."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] Files were added",
            "DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT",
        ),
        ("Files were added", "ConcurrentAppendException"),
        ("[note] Files were added", "ConcurrentAppendException"),
    ],
)
def test_a_text_begins_with_the_class_that_its_exception_lacks(text: str, expected: str) -> None:
    assert error_class_of(ConcurrentAppendException(text)) == expected
