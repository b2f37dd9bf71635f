"""The engine ``comet``: Delta Lake's MERGE on a Spark under Comet."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Self

from mergecheck.harness.engines.spark_versions.delta import DeltaReleaseEngine
from mergecheck.harness.engines.spark_versions.needs import diagnose
from mergecheck.harness.engines.spark_versions.plugins import comet
from mergecheck.harness.engines.spark_versions.spark_version import ReleaseOnSpark, release_on_spark
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.harness.engine import Diagnosis, Engine
    from mergecheck.harness.engines.spark_versions.child import Setup

RELEASE = "0.12.0+spark3.5"
"""The release that runs if none is named."""

_DELTA: Mapping[str, str] = {"3.5": "3.3.2", "4.0": "4.0.1", "4.1": "4.3.1"}
"""The release of Delta Lake that runs under Comet, by the version of Spark."""


class CometEngine(DeltaReleaseEngine):
    """Runs a case through Delta Lake's MERGE on a Spark under Comet.

    Args:
        release: Comet's, and the version of Spark.
    """

    name = "comet"

    def __init__(self, release: ReleaseOnSpark | None = None) -> None:
        self._comet = release or _release(RELEASE)
        super().__init__(_delta(self._comet), comet(self._comet.release))
        self.version = str(self._comet)

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs another release.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be had here.
        """
        return cls(_release(version))

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met.

        Raises:
            UserInputError: if the text names no release.
        """
        return diagnose(_setup(_release(version or RELEASE)))

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), self._comet)


def _release(version: str) -> ReleaseOnSpark:
    return release_on_spark(CometEngine.name, version, example=RELEASE)


def _setup(release: ReleaseOnSpark) -> Setup:
    return DeltaReleaseEngine.setup(_delta(release), comet(release.release))


def _delta(release: ReleaseOnSpark) -> ReleaseOnSpark:
    """Return the Delta Lake that runs under a release.

    Raises:
        UserInputError: if none is known for its Spark.
    """
    if str(release.spark) not in _DELTA:
        raise UserInputError(f"comet@{release}: Comet runs here on Spark {', '.join(_DELTA)}, such as comet@{RELEASE}")
    return ReleaseOnSpark(_DELTA[str(release.spark)], release.spark)
