"""The limits of a configuration that the user has not named: it was found by searching, and may come from a stranger.

It may set the cases, checks and output, choose an installed engine, and read and write in its own folder. It may not
have code imported or installed, connect to anything, or leave its folder.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mergecheck.harness.processes.output_files import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping


class Power(Enum):
    """A power of a setting beyond the case that is checked."""

    NONE = "nothing"
    ENGINE = "names an engine: an installed one, a release to install, or a class to import"
    MASTER = "names a Spark: this machine's, or one to connect to"
    ROOT = "names the place of tables: a folder, or an object store"
    SCOPE = "names a small scope: one that comes with mergecheck, or a file to read"
    READS = "names a file or folder to read"
    WRITES_FOLDER = "names a folder to write to"
    WRITES_EVENTS = "names a file to write"
    WRITES_HTML = "names a file to write as HTML"
    WRITES_MARKDOWN = "names a file to write as Markdown"
    WRITES_XML = "names a file to write as XML"
    CONNECTS = "connects to a server"
    STARTS_CODE = "loads code into Spark"
    INSTALLS = "fetches packages"
    STARTS_GIT = "starts git, which obeys the settings of the repository"


_BY_POWER: Mapping[Power, str] = {
    Power.NONE: """
        batch boundary case-timeout check common dialect driver-memory expressions fail-if-worse features-off files
        first floor focus focus-paths fuzz github isolation jobs kills max-cases max-deviating max-findings
        max-sequences max-time memory-limit no-deviations oracle oracles-only pairs proof quiet range require-all
        require-path require-plan runs rows scenario seed shape shrink-runs shrink-time start steer steps table unset
        variant verbose writers
    """,
    Power.ENGINE: "engine writer",
    Power.MASTER: "master on-spark",
    Power.ROOT: "table-root",
    Power.READS: "baseline capabilities case check-learned deviations history",
    Power.SCOPE: "scope",
    Power.WRITES_FOLDER: "findings work",
    Power.WRITES_EVENTS: "certificate events journal learned observations totals",
    Power.WRITES_HTML: "html",
    Power.WRITES_MARKDOWN: "markdown",
    Power.WRITES_XML: "junit",
    Power.CONNECTS: "remote",
    Power.STARTS_CODE: "spark-conf",
    Power.INSTALLS: "get",
    Power.STARTS_GIT: "focus-changed",
}
POWERS: Mapping[str, Power] = {key: power for power, keys in _BY_POWER.items() for key in keys.split()}
"""The power of each key of the configuration; only a trusted file may set a key that is missing here."""

# A file that is written may replace one that is there: no source, no hidden file.
_SUFFIXES: Mapping[Power, tuple[str, ...]] = {
    Power.WRITES_EVENTS: (".jsonl", ".ndjson", ".json"),
    Power.WRITES_HTML: (".html", ".htm"),
    Power.WRITES_MARKDOWN: (".md",),
    Power.WRITES_XML: (".xml",),
}
_READS_OR_WRITES = frozenset({Power.READS, Power.WRITES_FOLDER, *_SUFFIXES})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def reason_for_trust(key: str, value: Any, folder: Path) -> str | None:  # noqa: ANN401 - any value of an option
    """Return why a value needs the user's trust; None if any configuration may set it.

    Args:
        key: of the setting.
        value: one value or a list of them; paths start at the configuration's folder.
        folder: of the configuration.
    """
    values = value if isinstance(value, list) else [value]
    return next((reason for one in values if (reason := _reason(key, one, folder)) is not None), None)


def _reason(key: str, value: Any, folder: Path) -> str | None:  # noqa: ANN401 - the same
    power = POWERS.get(key)
    text = str(value)
    if power is Power.NONE or value is False:
        return None
    if power is Power.ENGINE:
        if ":" in text:
            return "imports code"
        return "installs another release" if "@" in text else None
    if power is Power.MASTER:
        return None if text.startswith("local") else "connects to a cluster"
    if power is Power.ROOT:
        if _SCHEME.match(text) and not text.lower().startswith("file:"):
            return "connects to an object store"
        return _beyond(Path("/" + unquote(text[5:]).lstrip("/") if text.lower().startswith("file:") else text), folder)
    if power is Power.SCOPE:
        return _beyond(folder / text, folder, hidden=True)
    if power in _READS_OR_WRITES:
        path = Path(text)
        outside = _beyond(path, folder, hidden=power is Power.READS)
        suffixes = _SUFFIXES.get(power, ())
        if outside is None and suffixes and path.suffix.lower() not in suffixes:
            return f"writes a file that does not end in {' or '.join(suffixes)}"
        return outside
    return {
        Power.CONNECTS: "connects to a server",
        Power.STARTS_CODE: "loads code into Spark",
        Power.INSTALLS: "fetches packages",
        Power.STARTS_GIT: "starts git, which obeys the settings of the repository",
    }.get(power or Power.NONE, "is not known to be harmless")


def _beyond(path: Path, folder: Path, *, hidden: bool = False) -> str | None:
    """Return why a path leaves a folder: it leads out, links followed, or to something hidden in it."""
    try:
        inner = path.resolve().relative_to(folder.resolve())
    except (ValueError, OSError, RuntimeError):  # not below it; no path; a circle of links
        return "leads out of its folder"
    if not hidden and any(part.startswith(".") and part != OWN_FOLDER for part in inner.parts):
        return "leads to a hidden file or folder"
    return None
