"""Damage done to JSON documents: to their values, and to their text."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from tools.benchmarks.bad_input.hostile_values import TEXTS, json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_Place = tuple[Any, Any]  # a container, and the index or key in it
_SOUND_SHARE = 0.6


def damaged(document: Any, chance: Random) -> bytes:
    """Change one to three places of a document, and sometimes its text."""
    changed = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        changed = _changed(changed, chance)
    text = written(changed)
    return text.encode("utf-8", "surrogatepass") if chance.random() < _SOUND_SHARE else damaged_text(text, chance)


def written(document: Any) -> str:
    """Write a document with characters as they are; one that is nested too deeply for the writer becomes brackets."""
    try:
        return json.dumps(document, ensure_ascii=False)
    except RecursionError:
        return "[" * 100_000


def damaged_text(text: str, chance: Random) -> bytes:
    """Damage a text or its bytes."""
    return chance.choice(_TEXT_DAMAGES)(text, chance)


def places(value: Any) -> Iterator[_Place]:
    """Go through all places of a document, without recursion."""
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict | list):
            for key in list(container) if isinstance(container, dict) else range(len(container)):
                yield container, key
                waiting.append(container[key])


def _changed(document: Any, chance: Random) -> Any:
    found = list(places(document))
    if not found:
        return json_value(chance)
    container, key = chance.choice(found)
    kind = chance.random()
    if kind < 0.6:
        container[key] = json_value(chance)
    elif kind < 0.75:
        del container[key]
    elif isinstance(container, dict):
        container[chance.choice(TEXTS)] = container[key]
    else:
        container.extend([container[key]] * chance.choice((1, 2, 50)))
    return document


def _cut(text: str, chance: Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)].encode("utf-8", "surrogatepass")


def _flipped(text: str, chance: Random) -> bytes:
    content = bytearray(text.encode("utf-8", "surrogatepass") or b" ")
    for _ in range(chance.randint(1, 4)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    return bytes(content)


def _inserted(text: str, chance: Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return (text[:at] + chance.choice(TEXTS) + text[at:]).encode("utf-8", "surrogatepass")


def _twice(text: str, _chance: Random) -> bytes:
    return f"{text}\n{text}".encode("utf-8", "surrogatepass")


def _recoded(text: str, chance: Random) -> bytes:
    return text.encode(chance.choice(("utf-16", "utf-8-sig", "latin-1", "utf-32")), "replace")


def _deep(_text: str, chance: Random) -> bytes:
    return (chance.choice("[{") * chance.choice((500, 20_000, 200_000))).encode()


def _big(text: str, chance: Random) -> bytes:
    number = chance.choice(("9" * 400, "9" * 5_000, "NaN", "Infinity", "1e999999", "-" + "9" * 400, "0." + "1" * 3_000))
    digits = [at for at, sign in enumerate(text) if sign.isdigit() and sign.isascii()]
    at = chance.choice(digits) if digits else 0
    return (text[:at] + number + text[at + 1 :]).encode("utf-8", "surrogatepass")


_TEXT_DAMAGES: tuple[Callable[[str, Random], bytes], ...] = (
    *(_cut, _flipped, _inserted, _twice, _recoded, _deep, _big),
)
