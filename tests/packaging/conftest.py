"""The distributions are built once, and the wheel is installed once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder
sys.path.append(str(Path(__file__).parents[1] / "cli"))  # docs_shell

from built import fresh_environment, uv, wheel_in


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The wheel built from the repository, the sdist, and the wheel built from the sdist."""
    direct, by_sdist = tmp_path_factory.mktemp("direct"), tmp_path_factory.mktemp("by-sdist")
    uv("build", "--quiet", "--wheel", "--out-dir", direct)
    uv("build", "--quiet", "--out-dir", by_sdist)
    (sdist,) = by_sdist.glob("*.tar.gz")
    return wheel_in(direct), sdist, wheel_in(by_sdist)


@pytest.fixture(scope="session")
def python(wheels: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment into which the wheel is installed."""
    return fresh_environment(wheels[2], tmp_path_factory.mktemp("installed") / "environment")
