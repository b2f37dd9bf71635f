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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of Delta Lake first, and then those of Spark.

    Spark starts once in a process, and is fast after its first hundreds of merges. A process that has no tests left
    takes the last ones of another, so that in this order they stay in few processes as long as possible.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if hasattr(getattr(item, "module", None), "DeltaSparkEngine"):
        return 0
    return 1 if item.get_closest_marker("spark") is not None else 2
