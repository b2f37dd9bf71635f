"""Settings of every test run: deterministic, so that a red run can be repeated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from mergecheck.harness.engines.spark.packages import request_delta, request_s3a

if TYPE_CHECKING:
    from collections.abc import Iterator

# A process starts Spark once, and Spark is fast after its first hundreds of merges: the tests that use it in their own
# process stay together, as do those of Delta Lake and those of one module. The longest groups come first.
_GROUPS = ("delta-spark", "spark")
_DELTA_LAKE = frozenset(
    f"engines/test_{name}.py"
    for name in (
        *("concurrency", "conformance", "delta_spark_defects", "delta_spark_engine", "everyday_properties"),
        *("exported_tests", "issues_of_work", "sequences_delta_lake"),
    )
)
_SPARK = frozenset({"engines", "meta", "regress", "spec"})
_OTHER_PROCESSES = frozenset(
    f"test_{name}.py" for name in ("cluster", "connect", "exported_script", "own_merge_on_spark", "store_root")
)

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests for ``--dist loadgroup``, and put the long groups first."""
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _GROUPS.index(groups[item]) if groups[item] in _GROUPS else len(_GROUPS))


def _group(item: pytest.Item) -> str:
    module = item.path.relative_to(Path(__file__).parent)
    if module.as_posix() in _DELTA_LAKE:
        return "delta-spark"
    uses_spark = item.get_closest_marker("spark") is not None and module.name not in _OTHER_PROCESSES
    if uses_spark and module.parts[0] in _SPARK:
        return "spark"
    return "drawn" if "default_stream" in getattr(item, "fixturenames", ()) else module.as_posix()
