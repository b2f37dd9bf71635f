"""``mergecheck doctor``: check that this machine meets the requirements of a run."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.configuration.extras import install_command, is_installed
from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.engines.registry import diagnose_engine, engine_names
from mergecheck.harness.engines.spark.java_home import diagnose_java
from mergecheck.harness.findings.store import WORK_DIRECTORY
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.search.session import WARM_UP, open_engine
from mergecheck.harness.verdict import EngineDownError, ExitCode, UserInputError
from mergecheck.model.outcome import Outcome, Unsupported

PACKAGES = ("duckdb", "hypothesis", "sqlglot")
OPTIONAL_PACKAGES = {"pyspark": "spark", "delta-spark": "delta-spark", "deltalake": "delta-rs", "grpcio": "connect"}
"""By the name of a distribution: the extra that brings it."""


@click.command()
@click.option(
    "--engine",
    "engine_name",
    metavar="NAME",
    help="Check what this engine needs, such as delta-spark@3.3.2+spark3.5, and run a first case on it.",
)
@click.option("--get", "gets", is_flag=True, help="With --engine: fetch what is missing, then run the case.")
@json_option
def doctor(*, engine_name: str | None, gets: bool, as_json: bool) -> int:
    """Check Java, the packages and the work folder.

    A line begins with OK, with FIX if something must be repaired, or with - if an extra is not installed, which only
    some engines need.
    """
    if engine_name is None:
        if gets:
            raise UserInputError("--get fetches what an engine needs: name it with --engine")
        diagnoses = [_python(), *map(_package, PACKAGES), _engines(), _work_directory()]
        extras = [_extra(*item) for item in OPTIONAL_PACKAGES.items()]
        needs_java = is_installed("pyspark")
        (diagnoses if needs_java else extras).insert(0, diagnose_java())
    else:
        diagnoses, extras = _of_engine(engine_name, gets=gets), []
    lines = [(one, "FIX" if one.fix else "OK") for one in diagnoses]
    lines += [(one, "-" if one.fix else "OK") for one in extras]
    if as_json:
        checks = [{"name": d.name, "ok": not d.fix, "found": d.found, "fix": d.fix} for d in diagnoses]
        optional = [{"name": d.name, "ok": not d.fix, "found": d.found, "install": d.fix} for d in extras]
        emit_json({"ok": not any(d.fix for d in diagnoses), "checks": checks, "optional": optional})
    else:
        for diagnosis, mark in lines:
            show(f"{mark:<4} {diagnosis.name:<12} {diagnosis.found}")
            if diagnosis.fix:
                show(f"     {diagnosis.fix}")
    return ExitCode.ENGINE if any(d.fix for d in diagnoses) else ExitCode.AGREE


def _of_engine(name: str, *, gets: bool) -> list[Diagnosis]:
    """List an engine's requirements and, if nothing is missing or everything may be fetched, run a case on it."""
    needs = diagnose_engine(name)
    if any(need.fix for need in needs) and not gets:
        return [
            *needs,
            Diagnosis(name="first case", found="not run", fix=f"mergecheck doctor --engine {name} --get"),
        ]
    try:
        with open_engine(name) as engine:
            result = run_limited(engine, WARM_UP, DEFAULT_LIMIT)
            release = f"{engine.name} {engine.version}"
    except EngineDownError as error:
        return [*diagnose_engine(name), Diagnosis(name="first case", found="the engine does not run", fix=str(error))]
    if isinstance(result, Outcome):
        last = Diagnosis(name="first case", found=f"{release} merged it")
    else:
        said = result.reason if isinstance(result, Unsupported) else f"{result.error_class}: {result.message}"
        last = Diagnosis(name="first case", found=f"{release} refused it", fix=f"it says: {said}")
    return [*diagnose_engine(name), last]


def _python() -> Diagnosis:
    found = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return Diagnosis(name="python", found=f"{found} ({sys.executable})")


def _package(name: str) -> Diagnosis:
    try:
        return Diagnosis(name=name, found=version(name))
    except PackageNotFoundError:
        return Diagnosis(name=name, found="not installed", fix=f"install mergecheck again: {install_command()}")


def _extra(name: str, extra: str) -> Diagnosis:
    try:
        return Diagnosis(name=name, found=version(name))
    except PackageNotFoundError:
        return Diagnosis(name=name, found=f"not installed, for the extra {extra!r}", fix=install_command(extra))


def _engines() -> Diagnosis:
    names = engine_names()
    fix = "" if names else f"install mergecheck as a package, which registers its engines: {install_command()}"
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
