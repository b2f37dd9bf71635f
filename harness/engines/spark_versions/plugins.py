"""Plugins that run parts of Spark's plans themselves, such as Comet: a session's settings and jars, and the proof."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mergecheck.harness.engine import ConfigurableEngine
from mergecheck.harness.engines.spark.maven_jars import JarSet
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.engines.spark_versions.spark_version import SparkVersion

PLUGIN_SETTING = "mergecheck.plugin"
"""In a case: the plugin under which it runs. Engines without one take no notice of it."""

_NAME = re.compile(r"(?P<name>[a-z]+)(?:@(?P<release>[0-9][0-9.]*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin of Spark.

    Attributes:
        name: its name in variants.
        settings: of a session with it.
        coordinates: its jars; ``{spark}`` and ``{scala}`` follow the version of Spark.
        groups: the groups of jars that are fetched.
        proof: operators of executed plans that only the plugin has; ``*`` as in file names.
        switches: settings that switch a part of it off, with that value.
        options: of ``mergecheck variants``, which name it.
    """

    name: str
    settings: Mapping[str, str]
    coordinates: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    switches: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def jars(self, spark: SparkVersion) -> tuple[JarSet, ...]:
        """Describe its jars for a version of Spark; none if the settings name them."""
        if not self.coordinates:
            return ()
        named = tuple(text.format(spark=spark, scala=spark.scala) for text in self.coordinates)
        return (
            JarSet(
                title=f"{self.name} for Spark {spark}",
                folder="-".join(named[0].split(":")[1:]),
                coordinates=named,
                groups=self.groups,
                hint=", or name a release that is published for this Spark",
            ),
        )


@runtime_checkable
class PluggableEngine(ConfigurableEngine, Protocol):
    """An engine on Spark that can be started once more under a plugin (``mergecheck variants``)."""

    def with_plugin(self, plugin: Plugin) -> ConfigurableEngine:
        """Return another such engine whose session has the plugin.

        Raises:
            EngineDownError: if the plugin's jars cannot be had.
        """


_COMET_RELEASE = "0.12.0"
_COMET_PARTS = (
    *("project", "filter", "sort", "localLimit", "globalLimit", "broadcastHashJoin", "broadcastExchange", "hashJoin"),
    *("sortMergeJoin", "aggregate", "collectLimit", "coalesce", "union", "expand", "takeOrderedAndProject", "window"),
)


def comet(release: str = _COMET_RELEASE) -> Plugin:
    """Describe Apache DataFusion Comet."""
    return Plugin(
        name="comet",
        settings={
            "spark.plugins": "org.apache.spark.CometPlugin",
            "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
            "spark.memory.offHeap.enabled": "true",
            "spark.memory.offHeap.size": "1g",
            "spark.comet.enabled": "true",
            "spark.comet.exec.enabled": "true",
            "spark.comet.exec.shuffle.enabled": "true",
        },
        coordinates=(f"org.apache.datafusion:comet-spark-spark{{spark}}_{{scala}}:{release}",),
        groups=("org.apache.datafusion",),
        proof=("Comet*",),
        switches={
            "spark.comet.enabled": "false",
            "spark.comet.exec.enabled": "false",
            "spark.comet.exec.shuffle.enabled": "false",
            "spark.comet.scan.enabled": "false",
            **{f"spark.comet.exec.{part}.enabled": "false" for part in _COMET_PARTS},
        },
        options=("--variant", f"comet@{release}"),
    )


def known_plugin(text: str) -> Plugin | None:
    """Return a plugin that has a name here, such as ``comet`` or ``comet@0.12.0``; None for another text."""
    found = _NAME.fullmatch(text)
    if found is None or found["name"] != "comet":
        return None
    return comet(found["release"] or _COMET_RELEASE)


def given_plugin(settings: tuple[str, ...], proof: tuple[str, ...]) -> Plugin:
    """Describe a plugin by settings of a session, each ``NAME=VALUE``, and the operators that show it.

    Raises:
        UserInputError: for a text that is no setting, or without an operator, for then nothing would show that it ran.
    """
    pairs = [text.partition("=") for text in settings]
    if wrong := [text for text, (name, _, value) in zip(settings, pairs, strict=True) if not name or not value]:
        raise UserInputError(f"--spark-conf {wrong[0]!r} is no setting: give NAME=VALUE")
    if not proof:
        raise UserInputError(
            "--spark-conf needs --proof: name an operator of executed plans that only the plugin has, such as "
            "'Gluten*' (mergecheck variants counts the plans that show it)"
        )
    options = [word for text in settings for word in ("--spark-conf", text)]
    options += [word for operator in proof for word in ("--proof", operator)]
    return Plugin(name="given", settings={name: value for name, _, value in pairs}, proof=proof, options=tuple(options))
