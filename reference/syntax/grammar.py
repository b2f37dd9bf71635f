"""A reader of texts by a grammar that is data: every alternative is tried, in order, until the whole text is read.

Spark's parser (ANTLR) does the same: the first alternative with which all the rest can be read wins. The notation of
a rule: ``WORD``, ``'symbol'``, ``<kind of token>``, ``other_rule``, ``( )``, ``|``, ``?``, ``*``, ``+``, and
``x % ','`` for a list of ``x`` with commas between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mergecheck.reference.syntax.spark_tokens import Token


@dataclass(frozen=True, slots=True)
class Tree:
    """What a rule has read: tokens and trees of other rules, in the order of the text."""

    rule: str
    parts: tuple[Part, ...]

    def trees(self, *rules: str) -> tuple[Tree, ...]:
        """Give the parts that one of the rules has read."""
        return tuple(part for part in self.parts if isinstance(part, Tree) and part.rule in rules)

    def has(self, key: str) -> bool:
        """Tell whether a word or symbol is among the parts."""
        return any(isinstance(part, Token) and part.key == key for part in self.parts)


Part: TypeAlias = Token | Tree
_Ends: TypeAlias = list[tuple[int, tuple[Part, ...]]]
_FirstWays: TypeAlias = dict[int, tuple[Part, ...]]  # for each end the first way of reading up to it
_Reader: TypeAlias = Callable[["_Run", int], _Ends]


@dataclass(slots=True)
class _Run:
    tokens: tuple[Token, ...]
    furthest: int = 0
    known: dict[tuple[str, int], _Ends] = field(default_factory=dict)


@dataclass(slots=True)
class Grammar:
    """The rules, ready to read."""

    rules: dict[str, _Reader]

    def read(self, rule: str, tokens: tuple[Token, ...]) -> Tree | int:
        """Read all tokens by a rule; give the tree, or the place of the first token that nothing can read."""
        run = _Run(tokens)
        for end, parts in self.rules[rule](run, 0):
            tree = parts[0]
            if end == len(tokens) - 1 and isinstance(tree, Tree):
                return tree
        return run.furthest


_NOTATION = re.compile(r"\s*(?:('[^']+')|(<\w+>)|([A-Z_]+)|([a-z_]+)|([()|?*+%]))")


def grammar(text: str) -> Grammar:
    """Read the rules, one ``name = ...`` each, which end where the next begins."""
    rules: dict[str, _Reader] = {}
    for block in re.split(r"\n(?=[a-z_]+ += )", text.strip()):
        name, _, body = block.partition("=")
        rules[name.strip()] = _rule(name.strip(), _Notation(body, rules).choice())
    return Grammar(rules)


def _rule(name: str, body: _Reader) -> _Reader:
    def read(run: _Run, at: int) -> _Ends:
        found = run.known.get((name, at))
        if found is None:
            found = [(end, (Tree(name, parts),)) for end, parts in body(run, at)]
            run.known[name, at] = found
        return found

    return read


class _Notation:
    """Turns the notation of one rule into a reader."""

    def __init__(self, text: str, rules: dict[str, _Reader]) -> None:
        self._rules = rules
        self._items = [next(filter(None, groups)) for groups in _NOTATION.findall(text)]
        self._at = 0

    def choice(self) -> _Reader:
        options = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _any_of(options)

    def _sequence(self) -> _Reader:
        parts = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else _all_of(parts)

    def _repeated(self) -> _Reader:
        part = self._single()
        while (sign := self._next()) in ("?", "*", "+", "%"):
            self._at += 1
            if sign == "?":
                part = _any_of([part, _nothing])
            elif sign == "*":
                part = _many(part)
            elif sign == "+":
                part = _all_of([part, _many(part)])
            else:
                part = _all_of([part, _many(_all_of([self._single(), part]))])
        return part

    def _single(self) -> _Reader:
        item = self._next()
        self._at += 1
        if item == "(":
            inner = self.choice()
            self._at += 1
            return inner
        if item.startswith("'"):
            return _token(key=item[1:-1])
        if item.startswith("<"):
            return _token(kind=item)
        if item.isupper():
            return _token(key=item)
        rules = self._rules

        def later(run: _Run, at: int) -> _Ends:  # its rule may come further down
            return rules[item](run, at)

        return later

    def _next(self) -> str:
        return self._items[self._at] if self._at < len(self._items) else ""


def _nothing(_: _Run, at: int) -> _Ends:
    return [(at, ())]


def _token(*, key: str = "", kind: str = "") -> _Reader:
    def read(run: _Run, at: int) -> _Ends:
        token = run.tokens[at]
        if token.key == key if key else token.kind.value == kind:
            run.furthest = max(run.furthest, at + 1)
            return [(at + 1, (token,))]
        return []

    return read


def _any_of(options: list[_Reader]) -> _Reader:
    def read(run: _Run, at: int) -> _Ends:
        ends: _FirstWays = {}
        for option in options:
            for end, parts in option(run, at):
                ends.setdefault(end, parts)
        return list(ends.items())

    return read


def _all_of(parts: list[_Reader]) -> _Reader:
    def read(run: _Run, at: int) -> _Ends:
        found: _Ends = [(at, ())]
        for part in parts:
            ends: _FirstWays = {}
            for middle, before in found:
                for end, more in part(run, middle):
                    ends.setdefault(end, before + more)
            if not ends:
                return []
            found = list(ends.items())
        return found

    return read


def _many(part: _Reader) -> _Reader:
    def read(run: _Run, at: int) -> _Ends:  # the longest first
        ends: _FirstWays = {}
        seen = {at}
        ways: list[tuple[int, tuple[Part, ...], Iterator[tuple[int, tuple[Part, ...]]]]]
        ways = [(at, (), iter(part(run, at)))]
        while ways:  # a stack of its own: a list may have more members than Python calls within calls
            place, before, options = ways[-1]
            for middle, more in options:
                if middle not in seen:  # whatever follows it has been read otherwise
                    seen.add(middle)
                    ways.append((middle, before + more, iter(part(run, middle))))
                    break
            else:
                ends[place] = before
                ways.pop()
        return list(ends.items())

    return read
