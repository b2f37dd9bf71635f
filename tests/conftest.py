"""Settings of every test run: deterministic, so that a red run can be repeated."""

from __future__ import annotations

from hypothesis import settings

from mergecheck.harness.spark.packages import request_delta, request_s3a

# Timing belongs to benchmarks: a first call that loads a library would break any deadline.
settings.register_profile("mergecheck", deadline=None, derandomize=True, database=None)
settings.load_profile("mergecheck")

# One JVM runs all tests; whoever starts it first must start it with Delta Lake and S3A.
request_delta()
request_s3a()
