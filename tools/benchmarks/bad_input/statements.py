"""Damage done to statements: words in the wrong place, texts that are too deep or too long, odd characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.benchmarks.bad_input.attacks import MUTATIONS
from tools.benchmarks.bad_input.hostile_values import TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_WORD = re.compile(r"`[^`]*`|'[^']*'|\w+|\S")
_DEPTHS = (20, 100, 400, 3_000)
_TOKENS = (
    *("WHEN", "MATCHED", "THEN", "NOT", "BY", "SOURCE", "AND", "UPDATE", "SET", "*", "INSERT", "VALUES", "DELETE"),
    *("(", ")", ",", ".", "=", "<=>", "::", "->", "||", ";", "'", '"', "`", "--", "/*", "*/", "?", ":x", "@", "\\"),
    *("NULL", "CASE", "END", "IN", "BETWEEN", "LIKE", "IS", "CAST", "INTERVAL", "SELECT", "FROM", "WITH", "AS", "ON"),
    *("EXISTS", "X'0", "1e999", "0x", "1.5e", "DATE", "TIMESTAMP '0000-00-00'", "1BD", "1L", "128Y", "r'", "{{", "}}"),
)


def damaged_statement(sql: str, chance: Random) -> str:
    """Change a statement once to three times."""
    for _ in range(chance.randint(1, 3)):
        sql = chance.choice(_DAMAGES)(sql, chance)
    return sql


def _without_word(sql: str, chance: Random) -> str:
    found = list(_WORD.finditer(sql))
    if not found:
        return sql
    gone = chance.choice(found)
    return sql[: gone.start()] + sql[gone.end() :]


def _other_word(sql: str, chance: Random) -> str:
    found = list(_WORD.finditer(sql))
    if not found:
        return sql
    changed = chance.choice(found)
    other = chance.choice(_TOKENS) if chance.random() < 0.8 else chance.choice(TEXTS)
    return sql[: changed.start()] + other + sql[changed.end() :]


def _further_word(sql: str, chance: Random) -> str:
    at = chance.randrange(len(sql) + 1)
    return f"{sql[:at]} {chance.choice(_TOKENS)} {sql[at:]}"


def _cut(sql: str, chance: Random) -> str:
    return sql[: chance.randrange(len(sql) + 1)]


def _odd_characters(sql: str, chance: Random) -> str:
    at = chance.randrange(len(sql) + 1)
    return sql[:at] + chance.choice(TEXTS) + sql[at:]


def _deep(sql: str, chance: Random) -> str:
    """Put something deep or long in the place of a name, number or string."""
    found = [match for match in _WORD.finditer(sql) if match[0][0].isalnum() or match[0][0] in "`'"]
    if not found:
        return sql
    changed = chance.choice(found)
    return sql[: changed.start()] + chance.choice(_DEEP)(changed[0], chance.choice(_DEPTHS)) + sql[changed.end() :]


_DEEP: tuple[Callable[[str, int], str], ...] = (
    lambda word, depth: "(" * depth + word + ")" * depth,
    lambda word, depth: "(" * depth + word,
    lambda word, depth: word + " + 1" * depth,
    lambda word, depth: word + " AND TRUE" * depth,
    lambda word, depth: word + " OR FALSE" * depth,
    lambda word, depth: word + f" || {word}" * depth,
    lambda word, depth: "NOT " * depth + word,
    lambda word, depth: "- " * depth + word,
    lambda word, depth: "~" * depth + word,
    lambda word, depth: "abs(" * depth + word + ")" * depth,
    lambda word, depth: "CASE WHEN TRUE THEN " * depth + word + " END" * depth,
    lambda word, depth: f"CAST({word} AS " + "ARRAY<" * depth + "INT" + ">" * depth + ")",
    lambda word, depth: word + "[0]" * depth,
    lambda word, depth: word + ".a" * depth,
    lambda word, depth: word + "::INT" * depth,
    lambda word, depth: f"{word} IN (" + ", ".join(["1"] * depth) + ")",
    lambda word, depth: "array(" * depth + word + ")" * depth,
    lambda word, depth: "(SELECT " * depth + word + ")" * depth,
    lambda word, depth: "(SELECT * FROM " * depth + word + ")" * depth,
    lambda word, depth: "/*" * depth + word + "*/" * depth,
    lambda _, depth: "9" * depth,
    lambda _, depth: "0." + "1" * depth,
    lambda word, depth: f"{word}(" + ", ".join([word] * depth) + ")",
    lambda word, depth: word + " WHEN MATCHED AND TRUE THEN DELETE" * depth,
    lambda word, depth: word + f" COLLATE {word}" * depth,
    lambda word, depth: f"transform({word}, " + "x -> " * depth + "x)",
)

_DAMAGES: tuple[Callable[[str, Random], str], ...] = (
    *(_without_word, _other_word, _other_word, _further_word, _cut, _odd_characters, _deep, _deep),
    *(lambda sql, chance, damage=damage: damage(sql, chance) if sql else sql for damage in MUTATIONS),
)
