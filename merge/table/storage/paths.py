"""Locations of tables and files: an absolute path of a local disk, or the URI of an object store.

A location is decoded text. In a store it begins with the one scheme by which Spark reads it.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from mergecheck.merge.errors import UnsupportedTableError

SPARK_SCHEMES = {"s3a": "s3a", "s3": "s3a"}
"""Schemes of the stores that are supported, and the one by which Spark reaches each: Hadoop has no ``s3``."""

# deltalake 1.6 decodes an escape in a local path, takes a backslash for a slash and refuses control characters.
_UNREADABLE = re.compile(r"%[0-9A-Fa-f]{2}|[\\\x00-\x1f\x7f]")
# Spark takes a path with such a character for a pattern.
_PATTERN = re.compile(r"[\\*?\[\]{}]")
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<bucket>[^/]*)(?P<key>.*)", re.DOTALL)


def is_in_store(location: str) -> bool:
    """Return whether a location is in an object store."""
    return "://" in location


def table_location(path: str) -> str:
    """Make a location of a path, a ``file:`` URI or a URI of a store, such as ``s3a://bucket/table``.

    Raises:
        UnsupportedTableError: the path names another file system, or a place that the log's reader cannot reach.
    """
    if path.startswith("file:"):
        path = "/" + unquote(path.removeprefix("file:")).lstrip("/")
    uri = _URI.fullmatch(path)
    return _store_location(uri) if uri else _local_location(path)


def table_identity(location: str) -> str:
    """Name a table so that two locations of one table give the same name; links on a local disk are followed."""
    return location if is_in_store(location) else os.path.realpath(location)


def literal_path(location: str) -> str:
    """Write a location so that Spark, which reads paths as patterns, takes each character for itself."""
    return _PATTERN.sub(r"\\\g<0>", location)


def bucket_and_key(location: str) -> tuple[str, str]:
    """Split the location of something in a store."""
    bucket, _, key = location.split("://", 1)[1].partition("/")
    return bucket, key


def file_location(table_location: str, path: str) -> str:
    """Resolve a path of the log against the table; decodes percent escapes once (protocol: paths are URIs)."""
    decoded = unquote(path)
    if decoded.startswith("file:"):
        return "/" + decoded.removeprefix("file:").lstrip("/")
    uri = _URI.fullmatch(decoded)
    if uri:
        return f"{SPARK_SCHEMES.get(uri['scheme'], uri['scheme'])}://{uri['bucket']}{uri['key']}"
    return decoded if decoded.startswith("/") else f"{table_location.rstrip('/')}/{decoded}"


def _local_location(path: str) -> str:
    location = os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow links
    found = _UNREADABLE.search(location)
    if found:
        raise UnsupportedTableError([f"{found[0]!r} in the path, which its log's reader takes for another"], where=path)
    pattern = _PATTERN.search(location)
    if pattern and ":" in location:  # Hadoop cannot expand a pattern with a colon
        raise UnsupportedTableError([f"a colon and {pattern[0]} in the path, which Spark cannot read"], where=path)
    return location


def _store_location(uri: re.Match[str]) -> str:
    scheme, bucket = uri["scheme"].lower(), uri["bucket"]
    key = re.sub("/+", "/", uri["key"]).strip("/")
    if scheme not in SPARK_SCHEMES:
        raise UnsupportedTableError([f"storage by {uri['scheme']}://"], where=uri[0])
    if "@" in bucket:  # the text before it may be secret, so the path is not shown
        raise UnsupportedTableError(["storage with credentials in its path"], where=f"{scheme}://...")
    if not bucket or "%" in key:  # deltalake 1.6 decodes such a path twice
        what = "a percent sign in the path" if bucket else "no bucket in the path"
        raise UnsupportedTableError([f"storage by {scheme}:// with {what}"], where=uri[0])
    return f"{SPARK_SCHEMES[scheme]}://{bucket}/{key}".rstrip("/")
