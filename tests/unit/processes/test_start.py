"""Limits of child processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mergecheck.harness.processes.start import limit_memory

resource = pytest.importorskip("resource")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
@pytest.mark.parametrize(
    ("of_user", "expected"),
    [
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (1 << 40, 1 << 40)),
        ((1 << 32, 1 << 33), (1 << 32, 1 << 33)),
        ((1 << 32, resource.RLIM_INFINITY), (1 << 32, 1 << 40)),
    ],
)
def test_a_lower_limit_of_the_user_stays(of_user: tuple[int, int], expected: tuple[int, int]) -> None:
    """A process without privileges may not raise its limit, and an engine starts under the user's."""
    with subprocess.Popen(["sleep", "60"]) as child:  # noqa: S607 - found on the path
        try:
            if of_user != resource.prlimit(child.pid, resource.RLIMIT_AS):
                resource.prlimit(child.pid, resource.RLIMIT_AS, of_user)
            limit_memory(child.pid, 1 << 40)
            assert resource.prlimit(child.pid, resource.RLIMIT_AS) == expected
        finally:
            child.kill()
