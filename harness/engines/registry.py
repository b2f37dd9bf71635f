"""Engines by name: engines of installed packages, and any class given as ``package.module:Class``."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.extras import extras, missing_extra
from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.engine import Capabilities, Diagnosis, Engine, wrong_capability
from mergecheck.harness.processes.engine_folder import search_engine_folder
from mergecheck.harness.verdict import EngineDownError, MergecheckError, MissingExtraError, UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable


GROUP = "mergecheck.engines"
DEFAULT_ENGINE = "pyspark"
LONGEST_NAME = 200
_MEMBERS = ("name", "version", "capabilities", "run", "close")


def known_engines() -> tuple[EntryPoint, ...]:
    """Return the engines of installed packages, one for each name, by name."""
    return tuple({entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name)}.values())


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines that installed packages bring along."""
    return tuple(entry.name for entry in known_engines())


def engine_name(engine: Engine) -> str:
    """Return the name that starts an engine: its registered one, or ``package.module:Class``."""
    path = f"{type(engine).__module__}:{type(engine).__qualname__}"
    return next((entry.name for entry in entry_points(group=GROUP) if entry.value == path), path)


def extra_of(entry: EntryPoint) -> str | None:
    """Return the extra of this package that an engine needs; None for one that needs none, or is of another package."""
    if entry.module.partition(".")[0] != __name__.partition(".")[0]:
        return None
    wanted = "spark" if entry.name == DEFAULT_ENGINE else entry.name
    return wanted if wanted in extras() else None


def engines_with(member: str) -> tuple[str, ...]:
    """Return the names of those whose class has a member that not every engine has."""
    return tuple(sorted(entry.name for entry in entry_points(group=GROUP) if _has(entry, member)))


def engine_has(name: str, member: str) -> bool:
    """Return whether an engine's class has a member that not every engine has; nothing is started.

    Args:
        name: as ``load_engine`` takes it.
        member: its name.

    Raises:
        UserInputError: if the name is no engine's.
        MissingExtraError: if it needs packages that are not installed.
    """
    return hasattr(_class_named(name.partition("@")[0]), member)


def load_engine(name: str) -> Engine:
    """Start an engine by its registered name, or as ``package.module:Class`` or ``file.py:Class``.

    Args:
        name: such as ``duckdb``; ``@VERSION`` after it picks a release, as in ``delta-rs@0.25.5``. Who starts it calls
            ``close``.

    Raises:
        UserInputError: if the name is no engine's, or the class is none.
        MissingExtraError: if it needs packages that are not installed; the message has the command.
        EngineDownError: if the engine itself does not start.
    """
    plain, at, version = name.partition("@")
    make = _class_named(plain)
    if at:
        make = _at_version(make, plain, version)
    if not callable(make):
        raise UserInputError(
            f"engine {name!r} is a {type(make).__name__}; give a class or a function without arguments"
        )
    engine = make()
    missing = [member for member in _MEMBERS if not hasattr(engine, member)]
    if missing or not isinstance(engine, Engine):
        raise UserInputError(
            f"engine {name!r} is no engine: {type(engine).__name__} lacks {', '.join(missing)}. "
            "An engine has the members of mergecheck.harness.engine.Engine."
        )
    for member, kind in (("name", str), ("version", str), ("capabilities", Capabilities)):
        value = getattr(engine, member)
        if type(value) is not kind:
            given = f"its {member} is of type {type(value).__qualname__}, and must be of {kind.__name__}"
            raise EngineDownError(f"engine {name!r} cannot be used: {given}")
    if not engine.name.strip():
        raise EngineDownError(f"engine {name!r} cannot be used: its name is empty")
    if not (engine.name + engine.version).isprintable():
        raise EngineDownError(f"engine {name!r} cannot be used: its name or version has control characters")
    if len(engine.name + engine.version) > LONGEST_NAME:
        raise EngineDownError(
            f"engine {name!r} cannot be used: its name and version have more than {LONGEST_NAME} characters"
        )
    if (wrong := wrong_capability(engine.capabilities)) is not None:
        raise EngineDownError(f"engine {name!r} cannot be used: capabilities.{wrong}")
    _keep_own_name(engine, name)
    return engine


def _keep_own_name(engine: Engine, given: str) -> None:
    """Name an engine as the user gave it, if it has a registered engine's name without being that engine.

    A subclass or a wrapper takes over its original's name, and with it known deviations that may not be its
    own; ``Capabilities.deviations_of`` declares them.

    Raises:
        UserInputError: the name cannot be changed.
    """
    owners = [entry for entry in entry_points(group=GROUP) if entry.name == engine.name]
    if not owners or type(engine).__module__.partition(".")[0] in {entry.module.partition(".")[0] for entry in owners}:
        return
    try:
        engine.name = given
    except AttributeError as error:
        raise UserInputError(
            f"engine {given!r} calls itself {engine.name!r}, which is the name of a registered engine. "
            "Give it another; Capabilities.deviations_of declares a release whose known deviations it has"
        ) from error


def diagnose_engine(name: str) -> tuple[Diagnosis, ...]:
    """List an engine's requirements on this machine; empty unless its class is a ``DiagnosingEngine``.

    Raises:
        UserInputError: if the name is no engine's, or no release of it.
    """
    plain, _, version = name.partition("@")
    tell = getattr(_class_named(plain), "diagnose", None)
    found: tuple[Diagnosis, ...] = tell(version or None) if callable(tell) else ()
    return found


def _class_named(name: str) -> Callable[[], object]:
    return _from_path(name) if ":" in name else _from_entry_point(name)


def _at_version(make: object, name: str, version: str) -> Callable[[], object]:
    """Ask an engine's class for another release than the installed one.

    Raises:
        UserInputError: if the engine runs one release only, or no version is given.
    """
    choose = getattr(make, "at_version", None)
    if not version:
        raise UserInputError(f"no version after {name}@: give a released one, such as {name}@1.2.3, or leave @ out")
    if not callable(choose):
        able = ", ".join(engines_with("at_version")) or "none"
        raise UserInputError(f"engine {name!r} runs the installed version only; others run: {able}")
    return lambda: choose(version)


def _has(entry: EntryPoint, member: str) -> bool:
    try:
        return hasattr(entry.load(), member)
    except (ImportError, AttributeError):
        return False


def _from_entry_point(name: str) -> Callable[[], object]:
    found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not found:
        names = engine_names()
        told = f"unknown engine {name!r}. {did_you_mean(name, names)}".rstrip()
        raise UserInputError(
            f"{told} Installed: {', '.join(names) or 'none'}. Any other class can be given as package.module:Class."
        )
    return _load(found[0], name)


def _from_path(name: str) -> Callable[[], object]:
    search_engine_folder()
    module, _, attribute = name.partition(":")
    if module.endswith(".py"):
        file = Path(module)
        if not file.is_file():
            raise UserInputError(f"engine {name!r}: there is no file {module}")
        if (folder := str(file.resolve().parent)) not in sys.path:
            sys.path.insert(0, folder)
        module = file.stem
    importlib.invalidate_caches()
    return _load(EntryPoint(name=name, value=f"{module}:{attribute}", group=GROUP), name)


def _load(entry: EntryPoint, name: str) -> Callable[[], object]:
    try:
        loaded: Callable[[], object] = entry.load()
    except MergecheckError:
        raise
    except Exception as error:
        missing = missing_extra(error, f"engine {name!r}", extra=name if name in extras() else None)
        if missing is not None:
            raise MissingExtraError(f"{missing}\nThe engine duckdb needs no extra: --engine duckdb") from error
        raise UserInputError(
            f"engine {name!r} cannot be loaded: {type(error).__name__}: {error}. "
            "Give an installed name or package.module:Class, importable from this folder."
        ) from error
    return loaded
