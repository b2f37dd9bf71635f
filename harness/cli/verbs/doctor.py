"""``mergecheck doctor``: check that this machine has what a run needs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.engines import engine_names
from mergecheck.harness.errors import ExitCode
from mergecheck.harness.findings.store import WORK_DIRECTORY
from mergecheck.harness.spark.java_home import MINIMUM_JAVA, java_command, java_version

PACKAGES = ("pyspark", "deltalake", "duckdb", "hypothesis", "pyarrow", "sqlglot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One requirement of a run; ``fix`` is empty if it is met."""

    name: str
    found: str
    fix: str = ""


@click.command()
@json_option
def doctor(*, as_json: bool) -> int:
    """Check Java, the packages and the work folder. Each line says OK, or how to fix the problem."""
    diagnoses = [_java(), _python(), *map(_package, PACKAGES), _engines(), _work_directory()]
    if as_json:
        checks = [{"name": d.name, "ok": not d.fix, "found": d.found, "fix": d.fix} for d in diagnoses]
        emit_json({"ok": not any(d.fix for d in diagnoses), "checks": checks})
    else:
        for diagnosis in diagnoses:
            show(f"{'FIX' if diagnosis.fix else 'OK':<4} {diagnosis.name:<12} {diagnosis.found}")
            if diagnosis.fix:
                show(f"     {diagnosis.fix}")
    return ExitCode.ENGINE if any(d.fix for d in diagnoses) else ExitCode.AGREE


def _java() -> Diagnosis:
    fix = (
        f"install Java {MINIMUM_JAVA} or later (e.g. 'apt-get install openjdk-17-jre-headless') or set JAVA_HOME to it"
    )
    command = java_command()
    if command is None:
        return Diagnosis(name="java", found="not found", fix=fix)
    found = java_version(command)
    if found is None:
        return Diagnosis(name="java", found=f"{command} does not run, or prints no version", fix=fix)
    return Diagnosis(name="java", found=f"{found} ({command})", fix="" if found >= MINIMUM_JAVA else fix)


def _python() -> Diagnosis:
    found = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return Diagnosis(name="python", found=f"{found} ({sys.executable})")


def _package(name: str) -> Diagnosis:
    try:
        return Diagnosis(name=name, found=version(name))
    except PackageNotFoundError:
        return Diagnosis(
            name=name, found="not installed", fix="install mergecheck with its dependencies: pip install mergecheck"
        )


def _engines() -> Diagnosis:
    names = engine_names()
    fix = "" if names else "install mergecheck as a package, which registers its engines: pip install mergecheck"
    return Diagnosis(name="engines", found=", ".join(names) or "none registered", fix=fix)


def _work_directory() -> Diagnosis:
    folder = WORK_DIRECTORY if WORK_DIRECTORY.is_dir() else Path()
    if os.access(folder, os.W_OK):
        return Diagnosis(name="work folder", found=f"{WORK_DIRECTORY}, writable")
    return Diagnosis(
        name="work folder",
        found=f"{WORK_DIRECTORY} cannot be written",
        fix=f"run mergecheck in a folder that you may write, or make {folder.resolve()} writable",
    )
