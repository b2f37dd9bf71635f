"""Building the distributions, and installing a wheel into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, fails: bool = False) -> str:
    """Run a command without the variables that lead Python to other packages, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["PATH"] = f"{Path(find_uv_bin()).parent}{os.pathsep}{environment.get('PATH', '')}"
    done = subprocess.run(  # noqa: S603 - commands of this module
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert fails or done.returncode == 0, done.stdout
    return done.stdout


def uv(*arguments: str | Path, cwd: Path = ROOT) -> str:
    return run(find_uv_bin(), *arguments, cwd=cwd)


def wheel_in(folder: Path) -> Path:
    (found,) = folder.glob("*.whl")
    return found


def fresh_environment(wheel: Path, folder: Path, extra: str = "") -> Path:
    """Install the wheel, with the locked versions of its requirements, and return the environment's interpreter."""
    what = f"mergecheck[{extra}] @ {wheel.as_uri()}"
    locked = folder.with_suffix(".txt")
    options = ("--frozen", "--no-default-groups", "--no-emit-project", "--no-hashes")
    uv("export", "--quiet", *options, "--output-file", locked)
    uv("venv", "--quiet", "--python", sys.executable, folder)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    uv("pip", "install", "--quiet", "--compile-bytecode", "--python", python, "--constraint", locked, what)
    return python
