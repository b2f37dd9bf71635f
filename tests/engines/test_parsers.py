"""The readings of MERGE against Spark's own parser, on texts that nobody here wrote."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from mergecheck.harness.engines.spark.session import start_session
from tools.benchmarks.parsers.differential import PARSERS, compare
from tools.benchmarks.parsers.texts import texts

pytestmark = pytest.mark.spark
NUM_TEXTS = 400


def test_both_parsers_read_what_spark_reads() -> None:
    """The long form: ``python -m tools.benchmarks.parsers.differential --texts 20000``."""
    found = compare(islice(texts(Random(27)), NUM_TEXTS), start_session())
    assert found.differences == []
    assert found.num_accepted > NUM_TEXTS // 3, "most texts are statements"
    assert all(found.unsupported[parser] <= NUM_TEXTS // 50 for parser in PARSERS)
