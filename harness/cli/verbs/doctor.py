"""``mergecheck doctor``: check that this machine meets the requirements of a run."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click
from packaging.requirements import Requirement

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.configuration.extras import install_command, is_installed, requirements
from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.engines.registry import diagnose_engine, extra_of, known_engines
from mergecheck.harness.engines.spark.java_home import diagnose_java
from mergecheck.harness.findings.store import WORK_DIRECTORY
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.search.session import WARM_UP, open_engine
from mergecheck.harness.verdict import EngineDownError, ExitCode, MissingExtraError, UserInputError
from mergecheck.model.outcome import Outcome, Unsupported

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PACKAGES = ("duckdb", "hypothesis", "sqlglot")
OPTIONAL_PACKAGES = {"pyspark": "spark", "delta-spark": "delta-spark", "deltalake": "delta-rs", "grpcio": "connect"}
"""By the name of a distribution: the extra that brings it."""
_IMPORTED_AS = {"delta-spark": "delta", "grpcio": "grpc"}


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
    """Check Java, the packages, each engine and the work folder.

    Packages are imported, and their versions compared with those that this release was made for. A line begins with
    OK, with FIX if something must be repaired, or with - if something is missing that only some engines need; the next
    line is the command that brings it.
    """
    if engine_name is None:
        if gets:
            raise UserInputError("--get fetches what an engine needs: name it with --engine")
        engines = [_engine(entry) for entry in known_engines()]
        diagnoses = [_python(), *map(_package, PACKAGES), _usable(engines), _work_directory()]
        extras = [_package(*item) for item in OPTIONAL_PACKAGES.items()]
        needs_java = is_installed("pyspark")
        (diagnoses if needs_java else extras).insert(0, diagnose_java())
    else:
        diagnoses, extras, engines = _of_engine(engine_name, gets=gets), [], []
    lines = [(one, "FIX" if one.fix else "OK") for one in diagnoses]
    lines += [(one, "-" if one.fix else "OK") for one in extras]
    lines += [(replace(one, name=f"engine {one.name}"), "-" if one.fix else "OK") for one in engines]
    if as_json:
        checks = [{"name": d.name, "ok": not d.fix, "found": d.found, "fix": d.fix} for d in diagnoses]
        optional = [{"name": d.name, "ok": not d.fix, "found": d.found, "install": d.fix} for d in extras]
        usable = [{"name": d.name, "ok": not d.fix, "found": d.found, "install": d.fix} for d in engines]
        emit_json({"ok": not any(d.fix for d in diagnoses), "checks": checks, "optional": optional, "engines": usable})
    else:
        for diagnosis, mark in lines:
            show(f"{mark:<4} {diagnosis.name:<18} {diagnosis.found}")
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
    for need in needs if gets else ():
        try:
            if need.get is not None:
                need.get()
        except EngineDownError as error:
            return [one if one is not need else replace(one, fix=str(error)) for one in needs]
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


def _package(name: str, extra: str = "") -> Diagnosis:
    """Import a package, and compare its version with the range that mergecheck, or the extra, asks for."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return Diagnosis(
            name=name,
            found=f"not installed, for the extra {extra!r}" if extra else "not installed",
            fix=install_command(extra),
        )
    try:
        importlib.import_module(_IMPORTED_AS.get(name, name))
    except Exception as error:  # noqa: BLE001 - a broken package raises whatever it likes
        return Diagnosis(name=name, found=f"{found} cannot be imported: {error}", fix=install_command(extra))
    wanted = next((each for each in map(Requirement, requirements(extra)) if each.name == name), None)
    if wanted is not None and not wanted.specifier.contains(found, prereleases=True):
        untried = f"{found} was not tried with this release, which is for {wanted.specifier}"
        return Diagnosis(name=name, found=untried, fix=install_command(extra))
    return Diagnosis(name=name, found=found)


def _engine(entry: EntryPoint) -> Diagnosis:
    """Load an engine's class and ask for what it needs; the first thing that is missing is shown."""
    try:
        missing = next((need for need in diagnose_engine(entry.name) if need.fix), None)
    except MissingExtraError:
        extra = extra_of(entry) or ""
        return Diagnosis(name=entry.name, found=f"needs the extra {extra!r}", fix=install_command(extra))
    except UserInputError as error:
        return Diagnosis(name=entry.name, found="cannot be loaded", fix=str(error))
    if missing is None:
        return Diagnosis(name=entry.name, found="can be used")
    fix = f"mergecheck doctor --engine {entry.name} --get" if missing.fix.startswith("--get") else missing.fix
    return Diagnosis(name=entry.name, found=f"needs more, {missing.name}: {missing.found}", fix=fix)


def _usable(engines: list[Diagnosis]) -> Diagnosis:
    if not engines:
        fix = f"install mergecheck as a package, which registers its engines: {install_command()}"
        return Diagnosis(name="engines", found="none registered", fix=fix)
    names = [engine.name for engine in engines if not engine.fix]
    return Diagnosis(name="engines", found=f"{len(names)} of {len(engines)} can be used: {', '.join(names) or 'none'}")


def _work_directory() -> Diagnosis:
    folder = WORK_DIRECTORY if WORK_DIRECTORY.is_dir() else Path()
    if os.access(folder, os.W_OK):
        return Diagnosis(name="work folder", found=f"{WORK_DIRECTORY}, writable")
    return Diagnosis(
        name="work folder",
        found=f"{WORK_DIRECTORY} cannot be written",
        fix=f"run mergecheck in a folder that you may write, or make {folder.resolve()} writable",
    )
