"""A reader of texts by a grammar that is data: every alternative is tried, in order, until the whole text is read.

Spark's parser (ANTLR) does the same: the first alternative with which all the rest can be read wins. An alternative
that cannot begin with the next token is not tried. The notation of a rule: ``WORD``, ``'symbol'``,
``<kind of token>``, ``other_rule``, ``( )``, ``|``, ``?``, ``*``, ``+``, and ``x % ','`` for a list of ``x`` with
commas between.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.reference.syntax.spark_tokens import Token

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, eq=False)
class Tree:
    """The part of a text that a rule has read."""

    rule: str
    read: _Read

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Tokens and trees of other rules, in the order of the text."""
        parts: list[Part] = []
        waiting: list[_Read] = [self.read]
        while waiting:
            part = waiting.pop()
            if isinstance(part, tuple):
                waiting += part
            else:
                parts.append(part)
        return tuple(reversed(parts))

    def trees(self, *rules: str) -> tuple[Tree, ...]:
        """Return the parts that some rules have read."""
        return tuple(part for part in self.parts if isinstance(part, Tree) and part.rule in rules)

    def has(self, key: str) -> bool:
        """Return whether a word or symbol is among the parts."""
        return any(isinstance(part, Token) and part.key == key for part in self.parts)

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens that it has read, without the structure."""
        return tuple(self._leaves())

    @property
    def start(self) -> int:
        """The offset of the first character that it has read."""
        return next(self._leaves()).start

    @property
    def end(self) -> int:
        """The offset behind the last character that it has read."""
        last = next(self._leaves(backwards=True))
        return last.start + len(last.text)

    def walk(self) -> Iterator[Tree]:
        """Yield the tree and all trees in it, in the order of the text."""
        waiting = [self]
        while waiting:  # a stack of its own: a generator for each level would hand every tree through all of them
            tree = waiting.pop()
            yield tree
            waiting += [part for part in reversed(tree.parts) if isinstance(part, Tree)]

    def _leaves(self, *, backwards: bool = False) -> Iterator[Token]:
        waiting: list[Part] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Tree):
                waiting += part.parts if backwards else reversed(part.parts)
            else:
                yield part

    def holds(self, rule: str) -> bool:
        """Return whether a rule has read a part of it, at any depth."""
        return any(part.rule == rule for part in self.walk() if part is not self)


Part: TypeAlias = Token | Tree
_Read: TypeAlias = "Part | tuple[_Read, ...]"
"""The parts read, pair by pair: a list of n members has n ends, and n copies of it would take n * n steps."""
_Ends: TypeAlias = list[tuple[int, _Read]]
_FirstWays: TypeAlias = dict[int, _Read]  # for each end the first way of reading up to it

_EMPTY = ""  # among the beginnings of what may read nothing


class _Run:
    """One text that is read.

    Attributes:
        heads: for each token the names by which a rule may begin with it.
        furthest: the place of the first token that nothing has read.
        known: the ends of a rule from a place on.
    """

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.heads = [(token.key, token.kind.value, _EMPTY) for token in tokens]
        self.tokens = tokens
        self.furthest = 0
        self.known: dict[tuple[str, int], _Ends] = {}


class _Reader(ABC):
    """Reads a part of a text in every way that its notation allows."""

    @abstractmethod
    def read(self, run: _Run, at: int) -> _Ends:
        """Return the places up to which it reads from a place on, each with the parts read; the preferred one first."""

    @cached_property
    @abstractmethod
    def beginnings(self) -> frozenset[str]:
        """The keys and kinds of tokens that it may read first."""

    def may_begin(self, head: tuple[str, ...]) -> bool:
        """Return whether it can read a text that begins with a token; it is True for what may read nothing."""
        return not self.beginnings.isdisjoint(head)


@dataclass(slots=True)
class Grammar:
    """The rules, ready to read."""

    rules: dict[str, _Reader]

    def read(self, rule: str, tokens: tuple[Token, ...]) -> Tree | int:
        """Read all tokens by a rule; give the tree, or the place of the first token that nothing can read."""
        run = _Run(tokens)
        for end, tree in self.rules[rule].read(run, 0):
            if end == len(tokens) - 1 and isinstance(tree, Tree):
                return tree
        return run.furthest


_NOTATION = re.compile(r"\s*(?:('[^']+')|(<\w+>)|([A-Z_]+)|([a-z_]+)|([()|?*+%]))")


def grammar(text: str) -> Grammar:
    """Read the rules, one ``name = ...`` each, which end where the next begins."""
    rules: dict[str, _Reader] = {}
    for block in re.split(r"\n(?=[a-z_]+ += )", text.strip()):
        name, _, body = block.partition("=")
        rules[name.strip()] = _Rule(name.strip(), _Notation(body, rules).choice())
    return Grammar(rules)


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
        return options[0] if len(options) == 1 else _AnyOf(options)

    def _sequence(self) -> _Reader:
        parts = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else _AllOf(parts)

    def _repeated(self) -> _Reader:
        part = self._single()
        while (sign := self._next()) in ("?", "*", "+", "%"):
            self._at += 1
            if sign == "?":
                part = _AnyOf([part, _Nothing()])
            elif sign == "*":
                part = _Many(part)
            elif sign == "+":
                part = _AllOf([part, _Many(part)])
            else:
                part = _AllOf([part, _Many(_AllOf([self._single(), part]))])
        return part

    def _single(self) -> _Reader:
        item = self._next()
        self._at += 1
        if item == "(":
            inner = self.choice()
            self._at += 1
            return inner
        if item.startswith("'"):
            return _Token(item[1:-1])
        if item.startswith("<") or item.isupper():
            return _Token(item)
        return _Later(item, self._rules)

    def _next(self) -> str:
        return self._items[self._at] if self._at < len(self._items) else ""


class _Rule(_Reader):
    def __init__(self, name: str, body: _Reader) -> None:
        self._name, self._body = name, body

    def read(self, run: _Run, at: int) -> _Ends:
        found = run.known.get((self._name, at))
        if found is None:
            found = [(end, Tree(self._name, parts)) for end, parts in self._body.read(run, at)]
            run.known[self._name, at] = found
        return found

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return self._body.beginnings


class _Later(_Reader):
    """A rule by its name; it may come further down."""

    def __init__(self, name: str, rules: dict[str, _Reader]) -> None:
        self._name, self._rules = name, rules

    def read(self, run: _Run, at: int) -> _Ends:
        return self._rules[self._name].read(run, at)

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return self._rules[self._name].beginnings


class _Nothing(_Reader):
    @cached_property
    def beginnings(self) -> frozenset[str]:
        return frozenset([_EMPTY])

    def read(self, run: _Run, at: int) -> _Ends:  # noqa: ARG002 - a reader like the others
        return [(at, ())]


class _Token(_Reader):
    """One token of a key or of a kind."""

    def __init__(self, key_or_kind: str) -> None:
        self._key_or_kind = key_or_kind

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return frozenset([self._key_or_kind])

    def read(self, run: _Run, at: int) -> _Ends:
        if not self.may_begin(run.heads[at]):
            return []
        run.furthest = max(run.furthest, at + 1)
        return [(at + 1, run.tokens[at])]


class _AnyOf(_Reader):
    def __init__(self, options: list[_Reader]) -> None:
        self._options = options

    def read(self, run: _Run, at: int) -> _Ends:
        head = run.heads[at]
        options = [option for option in self._options if option.may_begin(head)]
        if len(options) == 1:
            return options[0].read(run, at)
        ends: _FirstWays = {}
        for option in options:
            for end, parts in option.read(run, at):
                ends.setdefault(end, parts)
        return list(ends.items())

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return frozenset().union(*(option.beginnings for option in self._options))


class _AllOf(_Reader):
    def __init__(self, parts: list[_Reader]) -> None:
        self._parts = parts

    def read(self, run: _Run, at: int) -> _Ends:
        if not self.may_begin(run.heads[at]):
            return []
        found: _Ends = [(at, ())]
        for part in self._parts:
            if len(found) == 1:  # the ends of a part differ from each other
                ((middle, before),) = found
                found = [(end, (before, more)) for end, more in part.read(run, middle)]
                continue
            ends: _FirstWays = {}
            for middle, before in found:
                for end, more in part.read(run, middle):
                    ends.setdefault(end, (before, more))
            if not ends:
                return []
            found = list(ends.items())
        return found

    @cached_property
    def beginnings(self) -> frozenset[str]:
        found: frozenset[str] = frozenset([_EMPTY])
        for part in self._parts:
            if _EMPTY not in found:
                break
            found = found - {_EMPTY} | part.beginnings
        return found


class _Many(_Reader):
    """A part any number of times, the longest first."""

    def __init__(self, part: _Reader) -> None:
        self._part = part

    def read(self, run: _Run, at: int) -> _Ends:
        if not self._part.may_begin(run.heads[at]):
            return [(at, ())]
        ends: _FirstWays = {}
        seen = {at}
        ways: list[tuple[int, _Read, Iterator[tuple[int, _Read]]]]
        ways = [(at, (), iter(self._part.read(run, at)))]
        while ways:  # a stack of its own: a list may have more members than Python calls within calls
            place, before, options = ways[-1]
            for middle, more in options:
                if middle not in seen:  # whatever follows it has been read otherwise
                    seen.add(middle)
                    ways.append((middle, (before, more), iter(self._part.read(run, middle))))
                    break
            else:
                ends[place] = before
                ways.pop()
        return list(ends.items())

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return self._part.beginnings | {_EMPTY}
