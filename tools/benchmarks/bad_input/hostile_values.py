"""Values and texts that programs like to stumble over, for any place of a file, a statement or a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

CONTROLS: Final = ("\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "over\rwritten", "\x07", "\x08\x08", "\x00", "\x9b31m")
UNUSUAL: Final = ("\u202eevil\u202c", "\u2066\u2069", "\u200f", "\ufeff", "\u2028", "\ud800", "\U0010ffff", "é" * 40)
NUMBERS: Final = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e309",
    "-0",
    "0x10",
    "1_000",
    " 5 ",
    "\uff11\uff12",
    "9" * 400,
    "9" * 5000,
)
PATTERNS: Final = ("[", "(", "(a+)+$", "(.*)*(.*)*(.*)*x", "(?P<a", "a{99999999999}", "\\", "(?i", "(" * 300, "*")
PATHS: Final = ("../../etc/passwd", "/", ".", "join=../../x", "/dev/full", "a/b", "~", "C:\\x", "file:///etc")
LONG: Final = ("a" * 70_000, "('" * 500, ", ".join(["x"] * 3_000))

TEXTS: Final = ("", " ", "\n", *CONTROLS, *UNUSUAL, *NUMBERS, *PATTERNS, *PATHS, *LONG)
"""Texts for any place that takes one."""

_PLAIN: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    -(2**70),
    10**400,
    1.5,
    1e308,
    [],
    {},
    [[]],
    [None],
    {"": 1},
)


def json_value(chance: Random) -> Any:
    """Draw a value that does not belong anywhere."""
    if chance.random() < 0.5:
        return chance.choice(TEXTS)
    if chance.random() < 0.1:
        return nested(chance.choice((30, 200, 3_000)), chance)
    return chance.choice(_PLAIN)


def nested(depth: int, chance: Random) -> Any:
    """Nest lists or objects."""
    value: Any = 1
    is_list = chance.random() < 0.5
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value
