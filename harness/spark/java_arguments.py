"""Handing arguments to the JVM in few messages, and without asking whether a text has to be converted.

py4j tries ten converters on every argument that is no Java object, most of them by looking its attributes up, and it
fills a Java list with one message for each element. A merge passes a hundred texts and a dozen lists of column
expressions: together three percent of a small one. What the JVM gets is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from py4j.java_gateway import JavaClass

from mergecheck.harness.spark.java_classes import TEXT_SPLITTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_PLAIN = (str, int, bool, float, bytes, bytearray, type(None))
_SEPARATOR = "\0"


class QuickConverter:
    """Stands before the converters that py4j knows, one for all.

    Args:
        converters: those that were asked until now; they may become more.
        splitter: a class of the JVM with ``getStringCollection(text, delimiters)``, which gives a list of what stands
            between the delimiters; None where there is none.
    """

    def __init__(self, converters: Sequence[Any], splitter: Any | None) -> None:  # noqa: ANN401 - py4j has no types
        self._converters = converters
        self._splitter = splitter

    def can_convert(self, value: object) -> bool:
        """Tell whether a value has to be converted."""
        return type(value) not in _PLAIN and any(each.can_convert(value) for each in self._converters)

    def convert(self, value: object, gateway_client: Any) -> Any:  # noqa: ANN401 - py4j has no types
        """Make the Java object of a value that can be converted."""
        if self._splitter is not None and _is_splittable(value):
            return self._splitter.getStringCollection(_SEPARATOR.join(value), _SEPARATOR)
        converter = next(each for each in self._converters if each.can_convert(value))
        return converter.convert(value, gateway_client)


def _is_splittable(value: object) -> TypeGuard[Sequence[str]]:
    """Tell whether a list or tuple can be one text: Hadoop leaves out what is empty."""
    if not isinstance(value, list | tuple):
        return False
    return all(type(item) is str and item and _SEPARATOR not in item for item in value)


def quicken_arguments(session: SparkSession) -> None:
    """Have the arguments of a session's calls looked at quickly; ``remember_classes`` comes before."""
    context: Any = session.sparkContext
    client = context._gateway._gateway_client  # noqa: SLF001 - where PySpark itself asks
    if any(isinstance(each, QuickConverter) for each in client.converters):
        return  # the JVM is still that of a session before
    splitter = getattr(context._jvm, TEXT_SPLITTER)  # noqa: SLF001 - where PySpark itself asks
    client.converters = [QuickConverter(client.converters, splitter if isinstance(splitter, JavaClass) else None)]
