"""Packages that only some engines need, the extras that bring them, and the command that installs an extra here.

The command depends on where mergecheck came from, which ``direct_url.json`` of the installed distribution records
(PyPA's specification of direct URLs): an index by mergecheck's own name is never assumed.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mergecheck.harness.verdict import MissingExtraError

_DISTRIBUTION = "mergecheck"
_EXTRAS = {
    "pyspark": "spark",
    "py4j": "spark",
    "numpy": "spark",
    "pandas": "spark",
    "obstore": "spark",
    "deltalake": "delta-rs",
    "pyarrow": "delta-rs",
    "pyroaring": "delta-rs",
    "delta": "delta-spark",
    "grpc": "connect",
}
"""By the name of a package that is imported: the smallest extra that brings it."""


def missing_extra(error: Exception, what: str, *, extra: str | None = None) -> MissingExtraError | None:
    """Describe an import that failed because an extra is not installed.

    Args:
        error: the exception of the import.
        what: the feature that needs the package, as the beginning of the message.
        extra: the extra that ``what`` needs; by default the smallest that has the package.

    Returns:
        None if it is another error, or the import failed for another reason.
    """
    package = ((error.name if isinstance(error, ImportError) else None) or "").partition(".")[0]
    if package not in _EXTRAS or is_installed(package):
        return None
    return lacking(what, package, extra or _EXTRAS[package])


def lacking(what: str, package: str, extra: str) -> MissingExtraError:
    """Return the message that a package is not installed, with the command that installs its extra."""
    return MissingExtraError(
        f"{what} needs the package {package}, which is not installed. Install the extra {extra!r}:\n"
        f"    {install_command(extra)}"
    )


def is_installed(package: str) -> bool:
    """Return whether a package that an extra brings can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def extras() -> tuple[str, ...]:
    """List the extras of this package."""
    try:
        return tuple(metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or ())
    except metadata.PackageNotFoundError:
        return ()


def install_command(extra: str = "") -> str:
    """Return the command that adds an extra to this installation, to be pasted into a shell.

    Args:
        extra: without one, the command installs the package again.
    """
    origin = _direct_url()
    url, path = origin.get("url", ""), _local_path(origin.get("url", ""))
    suffix = f"[{extra}]" if extra else ""
    pip = _installer() or [sys.executable, "-m", "pip", "install"]
    if path is not None and path.exists():
        if origin.get("dir_info", {}).get("editable"):
            has_installer = bool(_installer())
            whole = ["make", "--always-make", "-C", str(path), "setup"]
            return shlex.join([*pip, "--editable", f"{path}{suffix}"] if has_installer else whole)
        return shlex.join([*pip, f"{_DISTRIBUTION}{suffix} @ {path.as_uri()}"])
    if url and path is None:
        vcs = origin.get("vcs_info")
        place = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
        return shlex.join([*pip, f"{_DISTRIBUTION}{suffix} @ {place}"])
    return shlex.join([*pip, *requirements(extra)])


def requirements(extra: str) -> tuple[str, ...]:
    """List the packages that an extra installs, or without one the package's own requirements, in pip's notation."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - loads slowly, and is needed for this only

    found: list[str] = []
    for text in metadata.requires(_DISTRIBUTION) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if not (marker.evaluate({"extra": extra}) if marker else not extra):
            continue
        if requirement.name == _DISTRIBUTION:  # an extra that includes others
            found += [one for name in sorted(requirement.extras) for one in requirements(name)]
        else:
            names = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            found.append(f"{requirement.name}{names}{requirement.specifier}")
    return tuple(dict.fromkeys(found))


def missing_packages(extra: str) -> tuple[str, ...]:
    """List the distributions of an extra that are not installed."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - loads slowly, and is needed for this only

    return tuple(sorted(name for name in {Requirement(text).name for text in requirements(extra)} if not _has(name)))


def _has(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _installer() -> list[str]:
    """Give the command that installs into this environment; nothing if there is neither pip nor uv."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    if shutil.which("uv") is not None:
        return ["uv", "pip", "install", "--python", sys.executable]
    return []


def _direct_url() -> dict[str, Any]:
    try:
        text = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    return dict(json.loads(text)) if text else {}


def _local_path(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None
