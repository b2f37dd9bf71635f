"""A working folder that a stranger has filled: nothing that lies there is imported, started or read as settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
NOWHERE = "http://127.0.0.1:9/planted/"
CASE = {
    "format_version": 1,
    "id": "harmless",
    "target": {"schema": "id INT, v STRING", "rows": [[1, "a"]]},
    "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [2, "y"]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
}
PLANTED = """import sys
with open({mark!r}, "a") as file:
    file.write(repr(sys.orig_argv) + chr(10))
raise ImportError("planted")
"""
SCRIPTS = ("bin/spark-submit", "bin/spark-class", "bin/find-spark-home", "bin/load-spark-env.sh")
PROGRAMS = ("mvn", "uv", "java", "git", "python", "python3", "postgres", "initdb")
SETTINGS = {
    "uv.toml": f'[[index]]\nurl = "{NOWHERE}"\ndefault = true\n',
    "pyproject.toml": f'[project]\nname = "x"\nversion = "1"\n[tool.uv]\nindex-url = "{NOWHERE}"\n',
    "pip.conf": f"[global]\nindex-url = {NOWHERE}\n",
    "setup.cfg": f"[easy_install]\nindex_url = {NOWHERE}\n",
    ".env": f"UV_INDEX_URL={NOWHERE}\nPIP_INDEX_URL={NOWHERE}\nMERGECHECK_SPARK_REMOTE=sc://127.0.0.1:9\n",
    ".python-version": "2.7\n",
    "pom.xml": "<planted>",
    "settings.xml": "<planted>",
    "ivysettings.xml": "<planted>",
    ".mvn/jvm.config": "--planted\n",
    ".mvn/maven.config": "--planted\n",
    ".mvn/extensions.xml": "<planted>",
    "conf/spark-defaults.conf": "spark.master spark://127.0.0.1:9\n",
    "spark-defaults.conf": "spark.master spark://127.0.0.1:9\n",
    ".duckdbrc": "INSTALL planted; LOAD planted;\n",
    "derby.properties": "derby.planted=true\n",
    "x.pth": "import planted\n",
    "planted-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: planted\nVersion: 1\n",
    "planted-1.dist-info/entry_points.txt": "[mergecheck.engines]\npyspark = pyspark:P\nplanted = pyspark:P\n",
    "pytest.ini": "[pytest]\naddopts = --planted\n",
}
XML = ("hive-site.xml", "core-site.xml", "hdfs-site.xml", "log4j2.xml", "conf/log4j2.xml")
# An engine of the user's own, whose functions Spark's workers run; the module beside it is found, too.
OWN_HELPER = """def noted(batches):
    for batch in batches:
        yield batch
"""
OWN_ENGINE = """from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from own_helper_of_theirs import noted


class Theirs(PySparkEngine):
    name = "theirs"

    def run(self, case):
        assert start_session().range(3).mapInArrow(noted, "id LONG").count() == 3
        return super().run(case)
"""


def _is_namespace(name: str) -> bool:
    """Return whether a name belongs to a namespace package, which any module of its name hides, wherever it lies."""
    found = find_spec(name)
    return found is not None and found.origin is None


class Plant:
    """A repository with a folder in it, both full of files that a stranger may leave there.

    Attributes:
        work: where commands run.
    """

    def __init__(self, root: Path) -> None:
        self.marks = root / "marks"
        self.marks.mkdir()
        self.work = root / "repository" / "folder"
        self.cache = root / "cache"
        self.case = root / "case.json"
        self.case.write_text(json.dumps(CASE))
        for folder in (self.work, self.work.parent):
            self._plant(folder)
        installed = {name.split(".")[0] for name in packages_distributions()}
        for name in {*sys.stdlib_module_names, *installed, "sitecustomize", "usercustomize", "conftest", "mergecheck"}:
            if name.isidentifier() and not _is_namespace(name):
                (self.work / f"{name}.py").write_text(PLANTED.format(mark=str(self.marks / name)))
        (self.work / "own_engine_of_theirs.py").write_text(OWN_ENGINE)
        (self.work / "own_helper_of_theirs.py").write_text(OWN_HELPER)

    def _plant(self, folder: Path) -> None:
        (folder / "jars").mkdir(parents=True)
        xml = f"<configuration><property><name>x</name><value>{self.marks}</value></property></configuration>"
        for name, text in {**SETTINGS, **dict.fromkeys(XML, xml)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        for name in (*SCRIPTS, *PROGRAMS):
            script = folder / name
            script.parent.mkdir(exist_ok=True)
            script.write_text(f"#!/bin/sh\necho {name} >> {self.marks}/{script.name}\nexit 1\n")
            script.chmod(0o755)

    def run(self, *arguments: str, command: tuple[str, ...] = (MERGECHECK,), code: int = 0) -> str:
        """Run a command there; whatever its end, nothing planted was executed."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        ended = subprocess.run(  # noqa: S603 - our own command
            [*command, *arguments],
            cwd=self.work,
            env=environment | {"MERGECHECK_CACHE": str(self.cache)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        marks = {path.name: path.read_text() for path in self.marks.iterdir()}
        for name in marks:
            (self.marks / name).unlink()
        assert marks == {}, (arguments, marks, ended.stderr[-2_000:])
        assert ended.returncode == code, (arguments, ended.stdout[-2_000:], ended.stderr[-2_000:])
        assert NOWHERE not in ended.stdout + ended.stderr
        return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Plant:
    return Plant(tmp_path_factory.mktemp("plant"))


def test_the_plant_is_seen(plant: Plant) -> None:
    """A Python that does import from the folder leaves its mark: the other tests would notice."""
    with pytest.raises(AssertionError, match="multiprocessing"):
        plant.run("-c", "import multiprocessing", command=(sys.executable,))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--engine", "duckdb", "{case}"),
        ("run", "--engine", "delta-rs", "{case}"),
        ("fuzz", "--engine", "duckdb", "--jobs", "2", "--max-cases", "4", "--seed", "1", "--floor", "0"),
        ("lab", "concurrency", "--engine", "delta-rs", "--steps", "2", "--seed", "1"),
        ("explain", "{case}"),
        ("cases", "export", "{case}", "--format", "duckdb"),
        ("engine", "new", "mine", "--directory", "mine"),
        ("doctor",),
        ("config", "show"),
    ],
    ids=lambda arguments: "-".join(arguments[:3]),
)
def test_commands_without_spark(plant: Plant, arguments: tuple[str, ...]) -> None:
    plant.run(*(argument.format(case=plant.case) for argument in arguments))


def test_python_m_forgets_the_folder(plant: Plant) -> None:
    """Python itself imports from there before mergecheck runs, so the package is called from its own environment."""
    (plant.work / "mergecheck.py").rename(plant.work / "mergecheck.txt")
    plant.run("-m", "mergecheck", "run", "--engine", "duckdb", str(plant.case), command=(sys.executable, "-P"))
    (plant.work / "mergecheck.txt").rename(plant.work / "mergecheck.py")


@pytest.mark.spark
def test_an_engine_of_the_folder_runs_in_jobs_and_in_sparks_workers(plant: Plant) -> None:
    """The user names it on the command line; jobs, workers and modules beside it find it, and nothing is shadowed."""
    options = ("--jobs", "2", "--max-cases", "2", "--seed", "1", "--floor", "0", "--max-time", "240")
    output = plant.run("fuzz", "--engine", "own_engine_of_theirs:Theirs", *options)
    assert "engine down 0" in output


@pytest.mark.spark
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--engine", "pyspark", "{case}"),
        (
            "lab",
            "scale",
            "--rows",
            "10",
            "--shape",
            "upsert",
            "--seed",
            "1",
            "--driver-memory",
            "1g",
            "--memory-limit",
            "1GB",
        ),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_on_spark(plant: Plant, arguments: tuple[str, ...]) -> None:
    plant.run(*(argument.format(case=plant.case) for argument in arguments))


@pytest.mark.packaging
@pytest.mark.parametrize("engine", ["duckdb@1.4.0", "delta-rs@1.2.0"])
def test_a_release_is_installed_from_the_users_index(plant: Plant, engine: str) -> None:
    """Neither uv nor pip takes settings from the folder."""
    plant.run("run", "--engine", engine, str(plant.case))
