"""What users install: wheel and sdist hold the package alone, and it works beside folders named like its rooms."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
ROOMS = ("harness", "merge", "model", "reference", "strategies")
DATA = (
    "harness/lab/conformance/suite.jsonl",
    "harness/lab/conformance/templates/engine.py.txt",
    "harness/deviations/cases/duckdb-eager-values.json",
    "harness/deviations/deviations.toml",
    "harness/cli/html/templates/page.html.j2",
    "harness/cli/html/templates/style.css",
    "py.typed",
)
BROKEN = "raise ImportError('this package is the user\\'s own; mergecheck must not import it')\n"
MOST_SEEDS = 10
MOST_BYTES = 250_000_000  # the largest of it are sqlglot's C code and DuckDB
CASE = {
    "format_version": 1,
    "id": "one",
    "target": {"schema": "k INT, v STRING", "rows": [[1, "a"]]},
    "source": {"schema": "k INT, v STRING", "rows": [[1, "b"], [2, "c"]]},
    "sql": "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
}


def run(*command: str | Path, cwd: Path, fails: bool = False) -> str:
    """Run a command without the variables that lead Python to other packages, and return what it prints."""
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


def files_of(wheel: Path) -> set[str]:
    """List a wheel's files apart from its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def sources() -> set[str]:
    """List the files of the package as they are in the repository; a room is a link to a folder at the top."""
    package = ROOT / "src" / "mergecheck"
    return {
        (Path("mergecheck") / Path(folder).relative_to(package) / name).as_posix()
        for folder, _, names in os.walk(package, followlinks=True)
        if "__pycache__" not in folder
        for name in names
    }


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The wheel built from the repository, the sdist, and the wheel built from the sdist."""
    direct, by_sdist = tmp_path_factory.mktemp("direct"), tmp_path_factory.mktemp("by-sdist")
    uv("build", "--quiet", "--wheel", "--out-dir", direct)
    uv("build", "--quiet", "--out-dir", by_sdist)
    (sdist,) = by_sdist.glob("*.tar.gz")
    return wheel_in(direct), sdist, wheel_in(by_sdist)


def test_both_wheels_hold_the_package_and_nothing_else(wheels: tuple[Path, Path, Path]) -> None:
    direct, _, by_sdist = wheels
    assert files_of(direct) == files_of(by_sdist) == sources()
    assert {f"mergecheck/{name}" for name in DATA} <= files_of(direct)


def test_the_sdist_holds_what_the_repository_tracks(wheels: tuple[Path, Path, Path]) -> None:
    """The rooms are under ``src/mergecheck``; nothing is there twice, and no cache."""
    with tarfile.open(wheels[1]) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    wanted = {
        f"src/mergecheck/{name}" if name.partition("/")[0] in ROOMS else name
        for name in tracked
        if (ROOT / name).is_file()
    }
    assert names == wanted | {"PKG-INFO"}


@pytest.fixture(scope="module")
def python(wheels: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment into which the wheel is installed."""
    return fresh_environment(wheels[2], tmp_path_factory.mktemp("installed") / "environment")


def test_it_works_beside_packages_of_the_same_names(python: Path, tmp_path: Path) -> None:
    """A project whose own folders are called like the rooms: neither command imports any of them."""
    project = tmp_path / "project"
    for name in (*ROOMS, "tests"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(BROKEN)
    command = python.with_name("mergecheck")
    said = run(command, "fuzz", "--engine", "duckdb", "--max-cases", "5", "--seed", "1", "--floor", "0", cwd=project)
    assert re.search(r"^5 cases in \d+ s", said, re.MULTILINE)
    assert first_verified(python, project).splitlines()[-1].strip("= ").startswith("1 passed in")


def test_the_wheel_alone_brings_no_spark(python: Path, wheels: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Everything about DuckDB works; what needs more is named, with the command that installs it from this wheel.

    No Arrow either.
    """
    (tmp_path / "one.json").write_text(json.dumps(CASE), encoding="utf-8")
    command = python.with_name("mergecheck")
    assert "Check an engine" in run(command, "--help", cwd=tmp_path)
    assert "verdict" in run(command, "run", "one.json", "--engine", "duckdb", "--json", cwd=tmp_path)
    doctor = json.loads(run(command, "doctor", "--json", cwd=tmp_path))
    assert doctor["ok"]
    assert [one["name"] for one in doctor["optional"] if one["ok"] and one["name"] != "java"] == []
    said = run(command, "engine", "list", cwd=tmp_path)
    listed = json.loads(run(command, "engine", "list", "--json", cwd=tmp_path))
    missing = {one["name"]: one["missing_extra"] for one in listed["engines"]}
    of_extras = {name: name for name in ("comet", "delta-rs", "delta-spark", "iceberg", "sail")}
    assert missing == {"pyspark": "spark", **of_extras, "duckdb": None, "postgres": None}
    assert said.count(f" @ {wheels[2].as_uri()}") == len(of_extras) + 1
    for arguments, extra in (
        (("run", "one.json"), "spark"),
        (("run", "one.json", "--engine", "duckdb", "--expressions", "spark"), "spark"),
        (("run", "one.json", "--engine", "delta-spark"), "delta-spark"),
        (("fuzz", "--engine", "sail"), "sail"),
        (("lab", "matrix", "--engine", "duckdb", "--engine", "comet"), "comet"),
        (("lab", "sequences"), "delta-rs"),
    ):
        said = run(command, *arguments, cwd=tmp_path, fails=True)
        assert f"mergecheck[{extra}] @ {wheels[2].as_uri()}" in said
        assert "Traceback" not in said
    assert "ModuleNotFoundError" in run(python, "-c", "import pyarrow", cwd=tmp_path, fails=True)
    installed = sum(file.stat().st_size for file in python.parents[1].rglob("*") if file.is_file())
    assert installed < MOST_BYTES


def test_the_template_of_an_engine_passes_its_own_tests(python: Path, tmp_path: Path) -> None:
    """As it was written, with nothing but the wheel installed."""
    run(python.with_name("mergecheck"), "engine", "new", "my-merge", cwd=tmp_path)
    said = run(python, "-m", "pytest", cwd=tmp_path / "my-merge")
    assert re.search(r"^=+ 2 passed in", said, re.MULTILINE)


def test_the_command_of_the_message_installs_what_is_missing(python: Path, tmp_path: Path) -> None:
    """It is run as it is printed; last, since the environment has the extra afterwards."""
    command = python.with_name("mergecheck")
    said = run(command, "doctor", "--engine", "delta-rs", cwd=tmp_path, fails=True)
    (line,) = (line.strip() for line in said.splitlines() if " install " in line)
    run(*shlex.split(line), cwd=tmp_path)
    assert re.search(
        r"first case +delta-rs [\d.]+ merged it", run(command, "doctor", "--engine", "delta-rs", cwd=tmp_path)
    )


def fresh_environment(wheel: Path, folder: Path) -> Path:
    """Install the wheel, with the locked versions of what it needs, and return the environment's interpreter."""
    locked = folder.with_suffix(".txt")
    options = ("--frozen", "--no-default-groups", "--no-emit-project", "--no-hashes")
    uv("export", "--quiet", *options, "--output-file", locked)
    uv("venv", "--quiet", "--python", sys.executable, folder)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    uv("pip", "install", "--quiet", "--python", python, "--constraint", locked, wheel)
    return python


def first_verified(python: Path, project: Path) -> str:
    """Run two cases under pytest, with the first seed of whose cases DuckDB supports enough, and gets them right."""
    options = ("--mergecheck-fuzz", "2", "--mergecheck-engine", "duckdb", "--mergecheck-seed")
    for seed in range(MOST_SEEDS):
        said = run(python, "-m", "pytest", *options, str(seed), cwd=project, fails=True)
        if "1 passed in" in said:
            return said
    raise AssertionError(f"no seed under {MOST_SEEDS} passes:\n{said}")
