"""Command lines with values that their options do not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.benchmarks.bad_input.hostile_values import CONTROLS, LONG, NUMBERS, PATHS, TEXTS, UNUSUAL

if TYPE_CHECKING:
    from random import Random

_FUZZ = ("fuzz", "--engine", "duckdb", "--max-cases", "1", "--findings", "{folder}/findings")
_CALLS: tuple[tuple[str, ...], ...] = (
    *((*_FUZZ, option) for option in ("--seed", "--max-time", "--floor", "--oracle", "--expressions", "--deviations")),
    *((*_FUZZ, option) for option in ("--max-findings", "--engine", "--master", "--remote", "--table-root")),
    ("run", "--engine", "duckdb"),
    ("run", "--engine", "duckdb", "--id"),
    ("run", "--engine", "duckdb", "--sql"),
    ("run", "--engine", "duckdb", "--source", "{folder}", "--sql", "MERGE", "--target"),
    ("run", "--engine"),
    ("replay", "--engine", "duckdb"),
    ("replay", "--engine", "duckdb", "--findings"),
    ("cases", "show"),
    ("cases", "show", "--id"),
    ("rules",),
    ("rules", "--max-cases"),
    ("rules", "--max-cases", "1", "--seed"),
    ("sequences", "--engine", "duckdb", "--max-sequences", "1", "--steps"),
    ("sequences", "--engine", "duckdb"),
    ("variants", "--engine", "duckdb", "--max-cases", "1", "--variant"),
    ("bisect", "--engine", "duckdb", "--variant"),
    ("scale", "--memory-limit"),
    ("scale", "--seed"),
    ("scale", "--rows"),
    ("scale", "--shape"),
    ("scale",),
    ("selfcheck", "--list", "--fault"),
    ("conform", "--certificate", "/", "--"),
    ("matrix", "--engine"),
    ("new-engine",),
    (),
)
# Sound values would start a run of their own, and the whole disk is a sound folder of cases.
_NUMBERS_THAT_RUN = {"0", "-0", " 5 ", "1_000", "\uff11\uff12", "9" * 400}
_RUNS = {("rules", "--max-cases"), ("scale", "--seed"), ("scale", "--rows")}


def bad_flags(chance: Random) -> tuple[str, ...]:
    """Draw a command line; no value contains a NUL, which no process can be given, and none is the whole disk."""
    call = chance.choice(_CALLS)
    values = [text for text in (*NUMBERS, *NUMBERS, *PATHS, *CONTROLS, *UNUSUAL, *LONG, *TEXTS) if _is_possible(text)]
    if call in _RUNS:
        values = [text for text in values if text not in _NUMBERS_THAT_RUN]
    if call == ("new-engine",):
        values = [text for text in values if "/" in text and text.startswith(("/", ".."))]
    return (*call, chance.choice(values))


def _is_possible(text: str) -> bool:
    return "\x00" not in text and "\ud800" not in text and text != "/"
