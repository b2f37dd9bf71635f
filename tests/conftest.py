"""Settings of every test run: deterministic, so that a red run can be repeated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from mergecheck.harness.engines.spark.packages import request_delta, request_s3a

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS = frozenset({"harness", "merge", "model", "reference", "strategies"})

# Timing belongs to benchmarks: a first call that loads a library would break any deadline.
settings.register_profile("mergecheck", deadline=None, derandomize=True, database=None)
settings.load_profile("mergecheck")

# One JVM runs all tests; whoever starts it first must start it with Delta Lake and S3A.
request_delta()
request_s3a()


@pytest.fixture(scope="session", autouse=True)
def one_copy_of_each_module() -> Iterator[None]:
    """Fail the session if a room was imported under its bare name, which makes second copies of its modules."""
    yield
    assert sorted(name for name in sys.modules if name.partition(".")[0] in ROOMS) == []
