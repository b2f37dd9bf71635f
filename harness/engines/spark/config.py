"""Where Spark runs (on this machine, on a standalone cluster or behind Spark Connect) and where tables are made.

Options of the command line take precedence over environment variables. A process runs one Spark, so the place is one
per process and chosen before the session starts.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from mergecheck.harness.processes.temp_dirs import directory_in, scratch_directory
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from mergecheck.harness.engines.spark.object_store import StoreRoot

MASTER_VARIABLE = "MERGECHECK_SPARK_MASTER"
"""Environment variable that names another Spark master than ``local[2]``."""
REMOTE_VARIABLE = "MERGECHECK_SPARK_REMOTE"
"""Environment variable that names a Spark Connect server."""
TABLE_ROOT_VARIABLE = "MERGECHECK_TABLE_ROOT"
"""Environment variable that names the directory, or the prefix in an object store, in which tables are made."""

DEFAULT_MASTER = "local[2]"
DEFAULT_REMOTE_PORT = 15002

_LOCAL_MASTER = re.compile(r"local(\[[\d*]+(, *\d+)?\])?")
_STANDALONE_MASTER = re.compile(r"spark://(?P<hosts>[^\s/,]+:\d+(,[^\s/,]+:\d+)*)")
_TOKEN = re.compile(r"\btoken=[^;]*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPlace:
    """Where Spark runs and where tables are made; see ``spark_place`` for the allowed values.

    Attributes:
        master: ``local[N]`` or ``spark://HOST:PORT``; has no meaning if ``remote`` is given.
        remote: ``sc://HOST:PORT`` of a Spark Connect server; None if this process is Spark's driver.
        table_root: the directory or the prefix in an object store in which tables are made; None for a temporary
            directory of this machine.
    """

    master: str = DEFAULT_MASTER
    remote: str | None = None
    table_root: Path | StoreRoot | None = None

    @property
    def store(self) -> StoreRoot | None:
        """The table root if it is in an object store, else None."""
        return None if self.table_root is None or isinstance(self.table_root, Path) else self.table_root

    @property
    def is_here(self) -> bool:
        """Whether tasks run in the JVM of this process."""
        return self.remote is None and not self.master.startswith("spark://")

    @property
    def url(self) -> str:
        """The remote's URL, else the master's."""
        return self.remote or self.master

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of the server or the masters; empty if Spark runs in this process."""
        if self.remote is not None:
            parts = urlsplit(self.remote)
            return ((parts.hostname or "", parts.port or DEFAULT_REMOTE_PORT),)
        found = _STANDALONE_MASTER.fullmatch(self.master)
        hosts = found["hosts"].split(",") if found else []
        pairs = (host.rsplit(":", 1) for host in hosts)
        return tuple((host.strip("[]"), int(port)) for host, port in pairs)

    @property
    def is_loopback(self) -> bool:
        """Whether all addresses are loopback addresses, judged by their names."""
        names = {host for host, _ in self.addresses}
        return all(name in {"localhost", "::1"} or name.startswith("127.") for name in names)


def spark_place(
    *,
    master: str | None = None,
    remote: str | None = None,
    table_root: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> SparkPlace:
    """Read the place from options, and from environment variables if an option is not given.

    Args:
        master: ``local``, ``local[N]`` or ``spark://HOST:PORT`` (several, with commas, for standby masters).
        remote: ``sc://HOST[:PORT]``, may be followed by Spark Connect's own parameters.
        table_root: an existing directory, or its ``file:`` URI; on a cluster, one that all workers share. Or
            ``s3a://BUCKET/PREFIX``; ``require_place`` checks the store.
        environment: the environment variables.

    Raises:
        UserInputError: for both a master and a remote, a URL of another kind, and a root that is not a directory or is
            in an unsupported store.
    """
    if master is None and remote is None:
        master, remote = (environment.get(name) or None for name in (MASTER_VARIABLE, REMOTE_VARIABLE))
        names = f"the variables {MASTER_VARIABLE} and {REMOTE_VARIABLE}"
    else:
        names = "--master and --remote"
    if master is not None and remote is not None:
        raise UserInputError(
            f"{names} are both given ({master} and {remote}), and Spark runs in one place. Leave one of them out."
        )
    return SparkPlace(
        master=DEFAULT_MASTER if master is None else _checked_master(master),
        remote=None if remote is None else _checked_remote(remote),
        table_root=_checked_root(table_root or environment.get(TABLE_ROOT_VARIABLE) or None, environment),
    )


def use_place(place: SparkPlace) -> None:
    """Choose the place for the rest of this process; has no effect on a session that runs already."""
    _Chosen.place = place


def current_place() -> SparkPlace:
    """Return the chosen place, else the one that the environment variables name.

    Raises:
        UserInputError: if the environment variables cannot be used.
    """
    return _Chosen.place if _Chosen.place is not None else spark_place()


def require_place() -> None:
    """Check the current place before anything starts; a table root in an object store is tried out.

    Raises:
        UserInputError: if the environment variables or the store cannot be used.
    """
    store = current_place().store
    if store is not None:
        store.require()


def table_folder() -> AbstractContextManager[Path]:
    """Make a temporary directory for tables under the table root, or a local one if the root is in a store.

    Without a root, tables are kept in memory if Spark runs in this process (``temp_dirs``), else in the directory for
    temporary files.
    """
    place = current_place()
    if place.table_root is None and place.is_here:
        return scratch_directory()
    return directory_in(place.table_root if isinstance(place.table_root, Path) else None)


def note_use() -> None:
    """Record that this process has started a session."""
    _Chosen.used = True


def was_used() -> bool:
    """Return whether this process has started a session."""
    return _Chosen.used


def place_options() -> tuple[tuple[str, str], ...]:
    """Return the options, by their names without dashes, that choose the current place; none for the default.

    They are printed and kept in files, so the token of a Spark Connect server is not among them.
    """
    place = current_place()
    given = (
        ("master", place.master if place.master != SparkPlace().master else None),
        ("remote", None if place.remote is None else _TOKEN.sub("token=TOKEN", place.remote)),
        ("table-root", None if place.table_root is None else str(place.table_root)),
    )
    return tuple((name, value) for name, value in given if value is not None)


class _Chosen:
    place: SparkPlace | None = None
    used = False


def _checked_master(url: str) -> str:
    if _LOCAL_MASTER.fullmatch(url) or _STANDALONE_MASTER.fullmatch(url):
        return url
    hint = f" A Spark Connect server is given by --remote {url}." if url.startswith("sc://") else ""
    raise UserInputError(
        f"the Spark master {url!r} is none that can be used.{hint} Allowed: spark://HOST:PORT of a standalone cluster "
        "(several with commas: spark://A:7077,B:7077), or local[N] for N threads of this machine."
    )


def _checked_remote(url: str) -> str:
    hint = f" A standalone cluster is given by --master {url}." if url.startswith("spark://") else ""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "sc" and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number
        good = False
    if good:
        return url
    raise UserInputError(
        f"the Spark Connect server {url!r} is none that can be used.{hint} Allowed: sc://HOST:PORT, with port "
        f"{DEFAULT_REMOTE_PORT} if it is left out; parameters follow as in sc://HOST:PORT/;token=..."
    )


def _checked_root(text: str | None, environment: Mapping[str, str]) -> Path | StoreRoot | None:
    if text is None:
        return None
    given = text
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() != "file":
        from mergecheck.harness.engines.spark.object_store import store_root  # noqa: PLC0415 - it brings PySpark's errors, which take their time

        return store_root(text, environment)
    if scheme:
        text = "/" + unquote(text.split(":", 1)[1]).lstrip("/")
    root = Path(text).absolute()
    if not root.is_dir():
        raise UserInputError(
            f"the table root {given!r} is no directory. Make it first, on a file system that Spark's workers share: "
            f"mkdir -p {root}"
        )
    if not os.access(root, os.W_OK | os.X_OK):
        raise UserInputError(f"the table root {given!r} cannot be written. Choose a directory that you may write.")
    return root
