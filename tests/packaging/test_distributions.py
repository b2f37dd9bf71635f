"""What users install: wheel and sdist hold the package alone, and it works beside folders named like its rooms."""

from __future__ import annotations

import json
import os
import re
import shlex
import tarfile
import zipfile
from pathlib import Path

import pytest
from built import ROOT, run

pytestmark = pytest.mark.packaging

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
    installs = {one["name"]: one["install"] for one in doctor["engines"]}
    assert installs["duckdb"] == ""
    assert installs["postgres"] in ("", "mergecheck doctor --engine postgres --get")
    for name in ("comet", "delta-rs", "delta-spark", "iceberg", "pyspark", "sail"):
        assert f" @ {wheels[2].as_uri()}" in installs[name]
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


def test_the_command_of_the_message_installs_what_is_missing(python: Path, tmp_path: Path) -> None:
    """It is run as it is printed; last, since the environment has the extra afterwards."""
    command = python.with_name("mergecheck")
    said = run(command, "doctor", "--engine", "delta-rs", cwd=tmp_path, fails=True)
    (line,) = (line.strip() for line in said.splitlines() if " install " in line)
    run(*shlex.split(line), cwd=tmp_path)
    assert re.search(
        r"first case +delta-rs [\d.]+ merged it", run(command, "doctor", "--engine", "delta-rs", cwd=tmp_path)
    )


def first_verified(python: Path, project: Path) -> str:
    """Run two cases under pytest, with the first seed of whose cases DuckDB supports enough, and gets them right."""
    options = ("--mergecheck-fuzz", "2", "--mergecheck-engine", "duckdb", "--mergecheck-seed")
    for seed in range(MOST_SEEDS):
        said = run(python, "-m", "pytest", *options, str(seed), cwd=project, fails=True)
        if "1 passed in" in said:
            return said
    raise AssertionError(f"no seed under {MOST_SEEDS} passes:\n{said}")
