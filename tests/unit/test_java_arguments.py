"""Unit tests of how arguments are handed to the JVM."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_collections import ListConverter, MapConverter, SetConverter

from mergecheck.harness.spark.java_arguments import QuickConverter


class Splitter:
    """Does as Hadoop's ``StringUtils``, whose StringTokenizer leaves out what is empty."""

    def getStringCollection(self, text: str, delimiters: str) -> list[str]:  # noqa: N802 - Hadoop's name
        return [part for part in text.split(delimiters) if part]


class Asked:
    """A converter that would take anything, and tells what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def can_convert(self, value: object) -> bool:
        self.asked.append(value)
        return True

    def convert(self, value: object, _client: object) -> tuple[str, object]:
        return "converted", value


@pytest.mark.parametrize("value", ["", "a", 1, True, 1.5, b"b", bytearray(b"c"), None])
def test_plain_values_are_asked_about_nowhere(value: object) -> None:
    """py4j's protocol writes them as they are."""
    other = Asked()
    assert not QuickConverter([other], Splitter()).can_convert(value)
    assert other.asked == []
    known = (SetConverter(), MapConverter(), ListConverter())
    assert not any(converter.can_convert(value) for converter in known)


@pytest.mark.parametrize("value", [["a"], ["a b", "c,d", "é"], ("a", "b"), []])
def test_texts_go_over_together(value: Any) -> None:
    """In one text, cut where no text has a character."""
    converter = QuickConverter([ListConverter()], Splitter())
    assert converter.can_convert(value)
    assert converter.convert(value, None) == list(value)


@pytest.mark.parametrize("value", [["a", ""], ["a\0b"], ["a", 1], ["a", None], [b"a"], {"a"}, {"a": "b"}])
def test_all_else_is_converted_as_before(value: object) -> None:
    """An empty text would be lost, and one with the separator cut."""
    assert QuickConverter([Asked()], Splitter()).convert(value, None) == ("converted", value)


def test_without_the_class_nothing_is_split() -> None:
    """Another release may have no such class."""
    assert QuickConverter([Asked()], None).convert(["a"], None) == ("converted", ["a"])
