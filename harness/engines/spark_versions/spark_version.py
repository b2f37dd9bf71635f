"""A version of Spark, such as 3.5 or 4.1: its packages, and the jars of a release that runs on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mergecheck.harness.verdict import UserInputError

_VERSION = re.compile(r"(?P<release>[0-9]+(?:\.[0-9]+)+(?:rc[0-9]+)?)(?:\+spark(?P<spark>[0-9]+\.[0-9]+))?")
_SCALA = {3: "2.12", 4: "2.13"}  # by the major version of PySpark, whose jars are built for one Scala


@dataclass(frozen=True, slots=True, order=True)
class SparkVersion:
    """A minor version of Spark; its newest patch release is installed."""

    major: int
    minor: int

    def __str__(self) -> str:
        """Write it as Spark does."""
        return f"{self.major}.{self.minor}"

    @property
    def scala(self) -> str:
        """The Scala version of PySpark's jars."""
        return _SCALA[self.major]

    @property
    def requirements(self) -> tuple[str, ...]:
        """What its environment holds; Arrow tables leave Spark 4 without pandas."""
        return (f"pyspark=={self}.*", *(("pyarrow>=18",) if self.gives_arrow_tables else ()))

    @property
    def gives_arrow_tables(self) -> bool:
        """Whether a query's rows leave Spark as a table of Arrow's."""
        return self.major >= _FIRST_WITH_ARROW


_FIRST_WITH_ARROW = 4


@dataclass(frozen=True, slots=True)
class ReleaseOnSpark:
    """A release of an engine on a version of Spark.

    Attributes:
        release: such as ``3.3.2``.
        spark: the version of Spark.
    """

    release: str
    spark: SparkVersion

    def __str__(self) -> str:
        """Write it as it stands after ``@``: ``3.3.2+spark3.5``."""
        return f"{self.release}+spark{self.spark}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the release, to compare it with others."""
        return tuple(int(text) for text in re.findall(r"[0-9]+", self.release.partition("rc")[0]))


def release_on_spark(engine: str, text: str, *, example: str) -> ReleaseOnSpark:
    """Read what stands after ``ENGINE@``.

    Args:
        engine: the name of the engine, for messages.
        text: such as ``3.3.2+spark3.5``.
        example: a version that there is, for messages.

    Raises:
        UserInputError: if it names no release, no version of Spark, or a Spark older than 3.
    """
    found = _VERSION.fullmatch(text)
    if found is None or found["spark"] is None:
        raise UserInputError(
            f"{text!r} is no version of {engine}: give a release and the Spark that it runs on, such as "
            f"{engine}@{example}"
        )
    major, minor = (int(number) for number in found["spark"].split("."))
    if major not in _SCALA:
        raise UserInputError(f"{engine}@{text}: Spark {major} cannot be used here, only Spark 3 and 4")
    return ReleaseOnSpark(found["release"], SparkVersion(major, minor))
