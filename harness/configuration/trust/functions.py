"""The functions of Spark that an untrusted case may call.

The list has Spark's functions that compute a value from their arguments, the clock or chance. It leaves out those that
call code by name (``reflect``, ``java_method``), read files or name them (``from_avro`` and ``from_protobuf`` take
descriptor files, ``xpath`` parses XML), or reveal the session's user and place (``current_user``, ``version``).
"""

from __future__ import annotations

from importlib import resources
from typing import Final

FUNCTIONS: Final = frozenset(
    (resources.files("mergecheck.harness.configuration.trust") / "functions.txt").read_text(encoding="utf-8").split()
)
"""Scalar, aggregate, window and generator functions, in lower case."""

TABLE_FUNCTIONS: Final = frozenset(
    {"explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "range", "stack"}
)
"""Functions that may stand in FROM."""

WITHOUT_BRACKETS: Final = frozenset({"current_catalog", "current_database", "current_schema"}) | frozenset(
    {"current_path", "current_role", "current_user", "session_user", "system_user", "user"}
)
"""Functions outside of ``FUNCTIONS`` that Spark or another engine also calls if their name is written as an unknown
column.
"""

_PACKAGES: Final = ((), ("builtin",), ("system", "builtin"))


def is_allowed(name: tuple[str, ...]) -> bool:
    """Return whether a function may be called; the name may be qualified by the catalog of built-in functions."""
    *package, own = (part.lower() for part in name)
    return tuple(package) in _PACKAGES and own in FUNCTIONS
